package dev.berth.gateway;

import dev.berth.gateway.http.ServerConfig;
import dev.berth.sandbox.local.LocalConfig;
import dev.berth.sandbox.local.LocalProvider;
import dev.berth.sandbox.local.TestMachine;
import dev.berth.sandbox.local.store.StoreKind;
import dev.berth.session.DirectoryArchives;
import dev.berth.session.IdlePolicy;
import dev.berth.session.SessionSpec;
import dev.berth.session.Sessions;
import dev.berth.session.SessionsConfig;
import dev.berth.session.store.Database;
import dev.berth.session.store.DatabaseConfig;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;

/** The whole server in a process of its own, to be killed. It says the port that it listens on. */
final class ServerToKill implements AutoCloseable {
    private final Process process;
    private final String url;

    private ServerToKill(Process process, String url) {
        this.process = process;
        this.url = url;
    }

    static ServerToKill start(Path data, String database) throws IOException {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED",
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-Djdk.virtualThreadScheduler.maxPoolSize=1024",
                        "-cp",
                        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                        ServerToKill.class.getName(),
                        data.toString(),
                        database)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        BufferedReader said =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        for (String line = said.readLine(); line != null; line = said.readLine()) {
            if (line.startsWith("PORT ")) {
                return new ServerToKill(process, "http://127.0.0.1:" + line.substring(5));
            }
        }
        throw new AssertionError("the server did not start");
    }

    String url() {
        return url;
    }

    @Override
    public void close() {
        kill();
    }

    /** With -9. */
    void kill() {
        process.destroyForcibly();
        try {
            process.waitFor();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    static LocalConfig config(Path data) {
        return LocalConfig.of(data)
                .withTemplates(TestMachine.templates())
                .withStore(StoreKind.BTRFS)
                .withPoolBytes(8L << 30);
    }

    @SuppressWarnings("SystemOut") // its only way to talk to the test
    public static void main(String[] args) throws InterruptedException {
        Path data = Path.of(args[0]);
        Database database = Database.open(DatabaseConfig.parse(args[1]));
        LocalProvider provider = LocalProvider.open(config(data));
        PrometheusMeterRegistry meters = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        Sessions sessions = Sessions.open(
                SessionsConfig.of(data.resolve("spool"))
                        .withSpec(SessionSpec.DEFAULT.withTemplate("host").withIdle(IdlePolicy.NEVER)),
                provider,
                database,
                DirectoryArchives.open(data.resolve("archives")),
                meters,
                "secret".getBytes(StandardCharsets.UTF_8),
                _ -> Optional.empty());
        Gateway gateway = Gateway.start(
                GatewayConfig.of(ServerConfig.onLoopback(0), data, TestingBerth.ADMIN, new byte[32]),
                sessions,
                provider,
                database,
                meters);
        System.out.println("PORT " + gateway.port());
        new CountDownLatch(1).await();
    }
}
