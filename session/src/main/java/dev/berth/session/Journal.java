package dev.berth.session;

import dev.berth.sandbox.SandboxException;
import dev.berth.session.store.Signals;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;
import org.slf4j.spi.LoggingEventBuilder;

/**
 * Tells what happens to sessions: operators by structured log lines and counts, under the same names, and those who
 * follow a session's events that there are new ones.
 */
final class Journal {
    private static final Logger LOG = LoggerFactory.getLogger("dev.berth.session");

    private final MeterRegistry meters;
    private final Signals signals;

    Journal(MeterRegistry meters, Signals signals) {
        this.meters = meters;
        this.signals = signals;
    }

    /** Of an event that was written. */
    void tell(SessionInfo session, SessionEvent event) {
        signals.tell(EventLog.topic(session.key()));
        count(event.type());
        LoggingEventBuilder line = LOG.atInfo()
                .addKeyValue("tenant", session.key().tenant())
                .addKeyValue("session", session.key().id())
                .addKeyValue("sandbox", session.sandboxId())
                .addKeyValue("state", session.state());
        add(line, event.data()).log(event.type());
    }

    void tell(SessionKey key, SessionEvent event, Level level) {
        count(event.type());
        LoggingEventBuilder line =
                LOG.atLevel(level).addKeyValue("tenant", key.tenant()).addKeyValue("session", key.id());
        add(line, event.data()).log(event.type());
    }

    void trouble(SessionKey key, SessionEvent event, Throwable cause) {
        count(event.type());
        LoggingEventBuilder line =
                LOG.atWarn().addKeyValue("tenant", key.tenant()).addKeyValue("session", key.id());
        if (!(cause instanceof SandboxException)) {
            line = line.setCause(cause);
        }
        add(line, event.data()).addKeyValue("error", cause.getMessage()).log(event.type());
    }

    /** Of something that concerns no single session. */
    void trouble(String type, Throwable cause) {
        count(type);
        LoggingEventBuilder line = LOG.atWarn();
        if (!(cause instanceof SandboxException)) {
            line = line.setCause(cause);
        }
        line.addKeyValue("error", cause.getMessage()).log(type);
    }

    /** That a trouble of this kind is over. */
    void over(String type) {
        LOG.atInfo().addKeyValue("of", type).log("trouble.over");
    }

    void took(String transition, Duration time) {
        Timer.builder("berth.session.transition")
                .tag("transition", transition)
                .register(meters)
                .record(time);
    }

    private void count(String type) {
        meters.counter("berth.session.events", "type", type).increment();
    }

    private static LoggingEventBuilder add(LoggingEventBuilder line, Map<String, Object> data) {
        LoggingEventBuilder result = line;
        for (Map.Entry<String, Object> entry : data.entrySet()) {
            result = result.addKeyValue(entry.getKey(), entry.getValue());
        }
        return result;
    }
}
