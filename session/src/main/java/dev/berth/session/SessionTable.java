package dev.berth.session;

import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Mount;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxId;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.PreparedBatch;
import org.jdbi.v3.core.statement.Query;
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
            version + last_seq + expiry_moves AS revision, metadata::text AS metadata, surface::text AS surface, mounts::text AS mounts, expiry_then, expiry_wakes, expires_at, \
            1000 * extract(epoch FROM expiry_after) AS expiry_after, \
            last_activity_at, paused_at, resumed_at, stopped_at, archived_at, destroyed_at, \
            1000 * extract(epoch FROM pause_after) AS pause_after, 1000 * extract(epoch FROM stop_after) AS stop_after, \
            1000 * extract(epoch FROM archive_after) AS archive_after, \
            1000 * extract(epoch FROM delete_after) AS delete_after, 1000 * extract(epoch FROM lifetime) AS lifetime""";

    private static final Set<SessionState> UP_OR_COMING =
            EnumSet.of(SessionState.CREATING, SessionState.RESUMING, SessionState.ACTIVE);

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

    /** Of those of a channel that have the id, whoever's they are, the one that has had it for longest. */
    static Optional<SessionInfo> findById(Handle handle, String id, String channel) {
        return handle.createQuery("SELECT " + COLUMNS + " FROM sessions WHERE id = :id AND channel = :channel"
                        + " ORDER BY state = 'destroyed', created_at LIMIT 1")
                .bind("id", id)
                .bind("channel", channel)
                .map(SessionTable::row)
                .findOne();
    }

    static List<SessionInfo> list(Handle handle, SessionQuery query) {
        boolean newestFirst = query.order() == SessionQuery.Order.NEWEST_FIRST;
        String page = query.after().isEmpty()
                ? ""
                : " AND (created_at, id) " + (newestFirst ? "<" : ">") + " (:cursor_at, :cursor_id)";
        String order = newestFirst ? "created_at DESC, id DESC" : "created_at, id";
        Query statement = filtered(handle, COLUMNS, query, page + " ORDER BY " + order + " LIMIT " + query.limit());
        query.after()
                .ifPresent(cursor -> statement
                        .bind("cursor_at", OffsetDateTime.ofInstant(cursor.createdAt(), ZoneOffset.UTC))
                        .bind("cursor_id", cursor.id()));
        return statement.map(SessionTable::row).list();
    }

    static long count(Handle handle, SessionQuery query) {
        return filtered(handle, "count(*)", query, "").mapTo(Long.class).one();
    }

    private static Query filtered(Handle handle, String columns, SessionQuery query, String rest) {
        StringBuilder sql = new StringBuilder(
                "SELECT " + columns + " FROM sessions WHERE state IN (" + SessionState.names(query.states()) + ")");
        Map<String, Object> values = new HashMap<>();
        query.tenant().ifPresent(tenant -> {
            sql.append(" AND tenant = :tenant");
            values.put("tenant", tenant);
        });
        query.channel().ifPresent(channel -> {
            sql.append(" AND channel = :channel");
            values.put("channel", channel);
        });
        query.template().ifPresent(template -> {
            sql.append(" AND template = :template");
            values.put("template", template);
        });
        query.startedAfter().ifPresent(moment -> {
            sql.append(" AND created_at >= :started_after");
            values.put("started_after", OffsetDateTime.ofInstant(moment, ZoneOffset.UTC));
        });
        if (!query.metadata().isEmpty()) {
            sql.append(" AND metadata @> :metadata::jsonb");
            values.put("metadata", String.valueOf(Json.write(query.metadata())));
        }
        return handle.createQuery(sql + rest).bindMap(values);
    }

    /**
     * Changes when a session expires that is up, or that is coming up if it is only put off. This needs no custody, as it
     * changes no state. It is not done to one that goes down, or whose end has begun: it would end all the same.
     *
     * @param sooner whether it may become sooner than it is; one that comes up has yet to be given the time that this is
     *     sooner than
     * @return empty if there is no such one at that location that expires
     */
    static Optional<SessionInfo> expire(
            Handle handle, SessionKey key, String location, Duration fromNow, boolean sooner) {
        String when = "now() + :from_now * interval '1 millisecond'";
        return handle.createQuery("UPDATE sessions SET expiry_moves = expiry_moves + 1, expires_at = "
                        + (sooner ? when : "greatest(expires_at, " + when + ")")
                        + " WHERE tenant = :tenant AND id = :id AND location = :location AND expiry_then IS NOT NULL"
                        + " AND NOT delete_requested AND NOT ending AND state IN ("
                        + SessionState.names(sooner ? EnumSet.of(SessionState.ACTIVE) : UP_OR_COMING)
                        + ") RETURNING " + COLUMNS)
                .bind("from_now", fromNow.toMillis())
                .bind("location", location)
                .bind("tenant", key.tenant())
                .bind("id", key.id())
                .map(SessionTable::row)
                .findOne();
    }

    /**
     * Notes that the time of a session is over and that its end begins, if that is so still: whoever puts it off does so
     * before this, or is told that it is too late. The time is looked at in the row itself, since a row that another
     * statement changed meanwhile is looked at again, but not what is selected beside it.
     */
    static boolean claimEnd(Handle handle, SessionKey key, String step, int rank) {
        return handle.createUpdate("""
                        UPDATE sessions SET ending = true
                        WHERE tenant = :tenant AND id = :id AND expires_at <= now() AND EXISTS (SELECT FROM ladder
                            WHERE tenant = :tenant AND id = :id AND step = :step AND rank = :rank AND due_at <= now())""")
                        .bind("tenant", key.tenant())
                        .bind("id", key.id())
                        .bind("step", step)
                        .bind("rank", rank)
                        .execute()
                > 0;
    }

    /**
     * A row for a new conversation, in the state {@code creating}, with its event and the sandbox that is to be made, in
     * one statement. Empty if there is a row of that key.
     */
    static Optional<SessionInfo> insert(
            Handle handle,
            SessionKey key,
            String provider,
            String location,
            RowChange spec,
            String origin,
            SessionEvent event) {
        return handle.createQuery("""
            WITH made AS (
                INSERT INTO sessions (tenant, id, state, provider, location, sandbox_id, last_seq, %s)
                VALUES (:tenant, :key, 'creating', :provider, :location, :sandbox, 1, %s)
                ON CONFLICT (tenant, id) DO NOTHING
                RETURNING *
            ), logged AS (
                INSERT INTO events (tenant, session, seq, type, actor, correlation, data)
                SELECT tenant, id, last_seq, :event, :actor, :correlation, :data::jsonb FROM made
            ), begun AS (
                INSERT INTO sandboxes (tenant, session, provider, location, sandbox_id, origin)
                SELECT tenant, id, provider, location, sandbox_id, :origin FROM made
            )
            SELECT %s FROM made""".formatted(spec.columns(), spec.expressions(), COLUMNS))
                .bind("tenant", key.tenant())
                .bind("key", key.id())
                .bind("provider", provider)
                .bind("location", location)
                .bind("sandbox", key.sandboxId().value())
                .bind("origin", origin)
                .bind("event", event.type())
                .bind("actor", event.actor())
                .bind("correlation", MDC.get(CORRELATION))
                .bind("data", Json.write(event.data()))
                .bindMap(spec.values())
                .map(SessionTable::row)
                .findOne();
    }

    /**
     * When a session expires follows from the state it goes to. One that is up, or on its way there, has its time from
     * then on, one that goes down has none: no server can die in between and leave one that never ends. What was extended
     * on the way up stays so. Of one whose freezing did not come about the time goes on, and one whose removal failed is
     * still to be removed.
     */
    private static final String EXPIRES_AT = """
            CASE WHEN :state IN ('paused', 'stopped', 'archived', 'destroyed') THEN NULL
                WHEN :state IN ('creating', 'resuming', 'active') AND state NOT IN ('active', 'pausing')
                    THEN greatest(expires_at, now() + expiry_after)
                ELSE expires_at END""";

    /** What its user gave it, which may be anything and need not outlive it. */
    private static final String NOTHING_LEFT = ", env = '{}', metadata = '{}', surface = '{}'";

    /** An end that has begun goes on until the session is down or somebody brings it up again. */
    private static final String ENDING = "ending AND (:state = state OR :state IN ('pausing', 'deleting'))";

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
                SET state = :state, version = version + 1, updated_at = now(), last_seq = last_seq + 1%s%s%s%s
                WHERE tenant = :tenant AND id = :key AND version = :version AND state = :before
                RETURNING *
            ), logged AS (
                INSERT INTO events (tenant, session, seq, type, actor, correlation, data)
                SELECT tenant, id, last_seq, :event, :actor, :correlation, :data::jsonb FROM changed
            )
            SELECT %s FROM changed, relaxed""".formatted(
                                change.assignments(),
                                change.sets("expires_at") ? "" : ", expires_at = " + EXPIRES_AT,
                                change.sets("ending") ? "" : ", ending = " + ENDING,
                                next == SessionState.DESTROYED ? NOTHING_LEFT : "",
                                COLUMNS))
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

    /**
     * Forgets sessions of a channel that are destroyed for so long, with their events and all else that goes with the row.
     * One that has left artifacts stays until these have expired, since what is in them is counted by their rows.
     */
    static int forget(Handle handle, String channel, Duration after) {
        return handle.createUpdate("""
                        DELETE FROM sessions WHERE state = 'destroyed' AND channel = :channel
                            AND destroyed_at < now() - :after * interval '1 millisecond'
                            AND NOT EXISTS (SELECT FROM artifacts
                                WHERE artifacts.tenant = sessions.tenant AND artifacts.session = sessions.id)""")
                .bind("channel", channel)
                .bind("after", after.toMillis())
                .execute();
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
                row.getLong("revision"),
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
                Json.strings(text(row, "metadata")),
                expiry(row),
                time(row, "expires_at"),
                Json.strings(text(row, "surface")),
                List.of(Json.read(text(row, "mounts"), Mount[].class)),
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

    private static Optional<Expiry> expiry(ResultSet row) throws SQLException {
        Optional<Duration> after = millis(row, "expiry_after");
        return after.isEmpty()
                ? Optional.empty()
                : Optional.of(new Expiry(
                        after.get(), Expiry.Then.parse(text(row, "expiry_then")), row.getBoolean("expiry_wakes")));
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
