package dev.berth.gateway.config;

import dev.berth.sandbox.SandboxException;
import dev.berth.session.SessionKey;
import dev.berth.session.store.Database;
import java.security.SecureRandom;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.OffsetDateTime;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.jdbi.v3.core.statement.StatementContext;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** The tables {@code sandbox_configs} and {@code config_sessions}. */
public final class SandboxConfigs {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final String ENV = "envVars";
    private static final SecureRandom RANDOM = new SecureRandom();
    private static final String COLUMNS =
            "id, tenant, name, description, config::text AS config, env_sealed, created_at, updated_at";

    /** What is sealed in it. */
    public static final SealedColumn SEALED =
            new SealedColumn("sandbox_configs", List.of("id"), "env_sealed", List::getFirst);

    /**
     * A configuration as it is stored.
     *
     * @param json what its owner wrote, with the variables: not for showing
     */
    public record Stored(
            String id,
            String tenant,
            String name,
            Optional<String> description,
            ObjectNode json,
            SandboxConfig config,
            Instant createdAt,
            Instant updatedAt) {}

    /** What calls use is remembered for so long; a change through another server takes that much longer. */
    private static final Duration REMEMBERED = Duration.ofSeconds(5);

    /** That a session was made by a configuration is written again after so long, if it is still so. */
    private static final Duration NOTED = Duration.ofMinutes(1);

    private static final int MOST_REMEMBERED = 10_000;

    private record Name(String tenant, String idOrName) {}

    private record Remembered(Stored config, Instant until) {}

    private record Use(String config, SessionKey session) {}

    private final Database database;
    private final Sealer sealer;
    private final InstantSource clock;
    private final ConcurrentHashMap<Name, Remembered> remembered = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<Use, Instant> noted = new ConcurrentHashMap<>();

    /** Counts what was forgotten, so that nobody remembers what they read before. Guarded by this. */
    private long forgotten;

    public SandboxConfigs(Database database, Sealer sealer, InstantSource clock) {
        this.database = database;
        this.sealer = sealer;
        this.clock = clock;
    }

    public Stored make(String tenant, String name, @Nullable String description, ObjectNode config) {
        byte[] random = new byte[10];
        RANDOM.nextBytes(random);
        String id = "sb_" + HexFormat.of().formatHex(random);
        return database.query(handle -> handle.createQuery("""
                        INSERT INTO sandbox_configs (id, tenant, name, description, config, env_sealed)
                        SELECT :id, :tenant, :name, :description, :config::jsonb, :env
                        WHERE EXISTS (SELECT FROM tenants WHERE id = :tenant)
                        ON CONFLICT (tenant, name) DO NOTHING RETURNING %s""".formatted(COLUMNS))
                .bind("id", id)
                .bind("tenant", tenant)
                .bind("name", name)
                .bind("description", description)
                .bind("config", JSON.writeValueAsString(without(config)))
                .bind("env", sealed(id, config))
                .map(this::row)
                .findOne()
                .orElseThrow(
                        () -> SandboxException.conflict("there is a sandbox configuration '" + name + "' already")));
    }

    public List<Stored> list(String tenant) {
        return database.query(handle -> handle.createQuery(
                        "SELECT " + COLUMNS + " FROM sandbox_configs WHERE tenant = :tenant ORDER BY created_at, id")
                .bind("tenant", tenant)
                .map(this::row)
                .list());
    }

    /** By id or by name, for a call: perhaps as it was some seconds ago, so that a live session's call needs no SQL. */
    public Stored inUse(String tenant, String idOrName) {
        Name name = new Name(tenant, idOrName);
        Instant now = clock.instant();
        Remembered known = remembered.get(name);
        if (known != null && known.until().isAfter(now)) {
            return known.config();
        }
        long before = forgotten();
        Stored config = get(tenant, idOrName);
        remember(name, new Remembered(config, now.plus(REMEMBERED)), before);
        return config;
    }

    private synchronized long forgotten() {
        return forgotten;
    }

    private synchronized void remember(Name name, Remembered config, long before) {
        if (forgotten != before) {
            return;
        }
        if (remembered.size() >= MOST_REMEMBERED) {
            remembered.clear();
        }
        remembered.put(name, config);
    }

    private synchronized void forget(Stored config) {
        forgotten++;
        remembered.values().removeIf(known -> known.config().id().equals(config.id()));
        noted.keySet().removeIf(use -> use.config().equals(config.id()));
    }

