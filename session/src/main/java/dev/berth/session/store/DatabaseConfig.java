package dev.berth.session.store;

import dev.berth.sandbox.SandboxException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/**
 * Which database, and how many connections to it.
 *
 * @param jdbcUrl without credentials
 * @param transitions how many sessions may change their state at a time; each takes a connection meanwhile
 * @param queries connections for everything else
 */
public record DatabaseConfig(
        String jdbcUrl, Optional<String> user, Optional<String> password, int transitions, int queries) {

    private static final int TRANSITIONS = 16;
    private static final int QUERIES = 8;

    public static DatabaseConfig of(String jdbcUrl, String user, String password) {
        return new DatabaseConfig(jdbcUrl, Optional.of(user), Optional.of(password), TRANSITIONS, QUERIES);
    }

    /** Reads a {@code DATABASE_URL}, such as {@code postgres://user:password@host:5432/berth?sslmode=require}. */
    public static DatabaseConfig parse(String url) {
        String plain = url.startsWith("jdbc:") ? url.substring("jdbc:".length()) : url;
        try {
            URI uri = new URI(plain);
            String scheme = Optional.ofNullable(uri.getScheme()).orElse("");
            if (uri.getHost() == null || (!scheme.equals("postgres") && !scheme.equals("postgresql"))) {
                throw bad();
            }
            String query = uri.getRawQuery() == null ? "" : "?" + uri.getRawQuery();
            String port = uri.getPort() < 0 ? "" : ":" + uri.getPort();
            String path = uri.getRawPath() == null || uri.getRawPath().isEmpty() ? "/" : uri.getRawPath();
            String[] credentials = uri.getRawUserInfo() == null
                    ? new String[0]
                    : uri.getRawUserInfo().split(":", 2);
            return new DatabaseConfig(
                    "jdbc:postgresql://" + uri.getHost() + port + path + query,
                    credentials.length > 0 ? Optional.of(decode(credentials[0])) : Optional.empty(),
                    credentials.length > 1 ? Optional.of(decode(credentials[1])) : Optional.empty(),
                    TRANSITIONS,
                    QUERIES);
        } catch (URISyntaxException e) {
            throw bad(); // without the cause, whose message has the password in it
        }
    }

    private static SandboxException bad() {
        return SandboxException.invalid("DATABASE_URL has to be like postgres://user:password@host:5432/database;"
                + " write special characters of the password as %XX");
    }

    private static String decode(String text) {
        return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
    }

    public DatabaseConfig withConnections(int forTransitions, int forQueries) {
        return new DatabaseConfig(jdbcUrl, user, password, forTransitions, forQueries);
    }

    /** Without the password. */
    @Override
    public String toString() {
        return jdbcUrl.replaceAll("\\?.*", "");
    }
}
