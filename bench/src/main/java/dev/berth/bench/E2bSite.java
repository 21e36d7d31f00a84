package dev.berth.bench;

import dev.berth.gateway.e2b.E2bConfig;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.SessionKey;
import dev.berth.session.TenantLimits;
import java.io.BufferedReader;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The API with E2B's surface, E2B's own SDK as it comes from npm, and a server that does nothing beside it. */
final class E2bSite implements AutoCloseable {
    private static final List<String> FILES = List.of("package.json", "package-lock.json", "fifty.mjs", "nothing.mjs");
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final long PATIENCE_SECONDS = 300;
    private static final TenantLimits UNLIMITED =
            new TenantLimits(Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty(), false);

    private final Deque<Closeable> open = new ArrayDeque<>();
    private final Path directory;
    private final int count;
    private final String berth;
    private final String nothing;

    /** What each of the sandboxes took, in nanoseconds. */
    record Times(List<Long> creates, List<Long> commands) {}

    private E2bSite(Rig rig, int count) throws IOException {
        this.count = count;
        try {
            directory = sdk(rig.newDirectory());
            SessionSite sessions = rig.openSessions();
            open.push(sessions::close);
            sessions.sessions().tenant(SessionKey.DEFAULT_TENANT, UNLIMITED);
            HttpSite http = HttpSite.open(
                    sessions,
                    config -> config.withE2b(Optional.of(E2bConfig.of("bench".getBytes(StandardCharsets.UTF_8)))));
            open.push(http::close);
            berth = http.url();
            nothing = "http://127.0.0.1:" + startNothing();
        } catch (IOException | RuntimeException e) {
            close();
            throw e;
        }
    }

    static E2bSite open(Rig rig, int count) throws IOException {
        return new E2bSite(rig, count);
    }

    Times againstBerth() throws IOException {
        return run(berth);
    }

    Times againstNothing() throws IOException {
        return run(nothing);
    }

    private Times run(String url) throws IOException {
        Process process = start(
                Map.of("E2B_API_URL", url, "E2B_SANDBOX_URL", url, "E2B_API_KEY", HttpSite.KEY),
                node(),
                "fifty.mjs",
                Integer.toString(count),
                "--json");
        String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (await(process) != 0) {
            throw new IOException("fifty.mjs failed; what it said is above");
        }
        JsonNode report = JSON.readTree(printed);
        return new Times(nanos(report.path("creates")), nanos(report.path("commands")));
    }

    private static List<Long> nanos(JsonNode millis) {
        List<Long> nanos = new ArrayList<>();
        millis.forEach(it -> nanos.add((long) (it.asDouble() * 1e6)));
        return nanos;
    }

    private int startNothing() throws IOException {
        Process process = start(Map.of(), node(), "nothing.mjs");
        open.push(() -> {
            process.destroy();
            await(process);
        });
        BufferedReader out = process.inputReader(StandardCharsets.UTF_8);
        String port = out.readLine();
        if (port == null || !port.matches("[0-9]+")) {
            throw new IOException("nothing.mjs did not tell its port, but '" + port + "'");
        }
        return Integer.parseInt(port);
    }

    /** The SDK, installed by npm as the lock file says. */
    private static Path sdk(Path directory) throws IOException {
        for (String name : FILES) {
            try (InputStream file = E2bSite.class.getResourceAsStream("e2b/" + name)) {
                if (file == null) {
                    throw new IOException("this build lacks examples/e2b/" + name);
                }
                Files.copy(file, directory.resolve(name));
            }
        }
        Process npm = new ProcessBuilder("npm", "ci", "--no-audit", "--no-fund")
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectOutput(directory.resolve("npm.log").toFile())
                .start();
        if (await(npm) != 0) {
            throw SandboxException.unavailable("could not install E2B's SDK:\n"
                    + Files.readString(directory.resolve("npm.log")).strip());
        }
        return directory;
    }

    /** A node that is new enough for the SDK, whatever the machine has. */
    private String node() {
        String arch = System.getProperty("os.arch", "").equals("aarch64") ? "arm64" : "x64";
        return directory
                .resolve("node_modules/node-linux-" + arch + "/bin/node")
                .toString();
    }

    private Process start(Map<String, String> env, String... command) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(directory.toFile())
                .redirectError(ProcessBuilder.Redirect.INHERIT);
        builder.environment().putAll(env);
        return builder.start();
    }

    private static int await(Process process) throws IOException {
        try {
            if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                throw new IOException("a program of the benchmark does not end");
            }
            return process.exitValue();
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
    }

    @Override
    public void close() throws IOException {
        while (!open.isEmpty()) {
            open.pop().close();
        }
    }
}
