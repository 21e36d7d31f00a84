package dev.berth.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.berth.archive.s3.S3Archives;
import dev.berth.archive.s3.S3Config;
import dev.berth.cli.config.ServerSettings;
import dev.berth.cli.config.Settings;
import dev.berth.gateway.Gateway;
import dev.berth.gateway.auth.ApiKeys;
import dev.berth.gateway.http.ServerConfig;
import dev.berth.sandbox.Capability;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.LocalProvider;
import dev.berth.sandbox.local.linux.ProcessLock;
import dev.berth.session.Archives;
import dev.berth.session.DirectoryArchives;
import dev.berth.session.SessionKey;
import dev.berth.session.Sessions;
import dev.berth.session.TenantLimits;
import dev.berth.session.postgres.EmbeddedPostgres;
import dev.berth.session.postgres.PostgresConfig;
import dev.berth.session.store.Database;
import dev.berth.session.store.DatabaseConfig;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Optional;

/**
 * The whole server. It is put together from the ground up: the data directory, the database, the sandboxes, the sessions,
 * the API; and taken apart the other way round. Sandboxes are not stopped with it: the next server finds them as they are.
 */
final class Server {
    private final StopOrder parts;
    private final Gateway gateway;
    private final ServerConfig http;
    private final Path apiKeyFile;
    private final String apiKey;
    private final boolean apiKeyGiven;

    private Server(
            StopOrder parts, Gateway gateway, ServerConfig http, Path apiKeyFile, String apiKey, boolean apiKeyGiven) {
        this.parts = parts;
        this.gateway = gateway;
        this.http = http;
        this.apiKeyFile = apiKeyFile;
        this.apiKey = apiKey;
        this.apiKeyGiven = apiKeyGiven;
    }

    /** Starts everything, or nothing: what was started before something failed is stopped again. */
    static Server start(ServerSettings settings, FirstStart first, Console console) {
        StopOrder parts = new StopOrder();
        try {
            return start(settings, first, parts);
        } catch (RuntimeException | Error e) {
            boolean interrupted = Thread.interrupted(); // or the parts would not take the time to stop
            parts.stop().forEach(console::say);
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
            throw e;
        }
    }

    private static Server start(ServerSettings settings, FirstStart first, StopOrder parts) {
        ServerConfig http = settings.http();
        requireFree(http);
        parts.add("lock of the data directory", lock(settings.data()));
        KeyFiles files = KeyFiles.open(settings.keys());
        ServerKeys keys = new ServerKeys(files);
        SealingKeys sealing = new SealingKeys(
                files,
                settings.values().get(Settings.SEALING_KEY),
                settings.values().get(Settings.SEALING_KEY_FILE));
        PrometheusMeterRegistry meters = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        Database database = parts.add("database", Database.open(database(settings, first, parts)));
        String template = first.template(settings.templates(), settings.values().get(Settings.TEMPLATE));
        LocalProvider provider = parts.add(
                "provider",
                Wiring.provider(settings.local(
                        first.warm(settings.templates(), settings.values().get(Settings.WARM)))));
        Archives archives = parts.add("archives", archives(settings.archive()));
        Sessions sessions = parts.add(
                "sessions",
                Sessions.open(
                        settings.sessions(template, provider.capabilities().contains(Capability.DISK_LIMIT)),
                        provider,
                        database,
                        archives,
                        meters,
                        keys.previewSecret(settings.values().get(Settings.PREVIEW_SECRET_FILE))
                                .getBytes(UTF_8),
                        _ -> Optional.empty()));
        TenantLimits limits = sessions.tenant(SessionKey.DEFAULT_TENANT).orElse(TenantLimits.DEFAULT);
        sessions.tenant(SessionKey.DEFAULT_TENANT, settings.tenant(limits));
        Optional<String> given = settings.values().get(Settings.API_KEY);
        String api = keys.api(given, new ApiKeys(database));
        if (settings.values().get(Settings.E2B)) {
            keys.e2b(new ApiKeys(database));
        }
        String admin = keys.admin(settings.values().get(Settings.ADMIN_KEY));
        Gateway gateway = parts.add(
                "gateway",
                Gateway.start(
                        settings.gateway(
                                admin,
                                sealing::read,
                                keys.e2bSecret(settings.values().get(Settings.E2B_SECRET_FILE)),
                                List.of(SlackBot.SEALED)),
                        sessions,
                        provider,
                        database,
                        meters));
        settings.slack().ifPresent(config -> parts.add("slack", SlackBot.start(config, gateway, database)));
        return new Server(parts, gateway, http, settings.keys().resolve(KeyFiles.API), api, given.isPresent());
    }

    /** Where it can be reached from this machine. */
    String url() {
        String host = switch (http.host()) {
            case "0.0.0.0", "::" -> "127.0.0.1";
            default -> http.host().contains(":") ? "[" + http.host() + "]" : http.host();
        };
        return (http.tls().isPresent() ? "https://" : "http://") + host + ":" + gateway.port();
    }

    /** What a shell makes the API key of. One that somebody gave us is a secret of theirs, and not shown. */
    String shownKey() {
        return apiKeyGiven ? "$(cat " + apiKeyFile + ")" : apiKey;
    }

    /** What names of ports of E2B's sandboxes end with, if E2B's clients are served. */
    Optional<String> domain() {
        return gateway.domain();
    }

    /** Stops everything. Returns what could not be stopped. */
    List<String> stop() {
        return parts.stop();
    }

    /** Looks before the long work is done; whoever takes the port meanwhile is found at the end. */
    private static void requireFree(ServerConfig http) {
        try (ServerSocket socket = new ServerSocket()) {
            socket.setReuseAddress(true);
            socket.bind(new InetSocketAddress(http.host(), http.port()));
        } catch (IOException e) {
            throw SandboxException.unavailable(
                    "could not listen on " + http.host() + ":" + http.port() + ": " + e.getMessage()
                            + "; choose another port with --port, or another address with --host",
                    e);
        }
    }

    /** One server at a time. Others may use the directory beside it, as {@code berth run} does. */
    private static ProcessLock lock(Path data) {
        try {
            if (!Files.isDirectory(data)) {
                // Everybody may pass, as PostgreSQL's user has to; nobody may look.
                Files.createDirectories(data);
                Files.setPosixFilePermissions(data, PosixFilePermissions.fromString("rwx--x--x"));
            }
        } catch (IOException e) {
            throw SandboxException.unavailable(
                    "could not make the data directory " + data + ": " + e.getMessage()
                            + "; name another one by --data or BERTH_DATA",
                    e);
        }
        return ProcessLock.tryAcquire(data.resolve("server.lock"))
                .orElseThrow(() -> SandboxException.conflict("another Berth server uses " + data
                        + "; stop it, or give this one another directory by --data or BERTH_DATA"));
    }

    private static DatabaseConfig database(ServerSettings settings, FirstStart first, StopOrder parts) {
        Optional<DatabaseConfig> given = settings.values().get(Settings.DATABASE_URL);
        if (given.isPresent()) {
            return given.get();
        }
        EmbeddedPostgres postgres = parts.add("PostgreSQL", first.postgres(PostgresConfig.of(settings.data())));
        return DatabaseConfig.of(postgres.jdbcUrl(), postgres.user(), postgres.password());
    }

    private static Archives archives(String place) {
        return place.startsWith("s3:") ? S3Archives.open(S3Config.of(place)) : DirectoryArchives.open(Path.of(place));
    }
}
