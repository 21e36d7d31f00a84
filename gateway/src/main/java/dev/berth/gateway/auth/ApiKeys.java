package dev.berth.gateway.auth;

import dev.berth.sandbox.SandboxException;
import dev.berth.session.store.Database;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.StatementContext;

/**
 * The keys of tenants. A key is 192 random bits, or what an operator chose; the database has its SHA-256, which is enough for something that cannot
 * be guessed. What was looked up is remembered for some seconds, so that a live session's request needs no SQL; a key
 * that is revoked through another server works that much longer.
 */
public final class ApiKeys implements Authenticator {
    /** In every key, so that scanners for leaked secrets know what they found. */
    public static final String PREFIX = "berth_";

    /** What a key that is made looks like. */
    public enum Form {
        /** As Berth's own clients have it. */
        BERTH(PREFIX, 24),
        /** As some of E2B's clients insist on it: {@code e2b_} and 40 digits. */
        E2B("e2b_", 20);

        private final String prefix;
        private final int bytes;

        Form(String prefix, int bytes) {
            this.prefix = prefix;
            this.bytes = bytes;
        }

        public static Form parse(String name) {
            return switch (name) {
                case "berth" -> BERTH;
                case "e2b" -> E2B;
                default -> throw SandboxException.invalid("a key has the form 'berth' or 'e2b'");
            };
        }
    }

    /** What a key that somebody chose has to have at least, so that nobody guesses it. */
    private static final int SHORTEST = 24;

    private static final int LONGEST = 512;

    private static final Duration REMEMBERED = Duration.ofSeconds(10);
    private static final int MOST_REMEMBERED = 10_000;
    private static final SecureRandom RANDOM = new SecureRandom();

    /** A key as it can be shown. */
    public record KeyInfo(
            String id,
            String tenant,
            String name,
            Set<Scope> scopes,
            Instant createdAt,
            Optional<Instant> expiresAt,
            Optional<Instant> revokedAt,
            Optional<Instant> lastUsedAt) {

        public boolean works(Instant now) {
            return revokedAt.isEmpty()
                    && expiresAt.filter(end -> end.isBefore(now)).isEmpty();
        }
    }

    /** A key that was just made: the only moment at which its secret is known. */
    public record Made(KeyInfo info, String key) {}

    private record Remembered(Optional<KeyInfo> info, Instant until) {}

    private final Database database;
    private final ConcurrentHashMap<String, Remembered> remembered = new ConcurrentHashMap<>();

    public ApiKeys(Database database) {
        this.database = database;
    }

    @Override
    public Optional<Caller> caller(String credential) {
        if (!isKey(credential)) {
            return Optional.empty();
        }
        String hash = HexFormat.of().formatHex(hash(credential));
        Instant now = Instant.now();
        Remembered known = remembered.get(hash);
        if (known == null || known.until().isBefore(now)) {
            known = new Remembered(lookUp(hash), now.plus(REMEMBERED));
            if (remembered.size() > MOST_REMEMBERED) {
                remembered.clear();
            }
            remembered.put(hash, known);
        }
        return known.info()
                .filter(info -> info.works(now))
                .map(info -> new Caller("key:" + info.id(), info.tenant(), false, info.scopes()));
    }

    private Optional<KeyInfo> lookUp(String hash) {
        return database.query(handle -> handle.createQuery(
                        "UPDATE api_keys SET last_used_at = now() WHERE hash = :hash RETURNING " + COLUMNS)
                .bind("hash", hash)
                .map(ApiKeys::row)
                .findOne());
    }

    public Made make(String tenant, String name, Set<Scope> scopes, Optional<Instant> expiresAt) {
        return make(tenant, name, scopes, expiresAt, Form.BERTH);
    }

    public Made make(String tenant, String name, Set<Scope> scopes, Optional<Instant> expiresAt, Form form) {
        String key = random(form);
        return new Made(put(tenant, name, key, scopes, expiresAt), key);
    }

    /** Makes a key with a secret that somebody chose. */
    public KeyInfo put(String tenant, String name, String key, Set<Scope> scopes, Optional<Instant> expiresAt) {
        check(key);
        byte[] id = new byte[8];
        RANDOM.nextBytes(id);
        return database.query(handle -> insert(
                handle, tenant, name, key, scopes, expiresAt, HexFormat.of().formatHex(id)));
    }

    /** Removes a key, as if it had never been: for one whose secret was exchanged for another. */
    public void forget(String key) {
        database.query(handle -> handle.createUpdate("DELETE FROM api_keys WHERE hash = :hash")
                .bind("hash", HexFormat.of().formatHex(hash(key)))
                .execute());
        remembered.clear();
    }

