package dev.berth.demo;

import dev.berth.agent.ScriptedModel;
import dev.berth.agent.ScriptedModelServer;
import dev.berth.channel.slack.FakeSlack;
import dev.berth.egress.internet.NameServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * The product as it is installed, a process of its own with a directory of its own, and what it speaks to: a Slack, a
 * model, and a name server that knows where the model is.
 */
final class Stage implements AutoCloseable {
    private static final Pattern READY =
            Pattern.compile("curl (https?://[^/]+)\\S* -H \"Authorization: Bearer (.+?)\"");
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final String MODEL_HOST = "model.demo";
    private static final String KEY = "MODEL_KEY";
    private static final int START_SECONDS = 180;
    private static final int STOP_SECONDS = 60;

    private final Path data;
    private final Map<String, String> settings = new HashMap<>();
    private final FakeSlack slack = new FakeSlack();
    private final ScriptedModelServer models = new ScriptedModelServer();
    private final NameServer names;
    private final HttpClient client = HttpClient.newHttpClient();
    private @Nullable Process server;
    private String url = "";
    private String key = "";

    /** @param templates where the template {@code agent} is */
    Stage(Path templates) throws IOException {
        names = NameServer.onLoopback();
        names.name(MODEL_HOST, InetAddress.getLoopbackAddress());
        data = Files.createTempDirectory(Path.of("/var/tmp"), "berth-demo-");
        Files.setPosixFilePermissions(data, PosixFilePermissions.fromString("rwx--x--x"));
        int port = models.url().getPort();
        settings.put("BERTH_PORT", "0");
        settings.put("BERTH_DATA", data.toString());
        settings.put("BERTH_TEMPLATES", templates.toString());
        settings.put("BERTH_TEMPLATE", "agent");
        settings.put("BERTH_STORE", "plain");
        settings.put("BERTH_EGRESS_DNS", "127.0.0.1:" + names.address().getPort());
        settings.put("BERTH_EGRESS_PLAIN_SECRETS", MODEL_HOST);
        settings.put("BERTH_AGENT_MODEL_PROVIDER", "demo");
        settings.put("BERTH_AGENT_MODEL_NAME", "scripted");
        settings.put("BERTH_AGENT_MODEL_URL", "http://" + MODEL_HOST + ":" + port + "/v1");
        settings.put("BERTH_AGENT_MODEL_SECRET", KEY);
        settings.put("BERTH_AGENT_ALLOW", "127.0.0.1");
        settings.put("BERTH_SLACK_API", slack.api().toString());
        settings.put("BERTH_SLACK_BOT_TOKEN", FakeSlack.BOT_TOKEN);
        settings.put("BERTH_SLACK_APP_TOKEN", FakeSlack.APP_TOKEN);
    }

    /** Sets something else before it is started. */
    Stage set(String variable, String value) {
        settings.put(variable, value);
        return this;
    }

    /** Where the model is, for whoever asks it from outside of sandboxes. */
    URI modelUrl() {
        return models.url();
    }

    URI url() {
        return URI.create(url);
    }

    FakeSlack slack() {
        return slack;
    }

    ScriptedModel model() {
        return models.model();
    }

    Path data() {
        return data;
    }

    /** Starts the server, for the first time or again, and waits until it listens to Slack. */
    void start() throws IOException, InterruptedException {
        List<String> command = List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-Djdk.virtualThreadScheduler.maxPoolSize=1024",
                "-XX:TieredStopAtLevel=1",
                "-Xmx512m",
                "-cp",
                System.getProperty("java.class.path"),
                "dev.berth.cli.Berth",
                "up");
        ProcessBuilder builder = new ProcessBuilder(new ArrayList<>(command))
                .redirectError(data.resolve("server.log").toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("BERTH_") || name.equals("DATABASE_URL"));
        builder.environment().putAll(settings);
        int connected = slack.connections();
        Process process = builder.start();
        server = process;
        Matcher ready = ready(process);
        url = ready.group(1);
        key = ready.group(2);
        if (settings.getOrDefault("BERTH_SLACK_MODE", "socket").equals("socket")) {
            slack.await(slack::connections, now -> now > connected);
        } else {
            slack.sendTo(url().resolve("/channels/slack/events"));
        }
    }

    private Matcher ready(Process process) throws InterruptedException, IOException {
        CompletableFuture<Matcher> ready = new CompletableFuture<>();
        Thread.ofVirtual().name("server-output").start(() -> {
            try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    Matcher matcher = READY.matcher(line);
                    if (matcher.find()) {
                        ready.complete(matcher);
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
            throw new IOException(
                    "the server did not come up; it said:\n" + Files.readString(data.resolve("server.log")), e);
        }
    }

    /** Ends the server as a power cut would. */
    void kill() throws InterruptedException {
        Process process = server;
        if (process != null) {
            process.destroyForcibly().waitFor();
        }
    }

    private void stop() throws InterruptedException {
        Process process = server;
        if (process != null && process.isAlive()) {
            process.destroy();
            if (!process.waitFor(STOP_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
            }
        }
    }

    /** Gives the server the key of the model, which no sandbox ever sees. */
    void keepKey(String value) throws IOException, InterruptedException {
        int port = models.url().getPort();
        call(
                "PUT",
                "/v1/secrets/" + KEY,
                Map.of(
                        "value",
                        value,
                        "bindings",
                        List.of(Map.of("hosts", List.of(MODEL_HOST), "ports", List.of(port), "plain", true))));
    }

    /** The session of a thread. */
    static String session(String channel, String thread) {
        return "slack:" + FakeSlack.TEAM + ":" + channel + ":" + thread;
    }

    /** Runs a command in a session. */
    String run(String session, String command) throws IOException, InterruptedException {
        return call("POST", "/v1/sandbox/bash", Map.of("session_id", session, "command", command))
                .path("stdout")
                .asString("");
    }

    JsonNode call(String method, String path, Map<String, Object> body) throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create(url + path))
                .header("Authorization", "Bearer " + key)
                .header("Content-Type", "application/json")
                .method(
                        method,
                        method.equals("GET")
                                ? HttpRequest.BodyPublishers.noBody()
                                : HttpRequest.BodyPublishers.ofString(JSON.writeValueAsString(body)))
                .build();
        HttpResponse<String> answer = client.send(request, HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() >= 300) {
            throw new IOException(method + " " + path + ": " + answer.body());
        }
        return answer.body().isEmpty() ? JSON.createObjectNode() : JSON.readTree(answer.body());
    }

    static String encoded(String session) {
        return URLEncoder.encode(session, StandardCharsets.UTF_8);
    }

    Optional<String> log() throws IOException {
        Path log = data.resolve("server.log");
        return Files.exists(log) ? Optional.of(Files.readString(log)) : Optional.empty();
    }

    /** Ends everything; nothing is left on the machine. */
    @Override
    public void close() throws IOException {
        try {
            removeSessions();
            stop();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while the server was stopped", e);
        } finally {
            client.close();
            slack.close();
            models.close();
            names.close();
        }
        Removal.of(data);
    }

    private void removeSessions() throws IOException, InterruptedException {
        Process process = server;
        if (process != null && process.isAlive()) {
            for (JsonNode session : call("GET", "/v1/sessions", Map.of()).path("sessions")) {
                call(
                        "DELETE",
                        "/v1/sessions/" + encoded(session.path("session_id").asString()),
                        Map.of());
            }
        }
    }
}
