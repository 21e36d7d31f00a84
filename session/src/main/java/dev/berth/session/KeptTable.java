package dev.berth.session;

import dev.berth.sandbox.CheckpointId;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxId;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.StatementContext;

/** The table {@code kept_checkpoints}. */
final class KeptTable {
    /** For each tenant: they take room that no session accounts for. */
    private static final int MOST = 1000;

    private static final String COLUMNS = """
            id, tenant, session, name, location, checkpoint_id, template, limits::text AS limits, env::text AS env, \
            network::text AS network, disk_bytes, created_at""";
    private static final String LEFT =
            "id, tenant, session, location, sandbox_id, checkpoint_id, deleted_at IS NOT NULL AS removed";
    /** Taken, and not being removed. */
    private static final String THERE = "checkpoint_id IS NOT NULL AND deleted_at IS NULL";

    /** A row as somebody may have left it. */
    record Left(
            String id,
            SessionKey session,
            String location,
            SandboxId sandbox,
            Optional<CheckpointId> checkpoint,
            boolean beingRemoved) {
        /** What the provider calls it, by which it is found though nobody wrote down its id there. */
        String nameAtProvider() {
            return KeptTable.nameAtProvider(id);
        }
    }

    private KeptTable() {}

    static String nameAtProvider(String id) {
        return "kept-" + id;
    }

    /**
     * Before it is taken.
     *
     * @throws SandboxException {@code conflict} if the tenant has one of that name, {@code limit} if it has too many
     */
    static void begin(Handle handle, String id, SessionInfo session, Optional<String> name) {
        long others = handle.createQuery("SELECT count(*) FROM kept_checkpoints WHERE tenant = :tenant")
                .bind("tenant", session.key().tenant())
                .mapTo(Long.class)
                .one();
        if (others >= MOST) {
            throw SandboxException.limit(
                            "this tenant has " + others + " kept checkpoints, of " + MOST + " allowed; delete some")
                    .with(SandboxException.LIMIT, "checkpoints")
                    .with(SandboxException.USED, others)
                    .with(SandboxException.ALLOWED, MOST);
        }
        int begun = handle.createUpdate("""
                        INSERT INTO kept_checkpoints
                            (id, tenant, session, name, location, sandbox_id, template, limits, env, network)
                        VALUES (:id, :tenant, :session, :name, :location, :sandbox, :template, :limits::jsonb, :env::jsonb,
                            :network::jsonb)
                        ON CONFLICT (tenant, name) WHERE deleted_at IS NULL DO NOTHING""")
                .bind("id", id)
                .bind("tenant", session.key().tenant())
                .bind("session", session.key().id())
                .bind("name", name.orElse(null))
                .bind("location", session.location())
                .bind("sandbox", session.sandboxId().value())
                .bind("template", session.template())
                .bind("limits", Json.write(session.limits()))
                .bind("env", Json.write(session.env()))
                .bind("network", Json.write(session.network()))
                .execute();
        if (begun == 0) {
            throw SandboxException.conflict(
                    "there is a checkpoint named '" + name.orElse("") + "' already; delete it, or take another name");
        }
    }

    static KeptCheckpoint taken(Handle handle, String id, CheckpointId checkpoint, long diskBytes) {
        return handle.createQuery("UPDATE kept_checkpoints SET checkpoint_id = :checkpoint, disk_bytes = :disk,"
                        + " created_at = now() WHERE id = :id RETURNING " + COLUMNS)
                .bind("checkpoint", checkpoint.value())
                .bind("disk", diskBytes)
                .bind("id", id)
                .map(KeptTable::row)
                .one();
    }

    static Optional<KeptCheckpoint> find(Handle handle, String tenant, String idOrName) {
        return handle.createQuery("SELECT " + COLUMNS + " FROM kept_checkpoints WHERE tenant = :tenant"
                        + " AND (id = :name OR name = :name) AND " + THERE + " ORDER BY id = :name DESC LIMIT 1")
                .bind("tenant", tenant)
                .bind("name", idOrName)
                .map(KeptTable::row)
                .findOne();
    }

