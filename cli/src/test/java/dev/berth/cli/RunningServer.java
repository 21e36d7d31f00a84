package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** {@code berth up} as a process of its own, from the class path of the tests. */
final class RunningServer implements AutoCloseable {
    private static final Pattern CURL = Pattern.compile("curl (https?://[^/]+)\\S* -H \"Authorization: Bearer (.+?)\"");

    private static final int KILLED = 128 + 9;

    private final Process process;
    private final CompletableFuture<String> out = new CompletableFuture<>();
    private final CompletableFuture<String> err = new CompletableFuture<>();
    private final CompletableFuture<Matcher> ready = new CompletableFuture<>();

    private RunningServer(Process process) {
        this.process = process;
        read("out", process.inputReader(StandardCharsets.UTF_8), out);
        read("err", process.errorReader(StandardCharsets.UTF_8), err);
    }

    /** With the template that needs no build, and files in plain directories: both for speed. */
    static RunningServer start(Path data, Map<String, String> env, String... words) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Xmx256m",
                "-cp",
                System.getProperty("java.class.path"),
                Berth.class.getName(),
                "up",
                "--data",
                data.toString(),
                "--template",
                "host"));
        command.addAll(List.of(words));
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().keySet().removeIf(name -> name.startsWith("BERTH_") || name.equals("DATABASE_URL"));
        builder.environment().put("BERTH_STORE", "plain");
        builder.environment().putAll(env);
        if (!List.of(words).contains("--port")) {
            builder.environment().putIfAbsent("BERTH_PORT", "0");
        }
        return new RunningServer(builder.start());
    }

    /** Returns when it takes requests. */
    RunningServer awaitReady() throws Exception {
        boolean done = false;
        try {
            ready.get(120, TimeUnit.SECONDS);
            done = true;
            return this;
        } finally {
            if (!done) {
                close();
            }
        }
    }

    String url() {
        return ready.join().group(1);
    }

    /** As it stands in the line that is to be pasted. */
    String printedKey() {
        return ready.join().group(2);
    }

    HttpResponse<String> get(String key, String path) throws Exception {
        return send("GET", key, path, "");
    }

    HttpResponse<String> delete(String key, String path) throws Exception {
        return send("DELETE", key, path, "");
    }

    HttpResponse<String> post(String key, String path, String json) throws Exception {
        return send("POST", key, path, json);
    }

    private HttpResponse<String> send(String method, String key, String path, String json) throws Exception {
        try (HttpClient client = HttpClient.newHttpClient()) {
            return client.send(
                    HttpRequest.newBuilder(URI.create(url() + path))
                            .method(method, HttpRequest.BodyPublishers.ofString(json))
                            .header("Authorization", "Bearer " + key)
                            .header("Content-Type", "application/json")
                            .build(),
                    HttpResponse.BodyHandlers.ofString());
        }
    }

    ProcessHandle handle() {
        return process.toHandle();
    }

    /** The exit code, when it has ended by itself. */
    int awaitExit() throws Exception {
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).as("it ends").isTrue();
        return process.exitValue();
    }

    int terminate() throws Exception {
        process.destroy(); // TERM
        return awaitExit();
    }

    void kill() throws Exception {
        process.destroyForcibly().waitFor();
    }

    /** All that it said, when it has ended. */
    String err() throws Exception {
        return err.get(60, TimeUnit.SECONDS);
    }

    String out() throws Exception {
        return out.get(60, TimeUnit.SECONDS);
    }

    @Override
    public void close() {
        process.destroy();
        int code = process.onExit().orTimeout(60, TimeUnit.SECONDS).join().exitValue();
        assertThat(code).as(() -> "exit code; it said: " + err.join()).isIn(0, KILLED);
    }

    private void read(String name, BufferedReader reader, CompletableFuture<String> whole) {
        Thread.ofPlatform().daemon().name(name + " of " + process.pid()).start(() -> {
            StringBuilder text = new StringBuilder();
            try (reader) {
                for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                    text.append(line).append('\n');
                    Matcher curl = CURL.matcher(line);
                    if (curl.find()) {
                        ready.complete(curl);
                    }
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            } finally {
                whole.complete(text.toString());
                ready.completeExceptionally(new AssertionError("it ended before it was ready:\n" + text));
            }
        });
    }
}
