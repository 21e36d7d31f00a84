package dev.berth.gateway.secret;

import dev.berth.egress.policy.Binding;
import dev.berth.gateway.config.SealedColumn;
import dev.berth.gateway.config.Sealer;
import dev.berth.sandbox.Destination.Domain;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.SessionKey;
import dev.berth.session.store.Database;
import java.security.SecureRandom;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.InstantSource;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.StatementContext;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.json.JsonMapper;

/** The tables {@code secrets} and {@code server_secrets}. Nothing is remembered: what is removed is gone at once. */
public final class Secrets {
    /** What is sealed in them. */
    public static final List<SealedColumn> SEALED = List.of(
            new SealedColumn(
                    "secrets", List.of("tenant", "name"), "value_sealed", key -> place(key.get(0), key.get(1))),
            new SealedColumn("server_secrets", List.of("name"), "value_sealed", key -> ownPlace(key.getFirst())));

    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int MOST = 1000;
    private static final String PLACEHOLDERS = "placeholders";
    private static final String COLUMNS =
            "name, id, label, version, metadata::text AS metadata, env, prefix, bindings::text AS bindings, created_at,"
                    + " updated_at, last_used_at, uses";

    private final Database database;
    private final Sealer sealer;
    private final PlainHosts plain;
    private final Uses uses;
    private volatile @Nullable Placeholders placeholders;

    /** @param plain hosts to which the operator lets secrets go without TLS */
    public Secrets(Database database, Sealer sealer, List<Domain> plain, InstantSource clock) {
        this.database = database;
        this.sealer = sealer;
        this.plain = new PlainHosts(plain);
        this.uses = new Uses(database, clock);
    }

    // ---- for those who own them ----------------------------------------------------------------------------------

    /** Makes a secret, for which there has to be a value, or changes one. Fails with everything that is wrong. */
    public Secret.Put put(String tenant, String name, Secret.Change change) {
        return database.transaction(handle -> {
            Optional<Secret> before = find(handle, tenant, name, " FOR UPDATE");
            String value = Optional.ofNullable(change.value())
                    .or(() -> before.flatMap(_ -> reveal(handle, tenant, name)))
                    .orElseThrow(() -> SandboxException.notFound(
                            "there is no secret " + name + " yet; to make one give its value"));
            List<SecretBinding> bindings = Optional.ofNullable(change.bindings())
                    .orElseGet(() -> before.map(Secret::bindings).orElse(List.of()));
            String env = Optional.ofNullable(change.env())
                    .orElseGet(() -> before.map(Secret::env).orElse(name));
            SecretCheck check = new SecretCheck(plain);
            if (change.bindings() != null) {
                check.bindings(bindings);
            }
            check.value(value, bindings).env(env).done();
            Secret after = write(
                    handle,
                    tenant,
                    name,
                    sealer.seal(place(tenant, name), value),
                    env,
                    Optional.ofNullable(change.prefix())
                            .orElseGet(() -> before.map(Secret::prefix).orElse("")),
                    bindings.stream().map(SecretBinding::complete).toList(),
                    change.value() != null);
            return new Secret.Put(after, before.isEmpty());
        });
    }

    private Secret write(
            Handle handle,
            String tenant,
            String name,
            byte[] sealed,
            String env,
            String prefix,
            List<SecretBinding> bindings,
            boolean another) {
        boolean known = handle.createQuery("SELECT EXISTS (SELECT FROM tenants WHERE id = :tenant)")
                .bind("tenant", tenant)
                .mapTo(Boolean.class)
                .one();
        if (!known) {
            throw SandboxException.notFound("there is no tenant " + tenant);
        }
        return handle.createQuery("""
                        INSERT INTO secrets (tenant, name, value_sealed, env, prefix, bindings)
                        SELECT :tenant, :name, :sealed, :env, :prefix, :bindings::jsonb
                        WHERE (SELECT count(*) FROM secrets WHERE tenant = :tenant AND name <> :name) < :most
                        ON CONFLICT (tenant, name) DO UPDATE
                            SET value_sealed = :sealed, env = :env, prefix = :prefix, bindings = :bindings::jsonb,
                                version = secrets.version + :another, updated_at = now()
                        RETURNING %s""".formatted(COLUMNS))
                .bind("tenant", tenant)
                .bind("name", name)
                .bind("sealed", sealed)
                .bind("env", env)
                .bind("prefix", prefix)
                .bind("bindings", JSON.writeValueAsString(bindings))
                .bind("another", another ? 1 : 0)
                .bind("most", MOST)
                .map(Secrets::secret)
                .findOne()
                .orElseThrow(() -> SandboxException.limit(
                        "a tenant can have " + MOST + " secrets; remove one that is not needed"));
    }

    public List<Secret> list(String tenant) {
        uses.write();
        return database.query(
                handle -> handle.createQuery("SELECT " + COLUMNS + " FROM secrets WHERE tenant = :tenant ORDER BY name")
                        .bind("tenant", tenant)
                        .map(Secrets::secret)
                        .list());
    }

