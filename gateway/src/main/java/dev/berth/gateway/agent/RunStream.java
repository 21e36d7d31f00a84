package dev.berth.gateway.agent;

import dev.berth.agent.run.Run;
import dev.berth.agent.run.RunEvent;
import dev.berth.agent.run.Runs;
import dev.berth.gateway.http.EventStream;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.EventFollower;
import dev.berth.session.LoggedEvent;
import dev.berth.session.Sessions;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What happens in a run, read from the session's log, so that it does not matter on which server it goes on. Ends with
 * {@code done} and the run as it is then.
 */
final class RunStream implements EventStream.Source {
    /** The row follows the last event within this. */
    private static final Duration SETTLING = Duration.ofSeconds(10);

    private final Sessions sessions;
    private final Runs runs;
    private final Duration heartbeat;
    private final Run run;
    private final long after;

    /** @param after the number of the last event that is known */
    RunStream(Sessions sessions, Runs runs, Duration heartbeat, Run run, long after) {
        this.sessions = sessions;
        this.runs = runs;
        this.heartbeat = heartbeat;
        this.run = run;
        this.after = after;
    }

    @Override
    public void send(EventStream events) throws IOException, InterruptedException {
        events.event("status", Map.of("run_id", run.id(), "state", run.state().toString(), "text", ""));
        try (EventFollower follower = sessions.events().follow(run.session(), after)) {
            boolean over = ended();
            while (!follower.ended()) {
                List<LoggedEvent> page = follower.next(over ? Duration.ZERO : heartbeat);
                for (LoggedEvent event : page) {
                    if (send(events, event)) {
                        return;
                    }
                }
                if (page.isEmpty()) {
                    if (over) { // its end was told before, or has gone with the session
                        events.event("done", RunJson.show(current()));
                        return;
                    }
                    over = ended();
                    events.heartbeat();
                }
            }
        }
        throw SandboxException.unavailable(
                "the server stops, and the run goes on; connect again, with the last event's id as Last-Event-ID");
    }

    /** Whether that was the end. */
    private boolean send(EventStream events, LoggedEvent logged) throws IOException, InterruptedException {
        Optional<RunEvent> event = RunEvent.of(logged).filter(it -> it.run().equals(run.id()));
        if (event.isPresent() && event.get() instanceof RunEvent.Ended) {
            events.event(logged.seq(), "done", RunJson.show(runs.await(run.id(), SETTLING)));
            return true;
        }
        Optional<RunJson.Told> told = event.flatMap(RunJson::tell);
        if (told.isPresent()) {
            events.event(logged.seq(), told.get().name(), told.get().data());
        }
        return false;
    }

    private boolean ended() {
        return current().state().ended();
    }

    private Run current() {
        return runs.find(run.id()).orElseThrow(() -> SandboxException.gone("the run is not kept any more"));
    }
}
