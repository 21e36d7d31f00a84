package dev.berth.session;

import dev.berth.sandbox.CheckpointId;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Optional;
import org.jdbi.v3.core.Handle;

/** The table {@code checkpoints}: of which turns the files were kept. */
final class CheckpointTable {
    /** The name of one that was there and is not any more. */
    private static final String LOST = "lost";

    record Entry(int turn, String name, Optional<CheckpointId> id, Instant createdAt) {
        /** Whether nobody will ever finish it. */
        boolean lost() {
            return name.equals(LOST);
        }
    }

    private CheckpointTable() {}

    /** Those of a session, the newest turn first. */
    static List<Entry> list(Handle handle, SessionKey key) {
        return handle.createQuery("""
                        SELECT turn, name, checkpoint_id, created_at FROM checkpoints
                        WHERE tenant = :tenant AND session = :session ORDER BY turn DESC""")
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .map((row, context) -> new Entry(
                        row.getInt("turn"),
                        row.getString("name"),
                        Optional.ofNullable(row.getString("checkpoint_id")).map(CheckpointId::new),
                        row.getObject("created_at", OffsetDateTime.class).toInstant()))
                .list();
    }

    static void begin(Handle handle, SessionKey key, int turn, String name) {
        handle.createUpdate("""
                        INSERT INTO checkpoints (tenant, session, turn, name)
                        VALUES (:tenant, :session, :turn, :name)
                        ON CONFLICT (tenant, session, turn) DO UPDATE SET name = :name, checkpoint_id = NULL""")
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .bind("turn", turn)
                .bind("name", name)
                .execute();
    }

    static void taken(Handle handle, SessionKey key, int turn, CheckpointId id) {
        handle.createUpdate("""
                        UPDATE checkpoints SET checkpoint_id = :checkpoint
                        WHERE tenant = :tenant AND session = :session AND turn = :turn""")
                .bind("checkpoint", id.value())
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .bind("turn", turn)
                .execute();
    }

    /** Forgets those for forks, which have a negative turn and are over at once, unless a server was killed meanwhile. */
    static int forgetAbandoned(Handle handle) {
        return handle.createUpdate("DELETE FROM checkpoints WHERE turn < 0 AND created_at < now() - interval '1 hour'")
                .execute();
    }

    /**
     * Notes that a checkpoint is gone. The row stays, because a turn without a row is one that wrote nothing, and that
     * would be something else.
     */
    static void lose(Handle handle, SessionKey key, int turn) {
        handle.createUpdate("""
                        UPDATE checkpoints SET checkpoint_id = NULL, name = :name
                        WHERE tenant = :tenant AND session = :session AND turn = :turn""")
                .bind("name", LOST)
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .bind("turn", turn)
                .execute();
    }

    static void remove(Handle handle, SessionKey key, int turn) {
        handle.createUpdate("DELETE FROM checkpoints WHERE tenant = :tenant AND session = :session AND turn = :turn")
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .bind("turn", turn)
                .execute();
    }
}
