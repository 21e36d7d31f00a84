package dev.berth.session;

import dev.berth.sandbox.SandboxException;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.StatementContext;

/** The table {@code tenants}, and what each of them uses. */
final class TenantTable {
    private static final String LIMITS =
            "max_live, max_created_per_minute, max_memory_bytes, max_disk_bytes, makes_room";

    private TenantTable() {}

    static Optional<TenantLimits> find(Handle handle, String tenant) {
        return handle.createQuery("SELECT " + LIMITS + " FROM tenants WHERE id = :id")
                .bind("id", tenant)
                .map(TenantTable::row)
                .findOne();
    }

    static void put(Handle handle, String tenant, TenantLimits limits) {
        handle.createUpdate("INSERT INTO tenants (id, " + LIMITS
                        + ") VALUES (:id, :live, :created, :memory, :disk, :room) ON CONFLICT (id) DO UPDATE SET ("
                        + LIMITS + ") = (:live, :created, :memory, :disk, :room)")
                .bind("id", tenant)
                .bind("live", limits.live().orElse(null))
                .bind("created", limits.createdPerMinute().orElse(null))
                .bind("memory", limits.memoryBytes().orElse(null))
                .bind("disk", limits.diskBytes().orElse(null))
                .bind("room", limits.makesRoom())
                .execute();
    }

    static List<String> list(Handle handle) {
        return handle.createQuery("SELECT id FROM tenants ORDER BY id")
                .mapTo(String.class)
                .list();
    }

    /**
     * Makes sure that one more session may be up. To be called in the transaction that makes it so: the tenant's row is
     * locked until its end, so that two servers cannot both take the last place.
     *
     * @param creates whether a sandbox will be made for it
     * @throws SandboxException {@code limit} with what is used and what is allowed
     */
    static void checkRoom(Handle handle, SessionKey key, long memoryBytes, boolean creates) {
        TenantLimits limits = lock(handle, key);
        Used used = used(handle, key);
        check("sessions", "live sessions", used.live() + 1, limits.live().map(Integer::longValue), used.live());
        check("memory_bytes", "bytes of memory", used.memory() + memoryBytes, limits.memoryBytes(), used.memory());
        check("disk_bytes", "bytes of disk", used.disk(), limits.diskBytes(), used.disk());
        if (creates) {
            check(
                    "created_per_minute",
                    "sandboxes made within a minute",
                    used.created() + 1,
                    limits.createdPerMinute().map(Integer::longValue),
                    used.created());
        }
    }

    /** Makes sure that something may be kept on disk beside the sessions; their row is locked as in {@link #checkRoom}. */
    static void checkDisk(Handle handle, SessionKey key) {
        TenantLimits limits = lock(handle, key);
        if (limits.diskBytes().isPresent()) {
            long used = used(handle, key).disk();
            check("disk_bytes", "bytes of disk", used, limits.diskBytes(), used);
        }
    }

    private static TenantLimits lock(Handle handle, SessionKey key) {
        return handle.createQuery("SELECT " + LIMITS + " FROM tenants WHERE id = :id FOR UPDATE")
                .bind("id", key.tenant())
                .map(TenantTable::row)
                .findOne()
                .orElseThrow(() -> SandboxException.notFound("there is no tenant " + key.tenant()));
    }

    static List<TenantUsage> usage(Handle handle) {
        return handle.createQuery("""
                        SELECT tenants.id, count(sessions.id) AS sessions,
                            count(*) FILTER (WHERE state IN (LIVE)) AS live,
                            coalesce(sum(memory_bytes) FILTER (WHERE state IN (LIVE)), 0) AS memory,
                            coalesce(sum(disk_bytes), 0) + (SELECT coalesce(sum(disk_bytes), 0) FROM kept_checkpoints
                             WHERE kept_checkpoints.tenant = tenants.id) AS disk
                        FROM tenants LEFT JOIN sessions ON sessions.tenant = tenants.id AND state <> 'destroyed'
                        GROUP BY tenants.id ORDER BY tenants.id""".replace("LIVE", SessionState.names(SessionState.LIVE)))
                .map((row, context) -> new TenantUsage(
                        row.getString("id"),
                        row.getLong("sessions"),
                        row.getLong("live"),
                        row.getLong("memory"),
                        row.getLong("disk")))
                .list();
    }

    private record Used(long live, long memory, long disk, long created) {}

    private static Used used(Handle handle, SessionKey except) {
        return handle.createQuery("""
                        SELECT count(*) FILTER (WHERE state IN (LIVE)) AS live,
                            coalesce(sum(memory_bytes) FILTER (WHERE state IN (LIVE)), 0) AS memory,
                            coalesce(sum(disk_bytes), 0) + (SELECT coalesce(sum(disk_bytes), 0) FROM kept_checkpoints
                             WHERE tenant = :tenant) AS disk,
                            (SELECT count(*) FROM sandboxes
                             WHERE tenant = :tenant AND created_at > now() - interval '1 minute') AS created
                        FROM sessions WHERE tenant = :tenant AND id <> :id AND state <> 'destroyed'""".replace("LIVE", SessionState.names(SessionState.LIVE)))
                .bind("tenant", except.tenant())
                .bind("id", except.id())
                .map((row, context) -> new Used(
                        row.getLong("live"), row.getLong("memory"), row.getLong("disk"), row.getLong("created")))
                .one();
    }

    private static void check(String limit, String what, long wanted, Optional<Long> allowed, long used) {
        if (allowed.isPresent() && wanted > allowed.get()) {
            throw SandboxException.limit("this tenant has " + used + " " + what + ", of " + allowed.get()
                            + " allowed; delete or pause some sessions, or ask for more")
                    .with(SandboxException.LIMIT, limit)
                    .with(SandboxException.USED, used)
                    .with(SandboxException.ALLOWED, allowed.get());
        }
    }

    /**
     * The tenant's sessions that are up and were not used for a while, the least recently used first. Without those that
     * were made to be up for a certain time.
     */
    static List<SessionKey> idle(Handle handle, String tenant) {
        return handle.createQuery("""
                        SELECT id FROM sessions
                        WHERE tenant = :tenant AND state = 'active' AND NOT pinned AND expiry_after IS NULL
                          AND NOT EXISTS (SELECT FROM jobs WHERE jobs.tenant = sessions.tenant
                                          AND jobs.session = sessions.id AND jobs.state = 'running')
                        ORDER BY last_activity_at LIMIT 100""")
                .bind("tenant", tenant)
                .map((row, context) -> new SessionKey(tenant, row.getString("id")))
                .list();
    }

    private static TenantLimits row(ResultSet row, StatementContext context) throws SQLException {
        return new TenantLimits(
                Optional.ofNullable(row.getObject("max_live", Integer.class)),
                Optional.ofNullable(row.getObject("max_created_per_minute", Integer.class)),
                Optional.ofNullable(row.getObject("max_memory_bytes", Long.class)),
                Optional.ofNullable(row.getObject("max_disk_bytes", Long.class)),
                row.getBoolean("makes_room"));
    }
}
