package dev.berth.agent.run;

import dev.berth.agent.AgentRuntime;
import dev.berth.agent.Past.Said;
import dev.berth.session.SessionKey;
import dev.berth.session.Sessions;
import dev.berth.session.artifact.Artifacts;
import dev.berth.session.store.Database;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The runs of all sessions. */
@SuppressWarnings("DoNotCallSuggester")
public final class Runs implements AutoCloseable {
    private Runs() {}

    /**
     * Takes up what servers before this one left, and begins to look after it.
     *
     * @param runtimes by their names
     */
    public static Runs open(
            RunsConfig config,
            Sessions sessions,
            Database database,
            Artifacts artifacts,
            Map<String, AgentRuntime> runtimes,
            Choices choices,
            Permissions permissions,
            MeterRegistry meters) {
        return new Runs();
    }

    /**
     * Says something to the agent of a session: a run begins, or the one that goes on takes it up. The message is kept
     * before this returns, and everything else happens afterwards.
     *
     * @return the run that it belongs to
     */
    public Run say(SessionKey key, Message message) {
        throw new UnsupportedOperationException();
    }

    /** Ends the run that goes on. Returns whether there was one; its end is told by an event. */
    public boolean abort(SessionKey key, String actor) {
        throw new UnsupportedOperationException();
    }

    /** Ends the agent and forgets its conversation; files stay. */
    public void reset(SessionKey key, String actor) {
        throw new UnsupportedOperationException();
    }

    /** The run that goes on. */
    public Optional<Run> current(SessionKey key) {
        throw new UnsupportedOperationException();
    }

    /** One by its id. Whose it is, the caller has to look at. */
    public Optional<Run> find(String id) {
        throw new UnsupportedOperationException();
    }

    /** Those of a session, the newest first, from before a run on if one is given. */
    public List<Run> list(SessionKey key, Optional<String> before, int limit) {
        throw new UnsupportedOperationException();
    }

    /** Waits for a run to end. Returns it as it is then, or after so long. */
    public Run await(String id, Duration patience) throws InterruptedException {
        throw new UnsupportedOperationException();
    }

    /** What was said in a session, by people and by the agent, the last messages of it in their order. */
    public List<Said> history(SessionKey key, int limit) {
        throw new UnsupportedOperationException();
    }

    /** Lets go of everything; agents work on. */
    @Override
    public void close() {}
}
