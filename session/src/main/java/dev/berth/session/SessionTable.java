package dev.berth.session;

import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxId;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.PreparedBatch;
import org.jdbi.v3.core.statement.StatementContext;
import org.jspecify.annotations.Nullable;
import org.slf4j.MDC;

/** The table {@code sessions}, and the events that are written together with its changes. */
final class SessionTable {
    static final String CORRELATION = "correlation";

    private static final String COLUMNS = """
            tenant, id, channel, state, version, provider, location, sandbox_id, template, limits::text AS limits, network::text AS network, \
            env::text AS env, permission_mode, pinned, delete_requested, turn, auto_checkpoint, keep_checkpoints, agent_session_id, \
            archive_name, archive_sha256, archive_bytes, archive_template, \
            loss::text AS loss, resume_fail_count, last_error, retry_at, disk_bytes, last_seq, created_at, updated_at, \
            last_activity_at, paused_at, resumed_at, stopped_at, archived_at, destroyed_at, \
            1000 * extract(epoch FROM pause_after) AS pause_after, 1000 * extract(epoch FROM stop_after) AS stop_after, \
            1000 * extract(epoch FROM archive_after) AS archive_after, \
            1000 * extract(epoch FROM delete_after) AS delete_after, 1000 * extract(epoch FROM lifetime) AS lifetime""";

    private SessionTable() {}

    static Optional<SessionInfo> find(Handle handle, SessionKey key) {
        return handle.createQuery("SELECT " + COLUMNS + " FROM sessions WHERE tenant = :tenant AND id = :id")
                .bind("tenant", key.tenant())
                .bind("id", key.id())
                .map(SessionTable::row)
                .findOne();
    }

    /** Those of a tenant, or of all, that are in one of these states; the last used come first. */
    static List<SessionInfo> list(Handle handle, Optional<String> tenant, Set<SessionState> states, int limit) {
        return handle.createQuery(
                        "SELECT " + COLUMNS + " FROM sessions WHERE (:tenant::text IS NULL OR tenant = :tenant)"
                                + " AND state IN (" + SessionState.names(states) + ")"
                                + " ORDER BY last_activity_at DESC, tenant, id LIMIT :limit")
                .bind("tenant", tenant.orElse(null))
                .bind("limit", limit)
                .map(SessionTable::row)
                .list();
    }

    /** A row for a new conversation, in the state {@code creating}. */
    static SessionInfo insert(Handle handle, SessionKey key, String provider, String location, RowChange spec) {
        return handle.createQuery("INSERT INTO sessions (tenant, id, state, provider, location, sandbox_id, "
                        + spec.columns() + ") VALUES (:tenant, :key, 'creating', :provider, :location, :sandbox, "
                        + spec.expressions()
                        + ") RETURNING " + COLUMNS)
                .bind("tenant", key.tenant())
                .bind("key", key.id())
                .bind("provider", provider)
                .bind("location", location)
                .bind("sandbox", key.sandboxId().value())
                .bindMap(spec.values())
                .map(SessionTable::row)
                .one();
    }

    /**
     * The one way in which a session's state changes: compare and set, with its event, in one statement.
     *
     * @param durable false for a change that the next one who looks would make again, so that it need not wait for the disk
     * @throws SandboxException {@code conflict} if the row is not as it was read any more
     */
    static SessionInfo update(
            Handle handle,
            SessionInfo before,
            SessionState next,
            RowChange change,
            SessionEvent event,
            boolean durable) {
        before.state().checkNext(next);
        return handle.createQuery("""
            WITH relaxed AS MATERIALIZED (
                SELECT CASE WHEN :durable THEN NULL ELSE set_config('synchronous_commit', 'off', true) END
            ), changed AS (
                UPDATE sessions
                SET state = :state, version = version + 1, updated_at = now(), last_seq = last_seq + 1%s
                WHERE tenant = :tenant AND id = :key AND version = :version AND state = :before
                RETURNING *
            ), logged AS (
                INSERT INTO events (tenant, session, seq, type, actor, correlation, data)
                SELECT tenant, id, last_seq, :event, :actor, :correlation, :data::jsonb FROM changed
            )
            SELECT %s FROM changed, relaxed""".formatted(change.assignments(), COLUMNS))
                .bind("durable", durable)
                .bind("state", next.toString())
                .bind("tenant", before.key().tenant())
                .bind("key", before.key().id())
                .bind("version", before.version())
                .bind("before", before.state().toString())
                .bind("event", event.type())
                .bind("actor", event.actor())
                .bind("correlation", MDC.get(CORRELATION))
                .bind("data", Json.write(event.data()))
                .bindMap(change.values())
                .map(SessionTable::row)
                .findOne()
                .orElseThrow(() -> SandboxException.conflict(
                        "session " + before.key() + " was changed by another server meanwhile; try again"));
    }

