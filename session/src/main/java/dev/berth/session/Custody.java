package dev.berth.session;

import dev.berth.sandbox.SandboxException;
import dev.berth.session.store.Database;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Function;
import org.jdbi.v3.core.Handle;

/**
 * The right to change one session, among all threads and all servers.
 *
 * <p>It is the lock of the key in this process and then PostgreSQL's advisory lock of the key, on a connection that is
 * kept until the end. If this server dies, or loses the connection, the advisory lock is free at once and somebody else
 * may go on. So having custody is never a reason to believe that a change will succeed: each one compares the version of
 * the row that it was decided upon. And whoever finds a session in a passing state while having custody knows that
 * nobody works on it.
 */
final class Custody implements AutoCloseable {
    /** For the two-argument form of a lock's key: a space of our own in a database shared with others. */
    private static final String LOCK_ID = "hashtextextended('berth ' || :key, 0)";

    private final SessionKey key;
    private final KeyLocks.Held local;
    private final Database.Pinned connection;
    private final Journal journal;
    /** False if the connection is another custody's, which outlives this one. */
    private final boolean ownsConnection;

    private Custody(
            SessionKey key, KeyLocks.Held local, Database.Pinned connection, Journal journal, boolean ownsConnection) {
        this.key = key;
        this.local = local;
        this.connection = connection;
        this.journal = journal;
        this.ownsConnection = ownsConnection;
    }

    static Custody take(SessionKey key, KeyLocks locks, Database database, Journal journal, Deadline deadline) {
        KeyLocks.Held local = locks.lock(key, deadline);
        return acquire(key, local, database, journal, deadline).orElseThrow();
    }

    /** Empty if anybody has it. */
    static Optional<Custody> tryTake(SessionKey key, KeyLocks locks, Database database, Journal journal) {
        Optional<KeyLocks.Held> local = locks.tryLock(key);
        return local.isEmpty()
                ? Optional.empty()
                : acquire(key, local.get(), database, journal, Deadline.after(Duration.ZERO));
    }

    /**
     * Custody of another session on the same connection, so that whoever has one never waits for a second connection.
     * Empty if anybody has it: waiting for one while having another could be for ever.
     */
    Optional<Custody> beside(SessionKey other, KeyLocks locks) {
        Optional<KeyLocks.Held> held = locks.tryLock(other);
        if (held.isEmpty()) {
            return Optional.empty();
        }
        boolean done = false;
        try {
            done = connection.query(handle -> tryLock(handle, other));
            return done ? Optional.of(new Custody(other, held.get(), connection, journal, false)) : Optional.empty();
        } finally {
            if (!done) {
                held.get().close();
            }
        }
    }

    private static Optional<Custody> acquire(
            SessionKey key, KeyLocks.Held local, Database database, Journal journal, Deadline deadline) {
        Database.Pinned connection = null;
        boolean done = false;
        try {
            connection = database.pin(deadline.passed() ? Duration.ofSeconds(5) : deadline.remaining());
            done = connection.query(handle -> tryLock(handle, key));
            if (!done && !deadline.passed()) {
                connection.query(handle -> lock(handle, key, deadline.remaining()));
                done = true;
            }
            return done ? Optional.of(new Custody(key, local, connection, journal, true)) : Optional.empty();
        } finally {
            if (!done) {
                if (connection != null) {
                    connection.close();
                }
                local.close();
            }
        }
    }

    private static boolean tryLock(Handle handle, SessionKey key) {
        return handle.createQuery("SELECT pg_try_advisory_lock(" + LOCK_ID + ")")
                .bind("key", key.toString())
                .mapTo(Boolean.class)
                .one();
    }

    private static Object lock(Handle handle, SessionKey key, Duration patience) {
        handle.createQuery("SELECT set_config('lock_timeout', :ms, false)")
                .bind("ms", Math.clamp(patience.toMillis(), 1, 120_000) + "ms")
                .mapTo(String.class)
                .one();
        try {
            handle.createQuery("SELECT true FROM (SELECT pg_advisory_lock(" + LOCK_ID + ")) AS waited")
                    .bind("key", key.toString())
                    .mapTo(Boolean.class)
                    .one();
            return key;
        } finally {
            handle.execute("RESET lock_timeout");
        }
    }

    SessionKey key() {
        return key;
    }

    Optional<SessionInfo> row() {
        return connection.query(handle -> SessionTable.find(handle, key));
    }

    /** Whether somebody in this process waits for this session. */
    boolean wanted() {
        return local.wanted();
    }

    SessionInfo become(SessionInfo before, SessionState next, RowChange change, SessionEvent event) {
        return become(before, next, change, event, true);
    }

    /** As {@link #become}, but without waiting for the disk: for what the provider can tell us again. */
    SessionInfo becomeLightly(SessionInfo before, SessionState next, RowChange change, SessionEvent event) {
        return become(before, next, change, event, false);
    }

    private SessionInfo become(
            SessionInfo before, SessionState next, RowChange change, SessionEvent event, boolean durable) {
        SessionInfo after =
                connection.query(handle -> SessionTable.update(handle, before, next, change, event, durable));
        journal.tell(after, event);
        return after;
    }

    /** Several statements at once; those who use it tell the journal themselves. */
    <T> T transaction(Function<Handle, T> statements) {
        return connection.transaction(statements);
    }

    <T> T query(Function<Handle, T> statements) {
        return connection.query(statements);
    }

    void tell(SessionInfo info, SessionEvent event) {
        journal.tell(info, event);
    }

    @Override
    public void close() {
        try {
            boolean released =
                    connection.query(handle -> handle.createQuery("SELECT pg_advisory_unlock(" + LOCK_ID + ")")
                            .bind("key", key.toString())
                            .mapTo(Boolean.class)
                            .one());
            if (!released) {
                connection.discard();
            }
        } catch (SandboxException e) {
            // The lock went with the connection; nothing may be handed to the next one with a lock on it.
            connection.discard();
        } finally {
            if (ownsConnection) {
                connection.close();
            }
            local.close();
        }
    }
}
