package dev.berth.conformance;

import com.sun.net.httpserver.HttpServer;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.local.LocalConfig;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import dev.berth.sandbox.local.LocalProvider;
import dev.berth.sandbox.local.TestMachine;
import dev.berth.sandbox.local.linux.Directories;
import dev.berth.sandbox.local.network.NetworkConfig;
import dev.berth.sandbox.local.store.StoreKind;
import dev.berth.sandbox.local.template.BuildConfig;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The product as it is installed: a process of its own with a directory of its own, and a small address by which a suite in
 * another language has it killed and started again.
 */
final class Product implements AutoCloseable {
    private static final Pattern READY = Pattern.compile("curl (https?://[^/]+)\\S* -H \"Authorization: Bearer .+?\"");
    private static final Pattern NAMES = Pattern.compile("https://<port>-<id>\\.[^:]+:([0-9]+)");
    private static final int START_SECONDS = 180;
    private static final int STOP_SECONDS = 60;
    private static final long POOL = 8L << 30;

    private final Path data;
    private final Map<String, String> settings = new HashMap<>();
    private final String registry = "127.0.0.1:" + freePort();
    private final HttpServer control;
    private @Nullable Process server;
    private URI url = URI.create("http://127.0.0.1:0");

    Product() throws IOException {
        // Short, because the path of a socket is; and on the disk, not on a tmpfs.
        data = Files.createTempDirectory(Path.of("/var/tmp"), "berth-e2b-");
        Files.setPosixFilePermissions(data, PosixFilePermissions.fromString("rwx--x--x"));
        settings.put("BERTH_PORT", "0");
        settings.put("BERTH_DATA", data.toString());
        settings.put("BERTH_TEMPLATES", TestMachine.templates().toString());
        settings.put("BERTH_STORE", "btrfs");
        settings.put("BERTH_POOL", Long.toString(POOL));
        // So small that a case can fill it.
        settings.put("BERTH_LIMITS_DISK", "256m");
        settings.put("BERTH_REGISTRIES", "http://" + registry);
        settings.put("BERTH_TENANT_SESSIONS", "400");
        settings.put("BERTH_TENANT_CREATED_PER_MINUTE", "100000");
        control = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        on("/kill", this::kill);
        on("/start", this::start);
    }

    private interface Order {
        void carryOut() throws IOException, InterruptedException;
    }

    private void on(String path, Order order) {
        control.createContext(path, exchange -> {
            try (exchange) {
                order.carryOut();
                exchange.sendResponseHeaders(204, -1);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
    }

    URI url() {
        return url;
    }

    Path data() {
        return data;
    }

    Path log() {
        return data.resolve("server.log");
    }

    /** The one registry of images on this machine that it takes images from; whoever wants it listens there. */
    String registry() {
        return registry;
    }

    /**
     * A port that nobody else takes before the registry does: the kernel gives those below 32768 to nobody who does not ask for
     * one by its number (ip(7), ip_local_port_range).
     */
    private static int freePort() throws IOException {
        for (int port = 20_000 + (int) (ProcessHandle.current().pid() % 10_000); port < 32_768; port++) {
            try (ServerSocket _ = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                return port;
            } catch (BindException e) {
                // Somebody has it.
            }
        }
        throw new IOException("no port from 20000 to 32767 is free for a registry of images");
    }

    /** Where a POST to {@code /kill} kills the server, and one to {@code /start} starts it again. */
    URI control() {
        return URI.create("http://127.0.0.1:" + control.getAddress().getPort());
    }

    /** What it prints when it takes requests. */
    private record Ready(URI url, String namesPort) {}

    /** Starts it; again, if it was killed, and then on the same ports, because clients know those. */
    void start() throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder(command("-XX:+UseG1GC", "up"))
                .redirectError(ProcessBuilder.Redirect.appendTo(log().toFile()));
        builder.environment().keySet().removeIf(name -> name.startsWith("BERTH_") || name.equals("DATABASE_URL"));
        builder.environment().putAll(settings);
        Process process = builder.start();
        server = process;
        Ready ready = ready(process);
        url = ready.url();
        if (settings.put("BERTH_PORT", Integer.toString(url.getPort())).equals("0")) {
            settings.put("BERTH_E2B_PORT", ready.namesPort());
            control.start();
        }
    }

    /** The product's command line, as a JSON array. */
    String cli() {
        return command("-XX:TieredStopAtLevel=1").stream()
                .map(it -> "\"" + it.replace("\\", "\\\\").replace("\"", "\\\"") + "\"")
                .collect(Collectors.joining(",", "[", "]"));
    }

    private static List<String> command(String option, String... words) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-Djdk.virtualThreadScheduler.maxPoolSize=1024",
                option,
                "-Xmx512m",
                "-cp",
                System.getProperty("java.class.path"),
                "dev.berth.cli.Berth"));
        command.addAll(List.of(words));
        return command;
    }

    private Ready ready(Process process) throws InterruptedException, IOException {
        CompletableFuture<Ready> ready = new CompletableFuture<>();
        Thread.ofVirtual().name("server-output").start(() -> {
            try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
                URI said = url;
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    Matcher own = READY.matcher(line);
                    Matcher names = NAMES.matcher(line);
                    if (own.find()) {
                        said = URI.create(own.group(1));
                    } else if (names.find()) {
                        ready.complete(new Ready(said, names.group(1)));
                    }
                }
                ready.completeExceptionally(new IOException("it ended"));
            } catch (IOException e) {
                ready.completeExceptionally(e);
            }
        });
        try {
            return ready.get(START_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException e) {
            throw new IOException("the server did not come up; it said:\n" + Files.readString(log()), e);
        }
    }

    /** Ends the server as a power cut would. */
    private void kill() {
        Process process = server;
        if (process != null) {
            process.destroyForcibly().onExit().join();
        }
    }

    /** Ends it as its operator would. */
    void stop() throws InterruptedException {
        control.stop(0);
        Process process = server;
        if (process != null && process.isAlive()) {
            process.destroy();
            if (!process.waitFor(STOP_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
            }
        }
    }

    /** Removes what is there yet, and fails if something is left on the machine that belongs to nobody. */
    @Override
    public void close() throws IOException {
        kill(); // one that did not come up, or that stop() was not called for, would hold the data that is removed here
        LocalProvider provider = LocalProvider.open(new LocalConfig(
                data,
                TestMachine.templates(),
                RuntimeKind.CRUN,
                StoreKind.BTRFS,
                POOL,
                Map.of(),
                NetworkConfig.DEFAULT,
                BuildConfig.DEFAULT));
        provider.list().forEach(Sandbox::destroy);
        provider.checkpoints().forEach(point -> provider.deleteCheckpoint(point.id()));
        provider.closeAndUnmount();
        TestMachine.assertNothingLeft(data);
        Directories.remove(data);
    }
}