    static List<KeptCheckpoint> list(
            Handle handle,
            String tenant,
            Optional<String> session,
            Optional<String> name,
            Optional<SessionQuery.Cursor> after,
            int limit) {
        return handle.createQuery("SELECT " + COLUMNS + " FROM kept_checkpoints WHERE tenant = :tenant AND " + THERE
                        + " AND (:session::text IS NULL OR session = :session)"
                        + " AND (:name::text IS NULL OR name = :name)"
                        + " AND (:at::timestamptz IS NULL OR (created_at, id) < (:at, :id))"
                        + " ORDER BY created_at DESC, id DESC LIMIT :limit")
                .bind("tenant", tenant)
                .bind("session", session.orElse(null))
                .bind("name", name.orElse(null))
                .bind(
                        "at",
                        after.map(cursor -> OffsetDateTime.ofInstant(cursor.createdAt(), ZoneOffset.UTC))
                                .orElse(null))
                .bind("id", after.map(SessionQuery.Cursor::id).orElse(""))
                .bind("limit", limit)
                .map(KeptTable::row)
                .list();
    }

    /** Notes that it is to be removed, and by that takes it from everybody's sight. False if somebody did. */
    static boolean beginRemoval(Handle handle, String id) {
        return handle.createUpdate(
                                "UPDATE kept_checkpoints SET deleted_at = now() WHERE id = :id AND deleted_at IS NULL")
                        .bind("id", id)
                        .execute()
                > 0;
    }

    static int remove(Handle handle, String id) {
        return handle.createUpdate("DELETE FROM kept_checkpoints WHERE id = :id")
                .bind("id", id)
                .execute();
    }

    /** The checkpoints of a sandbox that are somebody's business other than its session's. */
    static Set<CheckpointId> of(Handle handle, SandboxId sandbox) {
        return handle.createQuery("""
                        SELECT checkpoint_id FROM kept_checkpoints
                        WHERE sandbox_id = :sandbox AND checkpoint_id IS NOT NULL""")
                .bind("sandbox", sandbox.value())
                .map((row, context) -> new CheckpointId(row.getString("checkpoint_id")))
                .set();
    }

    /** Notes that whatever has this name is to be removed, so that another can have it in the same transaction. */
    static List<Left> giveUpName(Handle handle, String tenant, String name) {
        // Of two at once, the second is to find the one that the first has named.
        var _ = handle.createQuery(
                        "SELECT pg_advisory_xact_lock(hashtextextended('checkpoint:' || :tenant || '/' || :name, 0))::text")
                .bind("tenant", tenant)
                .bind("name", name)
                .mapTo(String.class)
                .findOne();
        return handle.createQuery("""
                        UPDATE kept_checkpoints SET deleted_at = now()
                        WHERE tenant = :tenant AND name = :name AND deleted_at IS NULL RETURNING\s""" + LEFT)
                .bind("tenant", tenant)
                .bind("name", name)
                .map(KeptTable::left)
                .list();
    }

    static void name(Handle handle, String id, String name) {
        int _ = handle.createUpdate("UPDATE kept_checkpoints SET name = :name WHERE id = :id")
                .bind("id", id)
                .bind("name", name)
                .execute();
    }

    static List<Left> at(Handle handle, String location) {
        return handle.createQuery("SELECT " + LEFT + " FROM kept_checkpoints WHERE location = :location")
                .bind("location", location)
                .map(KeptTable::left)
                .list();
    }

    private static Left left(ResultSet row, StatementContext context) throws SQLException {
        return new Left(
                row.getString("id"),
                new SessionKey(row.getString("tenant"), row.getString("session")),
                row.getString("location"),
                new SandboxId(row.getString("sandbox_id")),
                Optional.ofNullable(row.getString("checkpoint_id")).map(CheckpointId::new),
                row.getBoolean("removed"));
    }

    private static KeptCheckpoint row(ResultSet row, StatementContext context) throws SQLException {
        return new KeptCheckpoint(
                row.getString("id"),
                new SessionKey(row.getString("tenant"), row.getString("session")),
                Optional.ofNullable(row.getString("name")),
                row.getString("location"),
                new CheckpointId(row.getString("checkpoint_id")),
                row.getString("template"),
                Json.read(row.getString("limits"), Limits.class),
                Json.strings(row.getString("env")),
                Json.read(row.getString("network"), Network.class),
                row.getLong("disk_bytes"),
                row.getObject("created_at", OffsetDateTime.class).toInstant());
    }
}
