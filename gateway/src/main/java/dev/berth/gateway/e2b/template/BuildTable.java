package dev.berth.gateway.e2b.template;

import dev.berth.gateway.e2b.template.TemplateRow.BuildRow;
import dev.berth.gateway.e2b.template.TemplateRow.LogRow;
import dev.berth.gateway.e2b.template.TemplateRow.Status;
import dev.berth.sandbox.TemplateInfo;
import dev.berth.session.store.Database;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.UUID;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.PreparedBatch;

/** The tables {@code template_builds} and {@code template_build_logs}. */
final class BuildTable {
    /** As long as a client may take between asking for a build and saying what it is. */
    private static final Duration UNSAID = Duration.ofDays(1);

    private final Database database;

    BuildTable(Database database) {
        this.database = database;
    }

    void insert(Handle handle, UUID id, String template, List<String> tags, OptionalInt cpus, OptionalInt memoryMb) {
        handle.createUpdate("""
                        INSERT INTO template_builds (id, template, tags, cpus, memory_mb)
                        VALUES (:id, :template, :tags, :cpus, :memory)""")
                .bind("id", id)
                .bind("template", template)
                .bindArray("tags", String.class, tags)
                .bind("cpus", cpus.isPresent() ? (Integer) cpus.getAsInt() : null)
                .bind("memory", memoryMb.isPresent() ? (Integer) memoryMb.getAsInt() : null)
                .execute();
    }

    Optional<BuildRow> find(String template, UUID id) {
        return database.query(
                handle -> handle.createQuery("SELECT * FROM template_builds WHERE template = :template AND id = :id")
                        .bind("template", template)
                        .bind("id", id)
                        .map((row, _) -> build(row))
                        .findOne());
    }

    /** The build that a tag, or the build's own id, means; of those that are ready. */
    Optional<BuildRow> tagged(String template, String tag) {
        return database.query(handle -> handle.createQuery("""
                        SELECT b.* FROM template_builds b
                        WHERE b.template = :template AND b.status = 'ready' AND (b.id::text = :tag OR EXISTS (
                            SELECT 1 FROM template_tags t
                            WHERE t.template = :template AND t.tag = :tag AND t.build = b.id))
                        LIMIT 1""")
                .bind("template", template)
                .bind("tag", tag)
                .map((row, _) -> build(row))
                .findOne());
    }

    List<BuildRow> list(String template, int limit, Optional<Instant> before) {
        return database.query(handle -> handle.createQuery("""
                        SELECT * FROM template_builds WHERE template = :template
                            AND (:before::timestamptz IS NULL OR created_at < :before::timestamptz)
                        ORDER BY created_at DESC, id LIMIT :limit""")
                .bind("template", template)
                .bind("before", before.map(Timestamp::from).orElse(null))
                .bind("limit", limit)
                .map((row, _) -> build(row))
                .list());
    }

    /** How many a tenant has that are not finished. */
    int unfinished(String tenant) {
        return database.query(handle -> handle.createQuery("""
                        SELECT count(*) FROM template_builds b JOIN templates t ON t.id = b.template
                        WHERE t.tenant = :tenant AND b.status = 'building'""")
                .bind("tenant", tenant)
                .mapTo(Integer.class)
                .one());
    }

    /** From waiting to at work; false if somebody has started it. */
    boolean begin(UUID id) {
        return database.query(handle -> handle.createUpdate(
                                "UPDATE template_builds SET status = 'building', updated_at = now()"
                                        + " WHERE id = :id AND status = 'waiting'")
                        .bind("id", id)
                        .execute())
                == 1;
    }

    /** Says that these are being worked at. */
    void beat(List<UUID> ids) {
        int _ = database.query(handle -> handle.createUpdate(
                        "UPDATE template_builds SET updated_at = now() WHERE id = ANY (:ids) AND status = 'building'")
                .bindArray("ids", UUID.class, ids)
                .execute());
    }

    /** Fails those that no server has said anything of for that long. */
    int failLost(Duration silence) {
        return database.query(handle -> handle.createUpdate("""
                        UPDATE template_builds SET status = 'error', finished_at = now(), updated_at = now(),
                            reason = 'the server that built it was stopped; build it again'
                        WHERE (status = 'building' AND updated_at < now() - :silence::interval)
                            OR (status = 'waiting' AND updated_at < now() - :unsaid::interval)""")
                .bind("silence", silence.toSeconds() + " seconds")
                .bind("unsaid", UNSAID.toSeconds() + " seconds")
                .execute());
    }

    boolean ready(Handle handle, UUID id, TemplateInfo made) {
        return handle.createUpdate("""
                        UPDATE template_builds SET status = 'ready', root = :root, size = :size, updated_at = now(),
                            finished_at = now() WHERE id = :id AND status = 'building'""")
                        .bind("id", id)
                        .bind("root", made.id())
                        .bind("size", made.size())
                        .execute()
                == 1;
    }