    /** A key that nobody had before. */
    public static String random() {
        return random(Form.BERTH);
    }

    /** The same, in one of the forms. */
    public static String random(Form form) {
        byte[] random = new byte[form.bytes];
        RANDOM.nextBytes(random);
        return form.prefix + HexFormat.of().formatHex(random);
    }

    /** Refuses a secret that cannot be a key, without repeating it. */
    public static void check(String key) {
        if (!isKey(key)) {
            throw SandboxException.invalid("a key has " + SHORTEST + " to " + LONGEST
                    + " letters, digits and signs, without spaces; one that begins with '" + PREFIX + "' may have 22");
        }
    }

    private static boolean isKey(String text) {
        int least = text.startsWith(PREFIX) ? PREFIX.length() + 16 : SHORTEST;
        return text.length() >= least
                && text.length() <= LONGEST
                && text.chars().allMatch(c -> c > ' ' && c < 127);
    }

    private static KeyInfo insert(
            Handle handle,
            String tenant,
            String name,
            String key,
            Set<Scope> scopes,
            Optional<Instant> expiresAt,
            String id) {
        return handle.createQuery("""
                        INSERT INTO api_keys (id, tenant, name, hash, scopes, expires_at)
                        SELECT :id, :tenant, :name, :hash, :scopes, :expires
                        WHERE EXISTS (SELECT FROM tenants WHERE id = :tenant)
                        ON CONFLICT (hash) DO UPDATE SET name = :name RETURNING %s""".formatted(COLUMNS))
                .bind("id", id)
                .bind("tenant", tenant)
                .bind("name", name)
                .bind("hash", HexFormat.of().formatHex(hash(key)))
                .bind("scopes", scopes.stream().map(Scope::toString).sorted().collect(Collectors.joining(" ")))
                .bind(
                        "expires",
                        expiresAt
                                .map(at -> OffsetDateTime.ofInstant(at, ZoneOffset.UTC))
                                .orElse(null))
                .map(ApiKeys::row)
                .findOne()
                .orElseThrow(() -> SandboxException.notFound("there is no tenant " + tenant));
    }

    public List<KeyInfo> list(String tenant) {
        return database.query(handle -> handle.createQuery(
                        "SELECT " + COLUMNS + " FROM api_keys WHERE tenant = :tenant ORDER BY created_at, id")
                .bind("tenant", tenant)
                .map(ApiKeys::row)
                .list());
    }

    /** Ends a key of a tenant. */
    public void revoke(String tenant, String id) {
        int changed = database.query(handle ->
                handle.createUpdate("""
                        UPDATE api_keys SET revoked_at = coalesce(revoked_at, now())
                        WHERE id = :id AND tenant = :tenant""").bind("id", id).bind("tenant", tenant).execute());
        remembered.clear();
        if (changed == 0) {
            throw unknown(id);
        }
    }

    /** Makes another key like one, and lets the old one live a while longer, for those who have it. */
    public Made rotate(String tenant, String id, Duration overlap, Form form) {
        KeyInfo old = list(tenant).stream()
                .filter(info -> info.id().equals(id) && info.revokedAt().isEmpty())
                .findFirst()
                .orElseThrow(() -> unknown(id));
        Made made = make(tenant, old.name(), old.scopes(), old.expiresAt(), form);
        database.query(handle -> handle.createUpdate("""
                        UPDATE api_keys SET expires_at = least(expires_at, now() + :ms * interval '1 millisecond')
                        WHERE id = :id""")
                .bind("ms", overlap.toMillis())
                .bind("id", id)
                .execute());
        remembered.clear();
        return made;
    }

    private static SandboxException unknown(String id) {
        return SandboxException.notFound("there is no key " + id);
    }

    static byte[] hash(String key) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(key.getBytes(StandardCharsets.UTF_8));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }

    private static final String COLUMNS = "id, tenant, name, scopes, created_at, expires_at, revoked_at, last_used_at";

    private static KeyInfo row(ResultSet row, StatementContext context) throws SQLException {
        return new KeyInfo(
                row.getString("id"),
                row.getString("tenant"),
                row.getString("name"),
                Arrays.stream(row.getString("scopes").split(" "))
                        .filter(scope -> !scope.isEmpty())
                        .map(Scope::parse)
                        .collect(Collectors.toSet()),
                row.getObject("created_at", OffsetDateTime.class).toInstant(),
                time(row, "expires_at"),
                time(row, "revoked_at"),
                time(row, "last_used_at"));
    }

    private static Optional<Instant> time(ResultSet row, String column) throws SQLException {
        return Optional.ofNullable(row.getObject(column, OffsetDateTime.class)).map(OffsetDateTime::toInstant);
    }
}
