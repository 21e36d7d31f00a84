package dev.berth.session;

import dev.berth.sandbox.Sandbox;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A session that is up, for as long as this is open: whoever has one can rely on its sandbox not being put to sleep.
 * Close it when the call, the stream or the connection it was opened for is over.
 */
public final class Session implements AutoCloseable {
    private final Sessions sessions;
    private final Live live;
    private final AtomicBoolean closed = new AtomicBoolean();

    Session(Sessions sessions, Live live) {
        this.sessions = sessions;
        this.live = live;
    }

    public SessionKey key() {
        return live.info().key();
    }

    public Sandbox sandbox() {
        return live.sandbox();
    }

    /** As it was when it was brought up, or last changed by this server. */
    public SessionInfo info() {
        return live.info();
    }

    /** What was lost since anybody was told, for the model to know. */
    public Optional<Loss> loss() {
        return live.info().loss();
    }

    /** To be called once the model knows of {@link #loss()}. */
    public void lossTold() {
        if (loss().isPresent()) {
            live.info(sessions.lossTold(key()));
        }
    }

    /** Counts a turn of the conversation and returns its number, beginning with 1. */
    public int beginTurn(String actor) {
        live.info(sessions.turns().begin(key(), actor));
        return live.info().turn();
    }

    /** To be called before anything that may write: keeps the files as they are if this is the turn's first write. */
    public void beforeWrite() {
        sessions.turns().beforeWrite(live);
    }

    /** Writes down that something was run in the sandbox. */
    public void record(Run run) {
        sessions.events().record(key(), run);
    }

    /** To be called when the sandbox, or something in it, did not answer as it should. */
    public void suspect() {
        live.suspect();
    }

    /**
     * Has somebody told, once and on another thread, when this server begins to pause, stop, roll back or remove the
     * sandbox; at once if it has. For what is open into the sandbox and would otherwise wait for something that never
     * comes. It is independent of whether this session is still open.
     *
     * @return to be closed by those who do not want to know any more
     */
    public Watch whenDown(Runnable action) {
        Downfall.Told told = live.whenDown(action);
        return told::close;
    }

    /** Somebody's wish to be told; see {@link #whenDown}. */
    @FunctionalInterface
    public interface Watch extends AutoCloseable {
        @Override
        void close();
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            live.release();
        }
    }

    Live live() {
        return live;
    }

    /**
     * One use of a tool, for the session's log.
     *
     * @param what the tool, such as {@code bash}
     * @param commandText kept only where the operator turned that on
     */
    public record Run(
            String actor, String what, Optional<String> commandText, OptionalInt exitCode, Duration duration) {}
}