    public Secret get(String tenant, String name) {
        uses.write();
        return database.query(handle -> find(handle, tenant, name, "")).orElseThrow(() -> unknown(name));
    }

    /** From the next request on nothing gets it. */
    public void remove(String tenant, String name) {
        int removed = database.query(
                handle -> handle.createUpdate("DELETE FROM secrets WHERE tenant = :tenant AND name = :name")
                        .bind("tenant", tenant)
                        .bind("name", name)
                        .execute());
        if (removed == 0) {
            throw unknown(name);
        }
    }

    // ---- as E2B's clients know them ------------------------------------------------------------------------------

    /**
     * Makes a secret that is known by a label, and is bound to nothing: it goes where the maker of a sandbox says, who has
     * to be one who may set secrets.
     */
    public Secret make(String tenant, String label, String value, Map<String, String> metadata) {
        return database.transaction(handle -> {
            String name = Labels.name(label);
            if (labelled(handle, tenant, label).isPresent()
                    || find(handle, tenant, name, "").isPresent()) {
                throw SandboxException.conflict("there is a secret '" + label + "' already");
            }
            new SecretCheck(plain).value(value, List.of()).done();
            byte[] sealed = sealer.seal(place(tenant, name), value);
            Secret made = write(handle, tenant, name, sealed, Labels.env(name), "", List.of(), false);
            return note(handle, tenant, made, Optional.of(label), metadata);
        });
    }

    /** Gives one another value, and other notes if there are any. */
    public Secret change(String tenant, String idOrLabel, String value, Optional<Map<String, String>> metadata) {
        Secret before = known(tenant, idOrLabel).orElseThrow(() -> unknown(idOrLabel));
        Secret after = put(tenant, before.name(), Secret.Change.value(value)).secret();
        return metadata.map(notes -> database.query(handle -> note(handle, tenant, after, after.label(), notes)))
                .orElse(after);
    }

    /** One by its id, by its label, or by its name if it has no label. */
    public Optional<Secret> known(String tenant, String idOrLabel) {
        return database.query(handle -> labelled(handle, tenant, idOrLabel));
    }

    /** In the order of their ids, after one. */
    public List<Secret> page(String tenant, String after, int most) {
        return database.query(handle -> handle.createQuery("SELECT " + COLUMNS
                        + " FROM secrets WHERE tenant = :tenant AND id > :after ORDER BY id LIMIT :most")
                .bind("tenant", tenant)
                .bind("after", after)
                .bind("most", most)
                .map(Secrets::secret)
                .list());
    }

    private static Optional<Secret> labelled(Handle handle, String tenant, String idOrLabel) {
        return handle.createQuery("SELECT " + COLUMNS + """
                         FROM secrets
                        WHERE tenant = :tenant
                            AND (id = :it OR label = lower(:it) OR (label IS NULL AND name = :it))
                        ORDER BY id = :it DESC, label IS NULL LIMIT 1""")
                .bind("tenant", tenant)
                .bind("it", idOrLabel)
                .map(Secrets::secret)
                .findOne();
    }

    private static Secret note(
            Handle handle, String tenant, Secret secret, Optional<String> label, Map<String, String> metadata) {
        return handle.createQuery("UPDATE secrets SET label = :label, metadata = :metadata::jsonb"
                        + " WHERE tenant = :tenant AND name = :name RETURNING " + COLUMNS)
                .bind("tenant", tenant)
                .bind("name", secret.name())
                .bind("label", label)
                .bind("metadata", JSON.writeValueAsString(metadata))
                .map(Secrets::secret)
                .findOne()
                .orElseThrow(() -> unknown(label.orElse(secret.name())));
    }

    // ---- for sessions --------------------------------------------------------------------------------------------

    /** Fails if a session cannot have all of these, with every reason. */
    public void check(String tenant, Collection<String> names) {
        Map<String, Secret> there = named(tenant, names);
        List<String> problems = new ArrayList<>();
        Map<String, String> taken = new LinkedHashMap<>();
        for (String name : names.stream().distinct().toList()) {
            Secret secret = there.get(name);
            if (secret == null) {
                problems.add("there is no secret '" + name + "'; make it with 'berth secret set'");
                continue;
            }
            String other = taken.putIfAbsent(secret.env(), name);
            if (other != null) {
                problems.add("the secrets " + other + " and " + name + " are both for the variable " + secret.env()
                        + "; take one of them");
            }
        }
        if (!problems.isEmpty()) {
            throw SandboxException.invalid(String.join("; ", problems)).with("errors", problems);
        }
    }

    /** How these secrets are bound now, for this session. Those that are gone are bound to nothing. */
    public List<Binding> bindings(SessionKey session, Collection<String> names) {
        if (names.isEmpty()) {
            return List.of();
        }
        return named(session.tenant(), names).values().stream()
                .flatMap(secret -> secret.bindings().stream().map(binding -> bound(session, secret, binding)))
                .toList();
    }

