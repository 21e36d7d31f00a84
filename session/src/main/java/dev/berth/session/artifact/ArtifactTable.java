package dev.berth.session.artifact;

import dev.berth.session.SessionKey;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.jdbi.v3.core.Handle;
import org.jspecify.annotations.Nullable;

/** The tables {@code artifacts} and {@code artifact_scans}. */
final class ArtifactTable {
    private static final String COLUMNS =
            "id, tenant, session, call_id, name, path, mime_type, size, sha256, kind, width,"
                    + " height, preview, created_at, expires_at";

    /** Content of a tenant that a row referred to. */
    record Content(String tenant, String sha256) {}

    private ArtifactTable() {}

    /**
     * Keeps content of a tenant from being removed until the end of the transaction, so that what is there when a row is
     * written stays there.
     */
    static void keepContent(Handle handle, String tenant) {
        lock(handle, "pg_advisory_xact_lock_shared", tenant);
    }

    /** Keeps rows that refer to content of a tenant from being written until the end of the transaction. */
    static void keepRows(Handle handle, String tenant) {
        lock(handle, "pg_advisory_xact_lock", tenant);
    }

    private static void lock(Handle handle, String how, String tenant) {
        handle.createQuery("SELECT true FROM (SELECT " + how
                        + "(hashtextextended('berth artifacts ' || :tenant, 0))) AS l")
                .bind("tenant", tenant)
                .mapTo(Boolean.class)
                .one();
    }

    static void insert(Handle handle, Artifact artifact) {
        handle.createUpdate(
                        "INSERT INTO artifacts (" + COLUMNS + ") VALUES (:id, :tenant, :session, :call, :name, :path,"
                                + " :type, :size, :sha256, :kind, :width, :height, :preview, :created, :expires)")
                .bind("id", artifact.id())
                .bind("tenant", artifact.session().tenant())
                .bind("session", artifact.session().id())
                .bind("call", artifact.callId().orElse(null))
                .bind("name", artifact.name())
                .bind("path", artifact.path())
                .bind("type", artifact.mimeType())
                .bind("size", artifact.size())
                .bind("sha256", artifact.sha256())
                .bind("kind", artifact.kind().toString())
                .bind("width", boxed(artifact.width()))
                .bind("height", boxed(artifact.height()))
                .bind("preview", artifact.preview().orElse(null))
                .bind("created", at(artifact.createdAt()))
                .bind("expires", at(artifact.expiresAt()))
                .execute();
    }

    private static @Nullable Integer boxed(OptionalInt value) {
        return value.isPresent() ? value.getAsInt() : null;
    }

    private static OffsetDateTime at(Instant instant) {
        return instant.atOffset(ZoneOffset.UTC);
    }

    private static Artifact read(ResultSet row) throws SQLException {
        return new Artifact(
                row.getString("id"),
                SessionKey.of(row.getString("tenant"), row.getString("session")),
                Optional.ofNullable(row.getString("call_id")),
                row.getString("name"),
                row.getString("path"),
                row.getString("mime_type"),
                row.getLong("size"),
                row.getString("sha256"),
                Artifact.Kind.valueOf(row.getString("kind").toUpperCase(Locale.ROOT)),
                number(row, "width"),
                number(row, "height"),
                Optional.ofNullable(row.getString("preview")),
                row.getObject("created_at", OffsetDateTime.class).toInstant(),
                row.getObject("expires_at", OffsetDateTime.class).toInstant());
    }

    private static OptionalInt number(ResultSet row, String column) throws SQLException {
        int value = row.getInt(column);
        return row.wasNull() ? OptionalInt.empty() : OptionalInt.of(value);
    }

    static Optional<Artifact> find(Handle handle, String id, Instant now) {
        return handle.createQuery("SELECT " + COLUMNS + " FROM artifacts WHERE id = :id AND expires_at > :now")
                .bind("id", id)
                .bind("now", at(now))
                .map((row, _) -> read(row))
                .findOne();
    }

