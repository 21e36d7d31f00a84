package dev.berth.session.postgres;

import dev.berth.sandbox.SandboxException;
import java.nio.file.Path;
import java.util.Map;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * Where the embedded PostgreSQL lives and how it is set.
 *
 * @param directory holds the cluster, its password and its log
 * @param binaries where PostgreSQL's programs are unpacked; several clusters may share it
 * @param settings what goes before Berth's own settings, by the names of {@code postgresql.conf}; a {@code port} here is
 *     used instead of a free one
 */
public record PostgresConfig(Path directory, Path binaries, Map<String, String> settings) {
    private static final Pattern NAME = Pattern.compile("[a-z][a-z0-9_.]*");

    public PostgresConfig {
        directory = directory.toAbsolutePath().normalize();
        binaries = binaries.toAbsolutePath().normalize();
        settings = Map.copyOf(settings);
        if (!settings.getOrDefault("port", "1").matches("[1-9][0-9]{0,4}")) {
            throw SandboxException.invalid("no such port for PostgreSQL: " + settings.get("port"));
        }
        for (String name : settings.keySet()) {
            if (!NAME.matcher(name).matches()) {
                throw SandboxException.invalid("no such setting of PostgreSQL: " + name);
            }
        }
    }

    public static PostgresConfig of(Path dataDirectory) {
        Path directory = dataDirectory.resolve("postgres");
        return new PostgresConfig(directory, directory.resolve("programs"), Map.of());
    }

    public PostgresConfig withBinaries(Path elsewhere) {
        return new PostgresConfig(directory, elsewhere, settings);
    }

    public PostgresConfig withSetting(String name, String value) {
        Map<String, String> more = new TreeMap<>(settings);
        more.put(name, value);
        return new PostgresConfig(directory, binaries, more);
    }

    OptionalInt port() {
        String port = settings.get("port");
        return port == null ? OptionalInt.empty() : OptionalInt.of(Integer.parseInt(port));
    }

    /** Whether what is committed has to survive a loss of power, as it has unless a test says otherwise. */
    boolean durable() {
        return !"off".equals(settings.get("fsync"));
    }
}
