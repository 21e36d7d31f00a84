package dev.berth.gateway.terminal;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.TerminalSize;
import dev.berth.session.Session;
import dev.berth.session.SessionKey;
import dev.berth.session.Sessions;

/**
 * One who is attached to a terminal, from the first byte that is kept of it. The session stays up meanwhile. One thread
 * sees, one types.
 */
public final class Watcher implements AutoCloseable {
    /** What a watcher gets to see. */
    public sealed interface Seen {
        /** So many bytes, in the buffer. */
        record Bytes(int length) implements Seen {}

        /** So many bytes were missed, as others could not wait for this one. */
        record Skipped(long bytes) implements Seen {}

        /** It is over. */
        record Ended(End how) implements Seen {}

        /** The watcher has gone. */
        record Nothing() implements Seen {}
    }

    private final Sessions sessions;
    private final Terminal terminal;
    private final SessionKey key;
    /** Replaced and closed by the thread that types. */
    private Session session;

    // These belong to the terminal, under its lock.
    long position;
    long replayed;
    boolean gone;

    Watcher(Sessions sessions, Terminal terminal, Session session) {
        this.sessions = sessions;
        this.terminal = terminal;
        this.session = session;
        this.key = session.key();
    }

    /** How much of what was shown before comes first. */
    public long replayed() {
        return replayed;
    }

    public TerminalSize size() {
        return terminal.size();
    }

    public Seen next(byte[] buffer) throws InterruptedException {
        return terminal.next(this, buffer);
    }

    /** Waits while the terminal does not take what was typed before. A session that was frozen meanwhile is thawed. */
    public void type(byte[] bytes) throws InterruptedException {
        bringUp();
        terminal.type(this, bytes);
    }

    public void resize(TerminalSize size) {
        terminal.resize(size);
    }

    private void bringUp() {
        if (!session.sandbox().ready()) {
            try {
                Session again = sessions.resolve(key);
                session.close();
                session = again;
            } catch (SandboxException e) {
                leave();
                throw e;
            }
        }
    }

    /** Ends all waiting. The session is let go by {@link #close()}. */
    public void leave() {
        terminal.leave(this);
    }

    @Override
    public void close() {
        leave();
        session.close();
    }
}