    /** What a server knows of a session in its memory. */
    record Activity(SessionKey key, Duration ago) {}

    static void touch(Handle handle, Collection<Activity> activities) {
        PreparedBatch batch = handle.prepareBatch("""
                UPDATE sessions SET
                    last_activity_at = greatest(last_activity_at, now() - :ago * interval '1 millisecond')
                WHERE tenant = :tenant AND id = :id""");
        // Sorted, so that two servers that write to the same sessions lock their rows in the same order.
        List<Activity> sorted = new ArrayList<>(activities);
        sorted.sort(Comparator.comparing(activity -> activity.key().toString()));
        for (Activity activity : sorted) {
            batch.bind("ago", activity.ago().toMillis())
                    .bind("tenant", activity.key().tenant())
                    .bind("id", activity.key().id())
                    .add();
        }
        batch.execute();
    }

    private static SessionInfo row(ResultSet row, StatementContext context) throws SQLException {
        SessionKey key = new SessionKey(text(row, "tenant"), text(row, "id"));
        Optional<String> archive = optional(row.getString("archive_name"));
        return new SessionInfo(
                key,
                SessionState.parse(text(row, "state")),
                row.getLong("version"),
                text(row, "provider"),
                text(row, "location"),
                new SandboxId(text(row, "sandbox_id")),
                optional(row.getString("channel")),
                text(row, "template"),
                Json.read(text(row, "limits"), Limits.class),
                Json.read(text(row, "network"), Network.class),
                Json.strings(text(row, "env")),
                new IdlePolicy(
                        millis(row, "pause_after"),
                        millis(row, "stop_after"),
                        millis(row, "archive_after"),
                        millis(row, "delete_after"),
                        millis(row, "lifetime")),
                PermissionMode.parse(text(row, "permission_mode")),
                row.getBoolean("pinned"),
                row.getBoolean("delete_requested"),
                row.getInt("turn"),
                row.getBoolean("auto_checkpoint"),
                row.getInt("keep_checkpoints"),
                optional(row.getString("agent_session_id")),
                archive.isEmpty()
                        ? Optional.empty()
                        : Optional.of(new SessionInfo.Archive(
                                archive.get(),
                                text(row, "archive_sha256"),
                                row.getLong("archive_bytes"),
                                text(row, "archive_template"))),
                optional(row.getString("loss")).map(json -> Json.read(json, Loss.class)),
                row.getInt("resume_fail_count"),
                optional(row.getString("last_error")),
                time(row, "retry_at"),
                row.getLong("disk_bytes"),
                row.getLong("last_seq"),
                new SessionInfo.Times(
                        time(row, "created_at").orElseThrow(),
                        time(row, "updated_at").orElseThrow(),
                        time(row, "last_activity_at").orElseThrow(),
                        time(row, "paused_at"),
                        time(row, "resumed_at"),
                        time(row, "stopped_at"),
                        time(row, "archived_at"),
                        time(row, "destroyed_at")));
    }

    private static String text(ResultSet row, String column) throws SQLException {
        return Objects.requireNonNull(row.getString(column), column);
    }

    private static Optional<String> optional(@Nullable String value) {
        return Optional.ofNullable(value);
    }

    private static Optional<Instant> time(ResultSet row, String column) throws SQLException {
        return Optional.ofNullable(row.getObject(column, OffsetDateTime.class)).map(OffsetDateTime::toInstant);
    }

    private static Optional<Duration> millis(ResultSet row, String column) throws SQLException {
        double value = row.getDouble(column);
        return row.wasNull() ? Optional.empty() : Optional.of(Duration.ofMillis(Math.round(value)));
    }
}