    private Binding bound(SessionKey session, Secret secret, SecretBinding binding) {
        // Asked again, as the operator may think otherwise by now.
        boolean plainToo = binding.isPlain() && binding.domains().stream().allMatch(plain::covers);
        return binding.bound(secret.name(), placeholder(session, secret), plainToo);
    }

    /** Variables with the placeholders of these secrets. */
    public Map<String, String> env(SessionKey session, Collection<String> names) {
        if (names.isEmpty()) {
            return Map.of();
        }
        Map<String, String> env = new LinkedHashMap<>();
        named(session.tenant(), names)
                .values()
                .forEach(secret -> env.putIfAbsent(secret.env(), placeholder(session, secret)));
        return env;
    }

    /** The value, for one request; empty if it is not there any more. */
    public Optional<String> reveal(String tenant, String name) {
        return database.query(handle -> reveal(handle, tenant, name));
    }

    /** That it was put into a request. Written down some seconds later. */
    public void used(String tenant, String name) {
        uses.add(tenant, name);
    }

    /** To be called from time to time, and at the end: writes down what was used. */
    public void writeUses() {
        uses.write();
    }

    private String placeholder(SessionKey session, Secret secret) {
        Placeholders known = placeholders;
        if (known == null) {
            known = new Placeholders(ownSecret(PLACEHOLDERS));
            placeholders = known;
        }
        return known.of(session, secret.name(), secret.prefix());
    }

    /**
     * One of the servers' own, made by whoever needs it first. It is random and not derived from the key for sealing, so
     * that it stays when that one changes.
     */
    private byte[] ownSecret(String name) {
        byte[] random = new byte[32];
        new SecureRandom().nextBytes(random);
        byte[] sealed = database.query(handle -> {
            handle.createUpdate("""
                            INSERT INTO server_secrets (name, value_sealed) VALUES (:name, :sealed)
                            ON CONFLICT DO NOTHING""")
                    .bind("name", name)
                    .bind("sealed", sealer.seal(ownPlace(name), HexFormat.of().formatHex(random)))
                    .execute();
            return handle.createQuery("SELECT value_sealed FROM server_secrets WHERE name = :name")
                    .bind("name", name)
                    .mapTo(byte[].class)
                    .one();
        });
        return HexFormat.of().parseHex(sealer.open(ownPlace(name), sealed));
    }

    // ---- rows ----------------------------------------------------------------------------------------------------

    private Map<String, Secret> named(String tenant, Collection<String> names) {
        Map<String, Secret> there = database
                .query(handle -> handle.createQuery(
                                "SELECT " + COLUMNS + " FROM secrets WHERE tenant = :tenant AND name = ANY (:names)")
                        .bind("tenant", tenant)
                        .bindArray("names", String.class, names.toArray())
                        .map(Secrets::secret)
                        .list())
                .stream()
                .collect(Collectors.toMap(Secret::name, Function.identity()));
        Map<String, Secret> inOrder = new LinkedHashMap<>();
        names.forEach(name -> Optional.ofNullable(there.get(name)).ifPresent(secret -> inOrder.put(name, secret)));
        return inOrder;
    }

    private static Optional<Secret> find(Handle handle, String tenant, String name, String lock) {
        return handle.createQuery("SELECT " + COLUMNS + " FROM secrets WHERE tenant = :tenant AND name = :name" + lock)
                .bind("tenant", tenant)
                .bind("name", name)
                .map(Secrets::secret)
                .findOne();
    }

    private Optional<String> reveal(Handle handle, String tenant, String name) {
        return handle.createQuery("SELECT value_sealed FROM secrets WHERE tenant = :tenant AND name = :name")
                .bind("tenant", tenant)
                .bind("name", name)
                .mapTo(byte[].class)
                .findOne()
                .map(bytes -> sealer.open(place(tenant, name), bytes));
    }

    private static Secret secret(ResultSet row, StatementContext context) throws SQLException {
        return new Secret(
                Objects.requireNonNull(row.getString("name")),
                Objects.requireNonNull(row.getString("id")),
                Optional.ofNullable(row.getString("label")),
                row.getLong("version"),
                JSON.readValue(row.getString("metadata"), new TypeReference<Map<String, String>>() {}),
                Objects.requireNonNull(row.getString("env")),
                Objects.requireNonNull(row.getString("prefix")),
                JSON.readValue(row.getString("bindings"), new TypeReference<List<SecretBinding>>() {}),
                time(row, "created_at").orElseThrow(),
                time(row, "updated_at").orElseThrow(),
                time(row, "last_used_at"),
                row.getLong("uses"));
    }

    private static Optional<Instant> time(ResultSet row, String column) throws SQLException {
        return Optional.ofNullable(row.getObject(column, OffsetDateTime.class)).map(OffsetDateTime::toInstant);
    }

    private static SandboxException unknown(String name) {
        return SandboxException.notFound("there is no secret " + name);
    }

    /** Tenants have no slash in their names. */
    private static String place(String tenant, String name) {
        return "secrets/" + tenant + "/" + name;
    }

    private static String ownPlace(String name) {
        return "server_secrets/" + name;
    }
}
