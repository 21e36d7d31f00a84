package dev.berth.channel;

import dev.berth.agent.AgentEvent.Outcome;
import dev.berth.agent.run.Message;
import dev.berth.agent.run.Run;
import dev.berth.agent.run.RunEvent;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.Session;
import dev.berth.session.SessionKey;
import dev.berth.session.Sessions;
import dev.berth.session.TestingSessions;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Agents that do what a test says, and write it to the logs of real sessions. */
final class ScriptedAgents implements Agents {
    /** One message that was said. */
    record Said(SessionKey key, Message message, Run run) {}

    private final Sessions sessions;
    private final Map<String, Run> runs = new LinkedHashMap<>();
    private final List<Said> said = new ArrayList<>();
    private final List<String> done = new ArrayList<>();
    private @Nullable SandboxException refusal;
    private @Nullable Runnable whenSaid;

    ScriptedAgents(Sessions sessions) {
        this.sessions = sessions;
    }

    @Override
    public Run say(SessionKey key, Message message) {
        Run run = take(key, message);
        Runnable then = whenSaid;
        if (then != null) {
            then.run();
        }
        return run;
    }

    private synchronized Run take(SessionKey key, Message message) {
        if (refusal != null) {
            throw refusal;
        }
        Optional<Run> current = current(key);
        if (current.isPresent()) {
            said.add(new Said(key, message, current.get()));
            log(current.get(), new RunEvent.Steered(current.get().id(), message.actor()));
            return current.get();
        }
        long last;
        try (Session session = sessions.resolve(key, TestingSessions.SPEC)) {
            last = sessions.find(session.key()).orElseThrow().lastEvent();
        }
        Run run = new Run(
                "run-" + UUID.randomUUID(),
                key,
                Run.State.RUNNING,
                "scripted",
                message.actor(),
                message.text(),
                1,
                0,
                "",
                Optional.empty(),
                last + 1,
                Instant.now(),
                Optional.empty());
        runs.put(run.id(), run);
        said.add(new Said(key, message, run));
        log(run, new RunEvent.Began(run.id(), "scripted"));
        return run;
    }

    void log(Run run, RunEvent event) {
        sessions.events().append(run.session(), event.logged("agent"));
    }

    synchronized void end(Run run, Outcome outcome, Optional<String> error) {
        endSilently(run, outcome, error);
        log(run, new RunEvent.Ended(run.id(), outcome, error));
    }

    /** As if the last event had been lost. */
    synchronized void endSilently(Run run, Outcome outcome, Optional<String> error) {
        runs.put(
                run.id(),
                new Run(
                        run.id(),
                        run.session(),
                        Run.State.valueOf(outcome.name()),
                        run.runtime(),
                        run.actor(),
                        run.prompt(),
                        1,
                        0,
                        "what it said",
                        error,
                        run.firstEvent(),
                        run.createdAt(),
                        Optional.of(Instant.now())));
    }

    synchronized void refuseWith(@Nullable SandboxException e) {
        refusal = e;
    }

    synchronized void whenSaid(@Nullable Runnable action) {
        whenSaid = action;
    }

    synchronized List<Said> said(Place place) {
        return said.stream()
                .filter(one -> one.key().id().equals(place.session()))
                .toList();
    }

    synchronized List<String> done() {
        return List.copyOf(done);
    }

    @Override
    public synchronized boolean abort(SessionKey key, String actor) {
        done.add("abort " + key.id() + " by " + actor);
        Optional<Run> current = current(key);
        current.ifPresent(run -> end(run, Outcome.ABORTED, Optional.empty()));
        return current.isPresent();
    }

    @Override
    public synchronized void reset(SessionKey key, String actor) {
        done.add("reset " + key.id() + " by " + actor);
    }

    @Override
    public synchronized Optional<Run> current(SessionKey key) {
        return runs.values().stream()
                .filter(run -> run.session().equals(key) && !run.state().ended())
                .findFirst();
    }

    @Override
    public synchronized Optional<Run> find(String run) {
        return Optional.ofNullable(runs.get(run));
    }

    @Override
    public synchronized List<Run> last(SessionKey key, int limit) {
        return runs.values().stream().filter(run -> run.session().equals(key)).toList().reversed().stream()
                .limit(limit)
                .toList();
    }
}