    void fail(UUID id, String reason, Optional<String> step) {
        int _ = database.query(handle -> handle.createUpdate("""
                        UPDATE template_builds SET status = 'error', reason = :reason, reason_step = :step,
                            updated_at = now(), finished_at = now() WHERE id = :id AND status IN ('waiting', 'building')""")
                .bind("id", id)
                .bind("reason", reason.replace("\0", "")) // which is in no text of PostgreSQL's
                .bind("step", step.orElse(null))
                .execute());
    }

    /**
     * The files of builds that can no longer be named, as another build has got their tags, and that no session has. Those of
     * the last hour stay: whoever has just asked for one by its tag may be about to start from it.
     */
    List<String> superseded() {
        return database.query(
                handle -> handle.createQuery("""
                        SELECT DISTINCT b.root FROM template_builds b JOIN templates t ON t.id = b.template
                        WHERE b.root IS NOT NULL AND b.finished_at < now() - interval '1 hour' AND t.deleted_at IS NULL
                            AND NOT EXISTS (SELECT 1 FROM template_builds o WHERE o.template = b.template
                                AND o.status IN ('waiting', 'building'))
                            AND NOT EXISTS (SELECT 1 FROM template_builds o JOIN template_tags g ON g.build = o.id
                                WHERE o.template = b.template AND (o.root = b.root
                                    OR o.finished_at > now() - interval '1 hour'))
                            AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.state <> 'destroyed'
                                AND (s.template = b.root OR s.archive_template = b.root))""").mapTo(String.class).list());
    }

    void forgetRoot(String root) {
        int _ = database.query(
                handle -> handle.createUpdate("UPDATE template_builds SET root = NULL WHERE root = :root")
                        .bind("root", root)
                        .execute());
    }

    void log(UUID build, List<LogRow> lines) {
        int[] _ = database.query(handle -> {
            PreparedBatch batch = handle.prepareBatch("""
                    INSERT INTO template_build_logs (build, number, at, level, step, message)
                    SELECT :build, :number, :at, :level, :step, :message
                    WHERE EXISTS (SELECT 1 FROM template_builds WHERE id = :build)""");
            lines.forEach(line -> batch.bind("build", build)
                    .bind("number", line.number())
                    .bind("at", Timestamp.from(line.at()))
                    .bind("level", line.level())
                    .bind("step", line.step().orElse(null))
                    .bind("message", line.message())
                    .add());
            return batch.execute();
        });
    }

    /** From the one of this number on. */
    List<LogRow> logs(UUID build, int from, int limit, List<String> levels) {
        return database.query(handle -> handle.createQuery("""
                        SELECT * FROM template_build_logs WHERE build = :build AND level = ANY (:levels)
                        ORDER BY number OFFSET :from LIMIT :limit""")
                .bind("build", build)
                .bind("from", from)
                .bind("limit", limit)
                .bindArray("levels", String.class, levels)
                .map((row, _) -> line(row))
                .list());
    }

    /** Those from a time on, or those before it, the nearest first. */
    List<LogRow> logs(UUID build, Optional<Instant> cursor, boolean backward, int limit, List<String> levels) {
        return database.query(handle -> handle.createQuery("SELECT * FROM template_build_logs"
                        + " WHERE build = :build AND level = ANY (:levels)"
                        + (backward
                                ? " AND (:cursor::timestamptz IS NULL OR at < :cursor::timestamptz) ORDER BY number DESC"
                                : " AND (:cursor::timestamptz IS NULL OR at >= :cursor::timestamptz) ORDER BY number")
                        + " LIMIT :limit")
                .bind("build", build)
                .bind("cursor", cursor.map(Timestamp::from).orElse(null))
                .bind("limit", limit)
                .bindArray("levels", String.class, levels)
                .map((row, _) -> line(row))
                .list());
    }

    private static LogRow line(ResultSet row) throws SQLException {
        return new LogRow(
                row.getInt("number"),
                TemplateTable.instant(row, "at"),
                row.getString("level"),
                Optional.ofNullable(row.getString("step")),
                row.getString("message"));
    }

    static BuildRow build(ResultSet row) throws SQLException {
        return new BuildRow(
                row.getObject("id", UUID.class),
                row.getString("template"),
                Status.valueOf(row.getString("status").toUpperCase(Locale.ROOT)),
                TemplateTable.strings(row.getArray("tags")),
                number(row, "cpus"),
                number(row, "memory_mb"),
                Optional.ofNullable(row.getString("root")),
                row.getLong("size"),
                Optional.ofNullable(row.getString("reason")),
                Optional.ofNullable(row.getString("reason_step")),
                TemplateTable.instant(row, "created_at"),
                TemplateTable.instant(row, "updated_at"),
                Optional.ofNullable(row.getTimestamp("finished_at")).map(Timestamp::toInstant));
    }

    private static OptionalInt number(ResultSet row, String column) throws SQLException {
        int value = row.getInt(column);
        return row.wasNull() ? OptionalInt.empty() : OptionalInt.of(value);
    }
}
