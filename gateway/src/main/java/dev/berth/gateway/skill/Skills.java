package dev.berth.gateway.skill;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxFiles;
import dev.berth.session.store.Database;
import dev.berth.tool.Workspace;
import java.io.ByteArrayInputStream;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.PreparedBatch;

/** The tables {@code skills} and {@code skill_files}, and putting a skill into a workspace. */
public final class Skills {
    /** Where agents of several makers look for skills. */
    private static final List<String> PLACES = List.of(".claude/skills", ".agents/skills");

    private static final int PLAIN = 0644;
    private static final int EXECUTABLE = 0755;

    /** A skill without its files. */
    public record Summary(String name, String description, int files, long bytes) {}

    private final Database database;

    public Skills(Database database) {
        this.database = database;
    }

    /** Keeps a skill, in place of one of the same name. */
    public Summary put(String tenant, Skill skill) {
        return database.transaction(handle -> {
            handle.createUpdate("""
                            INSERT INTO skills (tenant, name, description) VALUES (:tenant, :name, :description)
                            ON CONFLICT (tenant, name) DO UPDATE SET description = :description, updated_at = now()""")
                    .bind("tenant", tenant)
                    .bind("name", skill.name())
                    .bind("description", skill.description())
                    .execute();
            handle.createUpdate("DELETE FROM skill_files WHERE tenant = :tenant AND skill = :name")
                    .bind("tenant", tenant)
                    .bind("name", skill.name())
                    .execute();
            PreparedBatch files = handle.prepareBatch(
                    "INSERT INTO skill_files (tenant, skill, path, content) VALUES (:tenant, :name, :path, :content)");
            skill.files()
                    .forEach((path, content) -> files.bind("tenant", tenant)
                            .bind("name", skill.name())
                            .bind("path", path)
                            .bind("content", content)
                            .add());
            files.execute();
            return summary(handle, tenant, skill.name()).orElseThrow();
        });
    }

    public List<Summary> list(String tenant) {
        return database.query(handle -> handle.createQuery(
                        SUMMARIES + " WHERE skills.tenant = :tenant GROUP BY 1, 2 ORDER BY 1")
                .bind("tenant", tenant)
                .map((row, context) -> new Summary(
                        row.getString("name"), row.getString("description"), row.getInt("files"), row.getLong("bytes")))
                .list());
    }

    private static final String SUMMARIES = """
            SELECT skills.name, skills.description, count(path) AS files, coalesce(sum(length(content)), 0) AS bytes
            FROM skills LEFT JOIN skill_files ON skill_files.tenant = skills.tenant AND skill = skills.name""";

    private static Optional<Summary> summary(Handle handle, String tenant, String name) {
        return handle.createQuery(SUMMARIES + " WHERE skills.tenant = :tenant AND skills.name = :name GROUP BY 1, 2")
                .bind("tenant", tenant)
                .bind("name", name)
                .map((row, context) -> new Summary(
                        row.getString("name"), row.getString("description"), row.getInt("files"), row.getLong("bytes")))
                .findOne();
    }

    public Skill get(String tenant, String name) {
        return database.query(handle -> {
            Summary summary = summary(handle, tenant, name).orElseThrow(() -> unknown(name));
            Map<String, byte[]> files = new TreeMap<>();
            handle.createQuery("SELECT path, content FROM skill_files WHERE tenant = :tenant AND skill = :name")
                    .bind("tenant", tenant)
                    .bind("name", name)
                    .map((row, context) -> Map.entry(row.getString("path"), row.getBytes("content")))
                    .forEach(file -> files.put(file.getKey(), file.getValue()));
            return new Skill(summary.name(), summary.description(), files);
        });
    }

    public void delete(String tenant, String name) {
        int removed = database.query(
                handle -> handle.createUpdate("DELETE FROM skills WHERE tenant = :tenant AND name = :name")
                        .bind("tenant", tenant)
                        .bind("name", name)
                        .execute());
        if (removed == 0) {
            throw unknown(name);
        }
    }

    private static SandboxException unknown(String name) {
        return SandboxException.notFound("there is no skill '" + name + "'");
    }

    /** Puts it where agents look, fresh: what is left there of an older one goes. Tells where, and what it is for. */
    public static String stage(Skill skill, Workspace workspace) {
        SandboxFiles files = workspace.files();
        for (String place : PLACES) {
            String directory = place + "/" + skill.name();
            if (files.exists(directory)) {
                files.remove(directory);
            }
            skill.files()
                    .forEach((path, content) -> files.write(
                            directory + "/" + path,
                            new ByteArrayInputStream(content),
                            Skill.isProgram(path) ? EXECUTABLE : PLAIN));
        }
        return "Skill " + skill.name() + " is in " + PLACES.getFirst() + "/" + skill.name() + " ("
                + skill.files().size() + " files)\n\n" + skill.page();
    }
}
