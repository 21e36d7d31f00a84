package dev.berth.agent.run;

import dev.berth.sandbox.SandboxException;
import dev.berth.session.SessionKey;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.Locale;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;
import org.slf4j.spi.LoggingEventBuilder;

/** Tells operators what becomes of runs, by structured log lines and counts. */
final class RunMeters {
    private static final Logger LOG = LoggerFactory.getLogger("dev.berth.agent");

    private final MeterRegistry meters;

    RunMeters(MeterRegistry meters) {
        this.meters = meters;
    }

    void started(String runtime, Duration time) {
        Timer.builder("berth.agent.start.seconds")
                .tag("runtime", runtime)
                .register(meters)
                .record(time);
    }

    void retried(Run run, SandboxException why) {
        meters.counter("berth.runs.retried").increment();
        line(Level.WARN, run).addKeyValue("error", why.getMessage()).log("agent.prompt.recoverable_fail");
    }

    void ended(Run run, Run.State state, String error, Duration time) {
        meters.counter("berth.runs", "outcome", state.name().toLowerCase(Locale.ROOT))
                .increment();
        Timer.builder("berth.run.seconds").register(meters).record(time);
        if (state == Run.State.FAILED) {
            line(Level.WARN, run).addKeyValue("error", error).log("agent.prompt.fatal_fail");
        } else {
            line(Level.INFO, run)
                    .addKeyValue("outcome", state)
                    .addKeyValue("seconds", time.toMillis() / 1000.0)
                    .log("agent.prompt.ok");
        }
    }

    /** Of something that went wrong and does not end the run. */
    static void trouble(String type, SessionKey key, String run, Throwable cause) {
        LoggingEventBuilder line = LOG.atWarn()
                .addKeyValue("tenant", key.tenant())
                .addKeyValue("session", key.id())
                .addKeyValue("run", run);
        if (!(cause instanceof SandboxException)) {
            line = line.setCause(cause);
        }
        line.addKeyValue("error", cause.getMessage()).log(type);
    }

    private static LoggingEventBuilder line(Level level, Run run) {
        return LOG.atLevel(level)
                .addKeyValue("tenant", run.session().tenant())
                .addKeyValue("session", run.session().id())
                .addKeyValue("run", run.id())
                .addKeyValue("runtime", run.runtime())
                .addKeyValue("attempt", run.attempt());
    }
}