    /** The one that the same call has made of the same file already. */
    static Optional<Artifact> same(Handle handle, Artifact artifact) {
        return handle.createQuery("SELECT " + COLUMNS + """
                         FROM artifacts WHERE tenant = :tenant AND session = :session AND call_id = :call AND name = :name
                        AND sha256 = :sha256 ORDER BY number LIMIT 1""")
                .bind("tenant", artifact.session().tenant())
                .bind("session", artifact.session().id())
                .bind("call", artifact.callId().orElse(null))
                .bind("name", artifact.name())
                .bind("sha256", artifact.sha256())
                .map((row, _) -> read(row))
                .findOne();
    }

    /** Those of a session, the newest first, older than one of them if that is given. */
    static List<Artifact> list(Handle handle, SessionKey key, Optional<String> before, int limit, Instant now) {
        return handle.createQuery("SELECT " + COLUMNS + """
                         FROM artifacts WHERE tenant = :tenant AND session = :session AND expires_at > :now
                        AND (:before::text IS NULL OR number < (
                            SELECT number FROM artifacts WHERE id = :before AND tenant = :tenant AND session = :session))
                        ORDER BY number DESC LIMIT :limit""")
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .bind("now", at(now))
                .bind("before", before.orElse(null))
                .bind("limit", limit)
                .map((row, _) -> read(row))
                .list();
    }

    /** How many each session has. */
    static Map<SessionKey, Integer> counts(Handle handle, Optional<String> tenant, Instant now) {
        Map<SessionKey, Integer> counts = new HashMap<>();
        handle.createQuery("""
                        SELECT tenant, session, count(*) AS count FROM artifacts
                        WHERE (:tenant::text IS NULL OR tenant = :tenant) AND expires_at > :now GROUP BY tenant, session""")
                .bind("tenant", tenant.orElse(null))
                .bind("now", at(now))
                .map((row, _) -> Map.entry(
                        SessionKey.of(row.getString("tenant"), row.getString("session")), row.getInt("count")))
                .forEach(entry -> counts.put(entry.getKey(), entry.getValue()));
        return counts;
    }

    static boolean remove(Handle handle, String id) {
        return handle.createUpdate("DELETE FROM artifacts WHERE id = :id")
                        .bind("id", id)
                        .execute()
                > 0;
    }

    /** Removes some of those whose time is over, and returns what they referred to. */
    static List<Content> removeExpired(Handle handle, Instant now, int limit) {
        return handle.createQuery("""
                        DELETE FROM artifacts WHERE id IN (
                            SELECT id FROM artifacts WHERE expires_at <= :now ORDER BY expires_at LIMIT :limit
                            FOR UPDATE SKIP LOCKED)
                        RETURNING tenant, sha256""")
                .bind("now", at(now))
                .bind("limit", limit)
                .map((row, _) -> new Content(row.getString("tenant"), row.getString("sha256")))
                .list();
    }

    static boolean refers(Handle handle, String tenant, String sha256) {
        return handle.createQuery("SELECT EXISTS (SELECT FROM artifacts WHERE tenant = :tenant AND sha256 = :sha256)")
                .bind("tenant", tenant)
                .bind("sha256", sha256)
                .mapTo(Boolean.class)
                .one();
    }

    static Seen seen(Handle handle, SessionKey key) {
        return handle.createQuery("SELECT seen FROM artifact_scans WHERE tenant = :tenant AND session = :session")
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .map((row, _) -> Seen.of(
                        java.util.Arrays.stream((Long[]) row.getArray("seen").getArray())
                                .mapToLong(Long::longValue)
                                .toArray()))
                .findOne()
                .orElse(Seen.NOTHING);
    }

    static void seen(Handle handle, SessionKey key, Seen seen) {
        handle.createUpdate("""
                        INSERT INTO artifact_scans (tenant, session, seen) VALUES (:tenant, :session, :seen)
                        ON CONFLICT (tenant, session) DO UPDATE SET seen = excluded.seen""")
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .bindArray("seen", Long.class, (Object[]) seen.toArray())
                .execute();
    }
}
