package dev.berth.gateway.e2b.template;

import dev.berth.gateway.e2b.template.TemplateRow.TagRow;
import dev.berth.session.store.Database;
import java.sql.Array;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.jdbi.v3.core.Handle;
import org.jspecify.annotations.Nullable;

/** The tables {@code templates}, {@code template_aliases} and {@code template_tags}. */
final class TemplateTable {
    /** What sessions were made of it follows from what the provider knows its builds by. */
    private static final String TEMPLATES = """
            SELECT b.*, t.tenant, t.public, t.id AS template_id,
                t.created_at AS template_created_at, t.updated_at AS template_updated_at,
                ARRAY(SELECT alias FROM template_aliases a WHERE a.template = t.id ORDER BY alias) AS aliases,
                (SELECT count(*) FROM template_builds n WHERE n.template = t.id) AS builds,
                s.spawned, s.last_spawned_at
            FROM templates t
            LEFT JOIN LATERAL (
                SELECT * FROM template_builds WHERE template = t.id ORDER BY created_at DESC, id LIMIT 1) b ON true
            LEFT JOIN LATERAL (
                SELECT count(*) AS spawned, max(created_at) AS last_spawned_at FROM sessions
                WHERE sessions.template LIKE 't-' || t.id || ':%') s ON true
            WHERE t.deleted_at IS NULL""";

    private final Database database;

    TemplateTable(Database database) {
        this.database = database;
    }

    List<TemplateRow> list(String tenant) {
        return database.query(
                handle -> handle.createQuery(TEMPLATES + " AND t.tenant = :tenant ORDER BY t.created_at DESC, t.id")
                        .bind("tenant", tenant)
                        .map((row, _) -> template(row))
                        .list());
    }

    /** One of the tenant's own, by its id or alias. */
    Optional<TemplateRow> own(String tenant, String name) {
        return database.query(handle -> handle.createQuery(TEMPLATES + """
                         AND t.tenant = :tenant AND (t.id = :name
                            OR EXISTS (SELECT 1 FROM template_aliases a
                                WHERE a.tenant = :tenant AND a.alias = :name AND a.template = t.id))
                        ORDER BY (t.id = :name) LIMIT 1""")
                .bind("tenant", tenant)
                .bind("name", name)
                .map((row, _) -> template(row))
                .findOne());
    }

    /** One that is for everybody, by its id, or by its alias among those of who has it. */
    Optional<TemplateRow> open(Optional<String> namespace, String name) {
        return database.query(handle -> handle.createQuery(TEMPLATES + """
                         AND t.public AND (t.id = :name OR EXISTS (SELECT 1 FROM template_aliases a
                            WHERE a.tenant = :namespace AND a.alias = :name AND a.template = t.id))
                        LIMIT 1""")
                .bind("namespace", namespace.orElse(""))
                .bind("name", name)
                .map((row, _) -> template(row))
                .findOne());
    }

    /** Makes a template under a name, or finds the one that has it. */
    String claim(Handle handle, String tenant, String alias, String freshId) {
        // Two at a time: one of them makes it, and the other waits here and finds it.
        handle.createQuery(
                        "SELECT pg_advisory_xact_lock(hashtextextended('template:' || :tenant || '/' || :alias, 0))::text")
                .bind("tenant", tenant)
                .bind("alias", alias)
                .mapTo(String.class)
                .findOne();
        Optional<String> known = handle.createQuery("""
                        SELECT t.id FROM templates t LEFT JOIN template_aliases a ON a.template = t.id
                        WHERE t.tenant = :tenant AND t.deleted_at IS NULL
                            AND (t.id = :alias OR (a.tenant = :tenant AND a.alias = :alias)) LIMIT 1""")
                .bind("tenant", tenant)
                .bind("alias", alias)
                .mapTo(String.class)
                .findOne();
        if (known.isPresent()) {
            return known.get();
        }
        handle.createUpdate("INSERT INTO templates (id, tenant) VALUES (:id, :tenant)")
                .bind("id", freshId)
                .bind("tenant", tenant)
                .execute();
        handle.createUpdate("INSERT INTO template_aliases (tenant, alias, template) VALUES (:tenant, :alias, :id)")
                .bind("tenant", tenant)
                .bind("alias", alias)
                .bind("id", freshId)
                .execute();
        return freshId;
    }

    void publish(String id, boolean open) {
        int _ = database.query(
                handle -> handle.createUpdate("UPDATE templates SET public = :open, updated_at = now() WHERE id = :id")
                        .bind("open", open)
                        .bind("id", id)
                        .execute());
    }

    /** Takes its names away; its row stays until its files are gone. */
    void delete(String id) {
        database.transaction(handle -> {
            handle.createUpdate("DELETE FROM template_aliases WHERE template = :id")
                    .bind("id", id)
                    .execute();
            return handle.createUpdate("UPDATE templates SET deleted_at = now() WHERE id = :id")
                    .bind("id", id)
                    .execute();
        });
    }

    /** Those that are deleted, and that no session needs: one that is put away is made again of its template's files. */
    List<String> doomed() {
        return database.query(
                handle -> handle.createQuery("""
                        SELECT id FROM templates t WHERE deleted_at IS NOT NULL
                            AND NOT EXISTS (SELECT 1 FROM template_builds b WHERE b.template = t.id AND b.status = 'building')
                            AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.state <> 'destroyed'
                                AND (s.template LIKE 't-' || t.id || ':%' OR s.archive_template LIKE 't-' || t.id || ':%'))""").mapTo(String.class).list());
    }

    void forget(String id) {
        int _ = database.query(handle -> handle.createUpdate("DELETE FROM templates WHERE id = :id")
                .bind("id", id)
                .execute());
    }

    List<TagRow> tags(String template) {
        return database.query(handle -> handle.createQuery(
                        "SELECT tag, build, created_at FROM template_tags WHERE template = :template"
                                + " ORDER BY created_at DESC, tag")
                .bind("template", template)
                .map((row, _) -> new TagRow(
                        row.getString("tag"), row.getObject("build", UUID.class), instant(row, "created_at")))
                .list());
    }

    void tag(Handle handle, String template, List<String> tags, UUID build) {
        for (String tag : tags) {
            handle.createUpdate("""
                            INSERT INTO template_tags (template, tag, build) VALUES (:template, :tag, :build)
                            ON CONFLICT (template, tag) DO UPDATE SET build = :build, created_at = now()""")
                    .bind("template", template)
                    .bind("tag", tag)
                    .bind("build", build)
                    .execute();
        }
    }

    int untag(String template, List<String> tags) {
        return database.query(handle -> handle.createUpdate(
                        "DELETE FROM template_tags WHERE template = :template AND tag = ANY (:tags)")
                .bind("template", template)
                .bindArray("tags", String.class, tags)
                .execute());
    }

    private static TemplateRow template(ResultSet row) throws SQLException {
        return new TemplateRow(
                row.getString("template_id"),
                row.getString("tenant"),
                row.getBoolean("public"),
                strings(row.getArray("aliases")),
                instant(row, "template_created_at"),
                instant(row, "template_updated_at"),
                row.getInt("builds"),
                row.getObject("status") == null ? Optional.empty() : Optional.of(BuildTable.build(row)),
                row.getLong("spawned"),
                Optional.ofNullable(row.getTimestamp("last_spawned_at")).map(Timestamp::toInstant));
    }

    static Instant instant(ResultSet row, String column) throws SQLException {
        return row.getTimestamp(column).toInstant();
    }

    static List<String> strings(@Nullable Array array) throws SQLException {
        return array == null ? List.of() : Arrays.asList((String[]) array.getArray());
    }
}
