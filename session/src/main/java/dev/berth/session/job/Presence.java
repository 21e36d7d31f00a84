package dev.berth.session.job;

import dev.berth.sandbox.SandboxException;
import dev.berth.session.store.Database;
import java.time.Duration;
import java.util.UUID;
import org.jdbi.v3.core.Handle;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * That this server lives, for others to see: an advisory lock on a connection of its own. PostgreSQL lets go of it when
 * the server dies, however it dies, so nobody waits for a dead one and no clocks are compared. If the connection is lost
 * while the server lives, others may take over its jobs; it notices when it next writes.
 */
final class Presence implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Presence.class);
    private static final Duration PATIENCE = Duration.ofSeconds(5);

    private final Database database;
    private final String server = UUID.randomUUID().toString();
    private Database.@Nullable Pinned connection;

    Presence(Database database) {
        this.database = database;
        renew();
    }

    String server() {
        return server;
    }

    /** To be called now and then: takes the lock again if it was lost. */
    synchronized void renew() {
        Database.Pinned held = connection;
        if (held != null) {
            try {
                held.query(handle ->
                        handle.createQuery("SELECT true").mapTo(Boolean.class).one());
                return;
            } catch (SandboxException e) {
                LOG.debug("the connection that shows that this server lives was lost", e);
                connection = null;
                drop(held);
            }
        }
        Database.Pinned fresh = database.pin(PATIENCE);
        boolean locked = false;
        try {
            locked = fresh.query(handle -> lock(handle, server));
        } finally {
            if (locked) {
                connection = fresh;
            } else {
                drop(fresh);
            }
        }
    }

    /** Whether a server lives; this one does. */
    boolean alive(String other) {
        if (other.equals(server)) {
            return true;
        }
        return database.query(handle -> {
            boolean free = lock(handle, other);
            if (free) {
                boolean _ = unlock(handle, other);
            }
            return !free;
        });
    }

    private static boolean lock(Handle handle, String id) {
        return handle.createQuery("SELECT pg_try_advisory_lock(hashtextextended('berth server ' || :id, 0))")
                .bind("id", id)
                .mapTo(Boolean.class)
                .one();
    }

    private static boolean unlock(Handle handle, String id) {
        return handle.createQuery("SELECT pg_advisory_unlock(hashtextextended('berth server ' || :id, 0))")
                .bind("id", id)
                .mapTo(Boolean.class)
                .one();
    }

    private static void drop(Database.Pinned connection) {
        connection.discard(); // and the lock goes with it
        try {
            connection.close();
        } catch (SandboxException e) {
            LOG.debug("a connection was closed already", e);
        }
    }

    /** PostgreSQL notices a closed connection when it comes to it, and the next server may look before that. */
    private static void unlock(Database.Pinned connection, String id) {
        try {
            var _ = connection.query(handle -> unlock(handle, id));
        } catch (SandboxException e) {
            LOG.debug("the connection that shows that this server lives was lost", e);
        }
    }

    @Override
    public synchronized void close() {
        if (connection != null) {
            unlock(connection, server);
            drop(connection);
            connection = null;
        }
    }
}
