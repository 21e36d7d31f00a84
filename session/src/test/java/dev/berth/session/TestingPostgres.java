package dev.berth.session;

import dev.berth.session.postgres.EmbeddedPostgres;
import dev.berth.session.postgres.PostgresConfig;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Comparator;
import org.jspecify.annotations.Nullable;

/** A PostgreSQL of a test's own, which can be stopped and started again on the same port. */
public final class TestingPostgres implements AutoCloseable {
    private final Path data;
    private PostgresConfig config;
    private @Nullable EmbeddedPostgres running;
    private String url = "";

    private TestingPostgres(Path data) {
        this.data = data;
        this.config = config(data);
    }

    public static TestingPostgres start() {
        TestingPostgres postgres = new TestingPostgres(newDirectory());
        try {
            postgres.startAgain();
            return postgres;
        } catch (RuntimeException | Error e) {
            postgres.close();
            throw e;
        }
    }

    /** Quick and forgetful, with the programs where the tests of all modules share them. */
    public static PostgresConfig config(Path data) {
        return PostgresConfig.of(data)
                .withBinaries(Path.of("/var/tmp/berth-test-postgres"))
                .withSetting("fsync", "off")
                .withSetting("full_page_writes", "off")
                .withSetting("synchronous_commit", "off");
    }

    /** A data directory as the server has it: others can pass it, but not look into it. */
    public static Path newDirectory() {
        try {
            Path directory = Files.createTempDirectory("berth-postgres-");
            Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx--x--x"));
            return directory;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** With user and password, for JDBC. It stays the same when this is started again. */
    public synchronized String url() {
        return url;
    }

    public String url(String database) {
        return url().replaceFirst("/berth\\?", "/" + database + "?");
    }

    public synchronized EmbeddedPostgres running() {
        if (running == null) {
            throw new IllegalStateException("it was stopped");
        }
        return running;
    }

    public synchronized void stop() {
        if (running != null) {
            running.close();
            running = null;
        }
    }

    public synchronized void startAgain() {
        if (running == null) {
            EmbeddedPostgres started = EmbeddedPostgres.start(config);
            running = started;
            url = started.jdbcUrl() + "&user=" + started.user() + "&password=" + started.password();
            int port = URI.create(started.jdbcUrl().substring("jdbc:".length())).getPort();
            config = config.withSetting("port", Integer.toString(port));
        }
    }

    @Override
    public void close() {
        stop();
        remove(data);
    }

    public static void remove(Path directory) {
        try (var paths = Files.walk(directory)) {
            for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(path);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
