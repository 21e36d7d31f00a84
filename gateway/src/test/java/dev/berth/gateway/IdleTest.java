package dev.berth.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Calls and streams that are silent for longer than connections may be, and clients that go. Needs root and crun. */
@Timeout(300)
class IdleTest {
    private static final Duration IDLE = Duration.ofSeconds(2);
    private static final Duration HEARTBEAT = Duration.ofMillis(200);

    private static TestingBerth berth;
    private static String key;

    @BeforeAll
    static void start() {
        berth = new TestingBerth(
                config -> config.withServer(config.server().withIdle(IDLE, HEARTBEAT)),
                config -> config.withIntervals(Duration.ofMillis(200), Duration.ofMillis(200), Duration.ofMinutes(10)));
        key = berth.tenant("acme");
    }

    @AfterAll
    static void stop() {
        berth.close();
    }

    private static HttpRequest bash(String session, String command) {
        return HttpRequest.newBuilder(URI.create(berth.url() + "/v1/sandbox/bash"))
                .header("Authorization", "Bearer " + key)
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(
                        "{\"session_id\":\"" + session + "\",\"command\":\"" + command + "\"}"))
                .build();
    }

    @ParameterizedTest
    @EnumSource(
            value = Version.class,
            names = {"HTTP_1_1", "HTTP_2"})
    void aCallMayTakeLongerThanAConnectionMayBeIdle(Version version) throws Exception {
        try (HttpClient client = HttpClient.newBuilder().version(version).build()) {
            // Only a request without a body is an occasion to change to HTTP/2.
            client.send(
                    HttpRequest.newBuilder(URI.create(berth.url() + "/readyz")).build(),
                    HttpResponse.BodyHandlers.discarding());
            HttpResponse<String> response =
                    client.send(bash("slow", "sleep 4; echo slept"), HttpResponse.BodyHandlers.ofString());
            assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
            assertThat(response.body()).contains("slept");
            assertThat(response.version()).isEqualTo(version);
        }
    }

    @Test
    void aStreamWithNothingToTellLivesOnItsHeartbeat() {
        assertThat(berth.send(bash("quiet", "true")).status()).isEqualTo(200);
        try (EventReader reader = berth.events(key, "/v1/sessions/quiet/events", Map.of())) {
            reader.next("tool");
            assertThat(berth.send(bash("other", "sleep 4")).status()).isEqualTo(200);
            assertThat(berth.send(bash("quiet", "exit 5")).status()).isEqualTo(200);
            assertThat(reader.next("tool").data().path("data").path("exit_code").asInt())
                    .isEqualTo(5);
        }
    }

    @Test
    void aStreamedCallMayBeSilentForLonger() {
        try (EventReader reader = berth.stream(
                key, "/v1/sandbox/bash", "{\"session_id\":\"streamed\",\"command\":\"sleep 4; echo slept\"}")) {
            assertThat(reader.next("done").data().path("stdout").asString()).isEqualTo("slept\n");
        }
    }

    @Test
    void aClientThatGoesInTheMiddleOfACallLeavesASessionThatCanBeUsedAndSleeps() {
        assertThat(berth.post(key, "/v1/sessions", "{\"session_id\":\"left\",\"idle\":{\"pause_after\":1}}")
                        .status())
                .isEqualTo(201);
        try (EventReader reader = berth.stream(
                key,
                "/v1/sandbox/bash",
                "{\"session_id\":\"left\",\"command\":\"echo begun; sleep 2; echo done > ended\"}")) {
            reader.next("output");
        }
        awaitState("left", "paused");
        var read = berth.post(key, "/v1/sandbox/read", "{\"session_id\":\"left\",\"path\":\"ended\"}");
        assertThat(read.status()).as("the call went on: " + read.body()).isEqualTo(200);
        assertThat(berth.send(bash("left", "echo still here")).body()).contains("still here");
        awaitState("left", "paused");
    }

    private static void awaitState(String session, String state) {
        while (!berth.get(key, "/v1/sessions/" + session)
                .json()
                .path("state")
                .asString()
                .equals(state)) { // bounded by the test's timeout
            Thread.onSpinWait();
        }
    }
}
