package dev.berth.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import dev.berth.gateway.JobKillServer.Moment;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.local.LocalProvider;
import dev.berth.session.TestingDatabase;
import dev.berth.session.TestingPostgres;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Servers that are killed with -9 in the middle of a job, and the next ones that settle it. Needs root and crun. */
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class JobKillTest {
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private final Path data;
    private final TestingDatabase database = TestingDatabase.create();
    private final HttpClient client = HttpClient.newHttpClient();
    private final List<String> ids = new CopyOnWriteArrayList<>();
    private final CountDownLatch firstServerIsDead = new CountDownLatch(1);
    private HttpServer receiver;
    private @Nullable Process server;
    private @Nullable BufferedReader lines;
    private String url = "";

    JobKillTest() throws IOException {
        data = Files.createTempDirectory(Path.of("/var/tmp"), "berth-");
    }

    @BeforeEach
    void listen() throws IOException {
        receiver = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        receiver.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        receiver.createContext("/", exchange -> {
            ids.add(exchange.getRequestHeaders().getFirst("webhook-id"));
            try {
                firstServerIsDead.await(); // so that nothing is delivered before
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            exchange.sendResponseHeaders(204, -1);
            exchange.close();
        });
        receiver.start();
    }

    @AfterEach
    void clearAway() throws Exception {
        firstServerIsDead.countDown();
        kill();
        receiver.stop(0);
        client.close();
        LocalProvider provider = LocalProvider.open(JobKillServer.config(data));
        provider.list().forEach(Sandbox::destroy);
        provider.closeAndUnmount();
        database.close();
        TestingPostgres.remove(data);
    }

    // ---- the server ----------------------------------------------------------------------------------------------

    private void start(Moment moment) throws IOException {
        Process started = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED",
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-Xmx256m",
                        "-cp",
                        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                        JobKillServer.class.getName(),
                        data.toString(),
                        database.url(),
                        moment.name())
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        server = started;
        lines = new BufferedReader(new InputStreamReader(started.getInputStream(), UTF_8));
        url = "http://127.0.0.1:" + said("READY ");
    }

    private String said(String what) throws IOException {
        BufferedReader from = Objects.requireNonNull(lines);
        for (String line = from.readLine(); line != null; line = from.readLine()) {
            if (line.startsWith(what)) {
                return line.substring(what.length());
            }
        }
        throw new AssertionError("the server ended without saying " + what);
    }

    private void kill() throws InterruptedException {
        Process running = Objects.requireNonNull(server);
        running.destroyForcibly();
        running.waitFor();
    }

    private JsonNode send(String method, String path, String body) {
        try {
            HttpResponse<String> response =
                    client.send(request(method, path, body), HttpResponse.BodyHandlers.ofString());
            assertThat(response.statusCode()).as(response.body()).isLessThan(300);
            return JSON.readTree(response.body());
        } catch (IOException | InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private HttpRequest request(String method, String path, String body) {
        return HttpRequest.newBuilder(URI.create(url + path))
                .header("Authorization", "Bearer " + TestingBerth.ADMIN)
                .header("Content-Type", "application/json")
                .method(method, HttpRequest.BodyPublishers.ofString(body))
                .build();
    }

    private JsonNode jobs() {
        return send("GET", "/v1/sessions/s/jobs", "").path("jobs");
    }

    private JsonNode ended() {
        JobApiTest.await(
                "the job ends", () -> !jobs().path(0).path("state").asString().equals("running"));
        return jobs().path(0);
    }

    private String printed(JsonNode job) {
        StringBuilder all = new StringBuilder();
        long after = 0;
        while (true) {
            JsonNode page = send("GET", "/v1/jobs/" + job.path("job_id").asString() + "/logs?after=" + after, "");
            for (JsonNode chunk : page.path("chunks")) {
                assertThat(chunk.path("offset").asLong()).isEqualTo(all.length());
                all.append(chunk.path("text").asString());
            }
            after = page.path("next").asLong();
            if (page.path("complete").asBoolean()) {
                return all.toString();
            }
        }
    }

    private static String numbers(int to) {
        StringBuilder all = new StringBuilder();
        for (int i = 1; i <= to; i++) {
            all.append(i).append('\n');
        }
        return all.toString();
    }

    private void begin(String command) {
        String job = JSON.writeValueAsString(Map.of("session_id", "s", "command", command, "background", true));
        var _ = client.sendAsync(request("POST", "/v1/sandbox/bash", job), HttpResponse.BodyHandlers.discarding());
    }

    // ---- the moments ---------------------------------------------------------------------------------------------

    @ParameterizedTest
    @EnumSource(value = Moment.class, mode = EnumSource.Mode.EXCLUDE, names = "NEVER")
    void aJobIsSettledRightlyAndToldUnderOneIdWheneverTheServerIsKilled(Moment moment) throws Exception {
        start(moment);
        String hook = send(
                        "POST",
                        "/v1/webhooks",
                        JSON.writeValueAsString(Map.of(
                                "url",
                                "http://127.0.0.1:" + receiver.getAddress().getPort() + "/")))
                .path("webhook_id")
                .asString();
        begin("for i in $(seq 300); do echo $i; sleep 0.003; done");
        said("AT ");
        if (moment == Moment.AFTER_SETTLEMENT) {
            JobApiTest.await("it is on its way", () -> !ids.isEmpty());
        }
        kill();
        endLeases();
        firstServerIsDead.countDown();
        start(Moment.NEVER);
        JsonNode deliveries = awaitDelivered(hook);
        JsonNode job = ended();
        if (moment == Moment.BEFORE_LAUNCH) {
            assertThat(job.path("state").asString()).isEqualTo("failed");
            assertThat(job.path("exit_code").asInt()).isEqualTo(137);
            assertThat(printed(job)).isEmpty();
        } else {
            assertThat(job.path("state").asString()).isEqualTo("completed");
            assertThat(printed(job)).isEqualTo(numbers(300));
        }
        assertThat(jobs().size()).isEqualTo(1);
        assertThat(deliveries.size()).isEqualTo(1);
        assertThat(ids.stream().distinct())
                .containsExactly(deliveries.path(0).path("delivery_id").asString());
        assertThat(ids).hasSize(moment == Moment.AFTER_SETTLEMENT ? 2 : 1);
    }

    /** As half a minute after the server that had them was killed. */
    private void endLeases() throws SQLException {
        try (Connection connection = DriverManager.getConnection(database.url());
                Statement statement = connection.createStatement()) {
            statement.executeUpdate(
                    "UPDATE webhook_deliveries SET leased_until = leased_until - interval '30 seconds'");
        }
    }

    private JsonNode awaitDelivered(String hook) {
        String path = "/v1/webhooks/" + hook + "/deliveries";
        JobApiTest.await(
                "it is delivered",
                () -> send("GET", path, "")
                        .path("deliveries")
                        .path(0)
                        .path("state")
                        .asString()
                        .equals("delivered"));
        return send("GET", path, "").path("deliveries");
    }

    @Test
    void everyByteOfAFloodIsThereOnceThoughServersAreKilledInIt() throws Exception {
        start(Moment.NEVER);
        // More than the sandbox keeps, so that it waits for whoever reads.
        begin("seq 1 900000");
        for (int i = 0; i < 3; i++) {
            long before = i == 0 ? 0 : jobs().path(0).path("output_bytes").asLong();
            JobApiTest.await(
                    "it prints more",
                    () -> jobs().path(0).path("output_bytes").asLong() > before + 100_000
                            || (!jobs().isEmpty()
                                    && !jobs().path(0).path("state").asString().equals("running")));
            kill();
            start(Moment.NEVER);
        }
        JsonNode job = ended();
        assertThat(job.path("state").asString()).isEqualTo("completed");
        assertThat(printed(job)).isEqualTo(numbers(900_000));
    }
}
