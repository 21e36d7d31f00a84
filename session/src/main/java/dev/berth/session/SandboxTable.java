package dev.berth.session;

import java.util.Optional;
import org.jdbi.v3.core.Handle;

/** The table {@code sandboxes}: what was made for which session, written down before it is made. */
final class SandboxTable {
    private SandboxTable() {}

    static void begin(Handle handle, SessionInfo session, String origin) {
        end(handle, session.key(), "replaced");
        handle.createUpdate("""
                        INSERT INTO sandboxes (tenant, session, provider, location, sandbox_id, origin)
                        VALUES (:tenant, :session, :provider, :location, :sandbox, :origin)""")
                .bind("tenant", session.key().tenant())
                .bind("session", session.key().id())
                .bind("provider", session.provider())
                .bind("location", session.location())
                .bind("sandbox", session.sandboxId().value())
                .bind("origin", origin)
                .execute();
    }

    static int end(Handle handle, SessionKey key, String reason) {
        return handle.createUpdate("""
                        UPDATE sandboxes SET destroyed_at = now(), end_reason = :reason
                        WHERE tenant = :tenant AND session = :session AND destroyed_at IS NULL""")
                .bind("reason", reason)
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .execute();
    }

    /** What the sandbox that was begun last was to start from. */
    static Optional<String> origin(Handle handle, SessionKey key) {
        return handle.createQuery("""
                        SELECT origin FROM sandboxes WHERE tenant = :tenant AND session = :session
                        ORDER BY number DESC LIMIT 1""")
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .mapTo(String.class)
                .findOne();
    }
}