    /** By id or by name, as it is now. */
    public Stored get(String tenant, String idOrName) {
        return database.query(handle -> handle.createQuery("SELECT " + COLUMNS
                                + " FROM sandbox_configs WHERE tenant = :tenant AND (id = :which OR name = :which)")
                        .bind("tenant", tenant)
                        .bind("which", idOrName)
                        .map(this::row)
                        .findFirst())
                .orElseThrow(SandboxConfigs::unknown);
    }

    public Stored change(Stored before, String name, @Nullable String description, ObjectNode config) {
        Stored after = database.query(handle -> handle.createQuery("""
                        UPDATE sandbox_configs SET name = :name, description = :description, config = :config::jsonb,
                            env_sealed = :env, updated_at = now()
                        WHERE id = :id AND tenant = :tenant AND updated_at = :before RETURNING %s""".formatted(COLUMNS))
                .bind("id", before.id())
                .bind("tenant", before.tenant())
                .bind("before", OffsetDateTime.ofInstant(before.updatedAt(), java.time.ZoneOffset.UTC))
                .bind("name", name)
                .bind("description", description)
                .bind("config", JSON.writeValueAsString(without(config)))
                .bind("env", sealed(before.id(), config))
                .map(this::row)
                .findOne()
                .orElseThrow(() -> SandboxException.conflict(
                        "the configuration was changed by somebody else meanwhile; try again")));
        forget(before);
        return after;
    }

    public void delete(Stored config) {
        database.query(handle -> handle.createUpdate("DELETE FROM sandbox_configs WHERE id = :id AND tenant = :tenant")
                .bind("id", config.id())
                .bind("tenant", config.tenant())
                .execute());
        forget(config);
    }

    /** Remembers that a session was made by a configuration. */
    public void used(Stored config, SessionKey session) {
        Use use = new Use(config.id(), session);
        Instant now = clock.instant();
        Instant last = noted.get(use);
        if (last != null && last.plus(NOTED).isAfter(now)) {
            return;
        }
        boolean there = database.query(handle -> handle.createQuery("""
                        WITH config AS (SELECT id FROM sandbox_configs WHERE id = :config FOR KEY SHARE),
                            noted AS (INSERT INTO config_sessions (config, tenant, session)
                                SELECT id, :tenant, :session FROM config ON CONFLICT DO NOTHING)
                        SELECT EXISTS (SELECT FROM config)""")
                .bind("config", config.id())
                .bind("tenant", session.tenant())
                .bind("session", session.id())
                .mapTo(Boolean.class)
                .one());
        if (!there) {
            // Removed through another server, since it was remembered here.
            forget(config);
            throw unknown();
        }
        if (noted.size() >= MOST_REMEMBERED) {
            noted.clear();
        }
        noted.put(use, now);
    }

    public List<SessionKey> sessions(Stored config) {
        return database.query(
                handle -> handle.createQuery("SELECT tenant, session FROM config_sessions WHERE config = :config")
                        .bind("config", config.id())
                        .map((row, context) -> new SessionKey(row.getString("tenant"), row.getString("session")))
                        .list());
    }

    private static SandboxException unknown() {
        return SandboxException.notFound("there is no such sandbox configuration");
    }

    private static ObjectNode without(ObjectNode config) {
        ObjectNode copy = config.deepCopy();
        copy.remove(ENV);
        return copy;
    }

    private byte @Nullable [] sealed(String id, ObjectNode config) {
        return config.has(ENV) ? sealer.seal(id, config.path(ENV).toString()) : null;
    }

    private Stored row(ResultSet row, StatementContext context) throws SQLException {
        String id = row.getString("id");
        ObjectNode json = (ObjectNode) JSON.readTree(row.getString("config"));
        ObjectNode whole = json.deepCopy();
        byte[] env = row.getBytes("env_sealed");
        if (env != null) {
            whole.set(ENV, JSON.readTree(sealer.open(id, env)));
        }
        return new Stored(
                id,
                row.getString("tenant"),
                row.getString("name"),
                Optional.ofNullable(row.getString("description")),
                whole,
                JSON.treeToValue(whole, SandboxConfig.class),
                row.getObject("created_at", OffsetDateTime.class).toInstant(),
                row.getObject("updated_at", OffsetDateTime.class).toInstant());
    }
}
