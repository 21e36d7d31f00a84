package dev.berth.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.gateway.EventReader.Event;
import dev.berth.gateway.TestingBerth.Reply;
import java.net.URI;
import java.net.http.HttpRequest;
import java.util.Base64;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Jobs over HTTP, as agents and people use them. Needs root and crun. */
@Timeout(300)
class JobApiTest {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static TestingBerth berth;
    private static String acme;

    @BeforeAll
    static void start() {
        berth = new TestingBerth();
        acme = berth.tenant("acme");
    }

    @AfterAll
    static void stop() {
        berth.close();
    }

    static void await(String what, BooleanSupplier condition) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).as("waited in vain: " + what).isLessThan(deadline);
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
        }
    }

    private static String background(String path, String session, String command) {
        Reply reply = berth.post(
                acme,
                path,
                JSON.writeValueAsString(Map.of("session_id", session, "command", command, "background", true)));
        assertThat(reply.status()).as(reply.body()).isEqualTo(202);
        assertThat(reply.json().path("state").asString()).isEqualTo("running");
        assertThat(reply.json().path("resultId")).isEqualTo(reply.json().path("job_id"));
        return reply.json().path("job_id").asString();
    }

    private static JsonNode job(String id) {
        Reply reply = berth.get(acme, "/v1/jobs/" + id);
        assertThat(reply.status()).as(reply.body()).isEqualTo(200);
        return reply.json();
    }

    private static void awaitEnd(String id) {
        await("the end of " + id, () -> !job(id).path("state").asString().equals("running"));
    }

    @Test
    void aJobIsStartedListedReadAndOver() {
        String id = background("/v1/sandbox/bash", "one", "echo hello; exit 3");
        awaitEnd(id);
        assertThat(job(id).path("state").asString()).isEqualTo("failed");
        assertThat(job(id).path("exit_code").asInt()).isEqualTo(3);
        assertThat(job(id).path("command").asString()).isEqualTo("echo hello; exit 3");
        JsonNode logs = berth.get(acme, "/v1/jobs/" + id + "/logs").json();
        assertThat(logs.path("chunks").path(0).path("text").asString()).isEqualTo("hello\n");
        assertThat(logs.path("complete").asBoolean()).isTrue();
        assertThat(berth.get(acme, "/v1/sessions/one/jobs?state=failed")
                        .json()
                        .path("jobs")
                        .path(0)
                        .path("job_id")
                        .asString())
                .isEqualTo(id);
        assertThat(berth.get(acme, "/v1/jobs?limit=1000").body()).contains(id);
        assertThat(berth.get(TestingBerth.ADMIN, "/v1/jobs?tenant_id=acme&limit=1000")
                        .body())
                .contains(id);
        assertThat(berth.get(acme, "/v1/sessions/one/jobs?state=running").json().path("jobs"))
                .isEmpty();
    }

    @Test
    void aModelSeesReadsAndStopsItsJobsByAsyncStatus() {
        assertThat(berth.get(acme, "/v1/tools").body()).contains("async_status").contains("background");
        String id = background("/v1/tools/bash", "model", "echo first; sleep 60");
        await("output", () -> job(id).path("output_bytes").asInt() > 0);
        Reply logs = status("model", Map.of("resultId", id, "action", "logs"));
        assertThat(logs.json().path("stdout").asString()).startsWith("first\n[running; read on with cursor 1]");
        assertThat(status("model", Map.of("resultId", id)).json().path("stdout").asString())
                .contains("is running");
        assertThat(status("model", Map.of("resultId", id, "action", "stop"))
                        .json()
                        .path("stdout")
                        .asString())
                .contains("is stopped, exit code 143");
        assertThat(status("model", Map.of("resultId", id, "action", "logs", "cursor", 1))
                        .json()
                        .path("stdout")
                        .asString())
                .isEmpty();
        Reply foreign = status("another", Map.of("resultId", id));
        Reply missing = status("another", Map.of("resultId", "job_none"));
        assertThat(foreign.json().path("ok").asBoolean()).isFalse();
        assertThat(foreign.json().path("error")).isEqualTo(missing.json().path("error"));
    }

    private static Reply status(String session, Map<String, Object> input) {
        Map<String, Object> body = new java.util.HashMap<>(input);
        body.put("session_id", session);
        return berth.post(acme, "/v1/tools/async_status", JSON.writeValueAsString(body));
    }

    @Test
    void whatMakesNoSenseIsRefused() {
        assertThat(berth.get(acme, "/v1/jobs/job_none").status()).isEqualTo(404);
        assertThat(berth.get(acme, "/v1/jobs/job_none/logs").status()).isEqualTo(404);
        assertThat(berth.post(acme, "/v1/jobs/job_none/stop", "").status()).isEqualTo(404);
        assertThat(berth.get(acme, "/v1/jobs?state=sleeping").status()).isEqualTo(400);
        String id = background("/v1/sandbox/bash", "mine", "true");
        String rival = berth.tenant("rival-of-jobs");
        assertThat(berth.get(rival, "/v1/jobs/" + id).status()).isEqualTo(404);
        assertThat(berth.post(rival, "/v1/jobs/" + id + "/stop", "").status()).isEqualTo(404);
        assertThat(berth.get(rival, "/v1/jobs").json().path("jobs")).isEmpty();
        assertThat(berth.get(rival, "/v1/jobs?tenant_id=acme").json().path("jobs"))
                .isEmpty();
        assertThat(berth.post(
                                acme,
                                "/v1/sandbox/bash",
                                "{\"session_id\":\"mine\",\"command\":\"true\",\"background\":true,\"changes\":true}")
                        .status())
                .isEqualTo(400);
        Reply alone = berth.post(acme, "/v1/tools/bash", "{\"command\":\"true\",\"background\":true}");
        assertThat(alone.json().path("error").path("code").asString()).isEqualTo("invalid");
    }

    @Test
    void aReportWithoutTokenIsInvalidAndWithAWrongOneTheJobIsNotThere() {
        String id = background("/v1/sandbox/bash", "report", "sleep 60");
        assertThat(report(id, null).status()).isEqualTo(400);
        Reply wrong = report(id, "wrong");
        Reply unknown = report("job_none", "wrong");
        assertThat(wrong.status()).isEqualTo(404);
        assertThat(wrong.json().path("detail")).isEqualTo(unknown.json().path("detail"));
        assertThat(unknown.status()).isEqualTo(404);
        assertThat(job(id).path("state").asString()).isEqualTo("running");
    }

    private static Reply report(String id, @org.jspecify.annotations.Nullable String token) {
        HttpRequest.Builder request = HttpRequest.newBuilder(
                        URI.create(berth.url() + "/sandbox-jobs/" + id + "/complete"))
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString("{\"status\":\"completed\",\"response\":{\"exitCode\":0}}"));
        if (token != null) {
            request.header("x-job-token", token);
        }
        return berth.send(request.build());
    }

    @Test
    void aClientThatReconnectsAHundredTimesSeesEveryByteOnceInEventsAndInLogs() {
        String id =
                background("/v1/sandbox/bash", "hundred", "for i in $(seq 1500); do echo line $i; sleep 0.003; done");
        StringBuilder events = new StringBuilder();
        StringBuilder logs = new StringBuilder();
        String last = "0";
        long next = 0;
        boolean over = false;
        boolean complete = false;
        int connections = 0;
        while (connections < 100 || !over || !complete) {
            connections++;
            if (!over) {
                try (EventReader reader =
                        berth.events(acme, "/v1/sessions/hundred/events", Map.of("Last-Event-ID", last))) {
                    Event event = reader.next().orElseThrow();
                    assertThat(Long.parseLong(event.id())).isEqualTo(Long.parseLong(last) + 1);
                    last = event.id();
                    JsonNode data = event.data().path("data");
                    if (event.name().equals("output")) {
                        assertThat(data.path("offset").asLong()).isEqualTo(events.length());
                        events.append(text(data));
                    }
                    over = event.data().path("type").asString().equals("job.ended");
                }
            }
            JsonNode page = berth.get(acme, "/v1/jobs/" + id + "/logs?limit=1&after=" + next)
                    .json();
            page.path("chunks").forEach(chunk -> logs.append(text(chunk)));
            next = page.path("next").asLong();
            complete = page.path("complete").asBoolean();
        }
        StringBuilder expected = new StringBuilder();
        for (int i = 1; i <= 1500; i++) {
            expected.append("line ").append(i).append('\n');
        }
        assertThat(events.toString()).isEqualTo(expected.toString());
        assertThat(logs.toString()).isEqualTo(expected.toString());
        assertThat(connections).isGreaterThanOrEqualTo(100);
    }

    private static String text(JsonNode chunk) {
        return chunk.has("text")
                ? chunk.path("text").asString()
                : new String(Base64.getDecoder().decode(chunk.path("base64").asString()), UTF_8);
    }
}
