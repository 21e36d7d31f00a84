package dev.berth.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.gateway.TestingBerth.Reply;
import dev.berth.gateway.auth.Scope;
import java.net.URI;
import java.net.http.HttpRequest;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Calls that a person has to allow first. Needs root and crun. */
@Timeout(300)
class ApprovalTest {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static TestingBerth berth;
    private static String person;
    private static String agent;

    @BeforeAll
    static void start() {
        berth = new TestingBerth();
        person = berth.tenant("acme");
        agent = berth.key("acme", Set.of(Scope.TOOLS));
    }

    @AfterAll
    static void stop() {
        berth.close();
    }

    private static void session(String id, String mode) {
        Reply made = berth.post(
                person, "/v1/sessions", "{\"session_id\":\"" + id + "\",\"permission_mode\":\"" + mode + "\"}");
        assertThat(made.status()).as(made.body()).isEqualTo(201);
        assertThat(made.json().path("permission_mode").asString()).isEqualTo(mode);
    }

    private static String bash(String session, String command) {
        return JSON.writeValueAsString(Map.of("session_id", session, "command", command));
    }

    /** Asks and does not wait. */
    private static JsonNode ask(String session, String command) {
        Reply reply = berth.send(HttpRequest.newBuilder(URI.create(berth.url() + "/v1/sandbox/bash"))
                .header("Authorization", "Bearer " + agent)
                .header("Content-Type", "application/json")
                .header("Prefer", "respond-async")
                .POST(HttpRequest.BodyPublishers.ofString(bash(session, command)))
                .build());
        assertThat(reply.status()).as(reply.body()).isEqualTo(202);
        assertThat(reply.json().path("state").asString()).isEqualTo("pending");
        return reply.json();
    }

    private static Reply decide(String id, String decision) {
        return berth.post(person, "/v1/approvals/" + id, "{\"decision\":\"" + decision + "\",\"reason\":\"because\"}");
    }

    private static JsonNode ended(String id) throws InterruptedException {
        try (EventReader reader = berth.events(
                person,
                "/v1/sessions/"
                        + berth.get(agent, "/v1/approvals/" + id)
                                .json()
                                .path("session_id")
                                .asString() + "/events",
                Map.of())) {
            while (!Set.of("approval.ended", "approval.expired")
                    .contains(reader.next("approval").data().path("type").asString())) {
                Thread.onSpinWait();
            }
        }
        return berth.get(agent, "/v1/approvals/" + id).json();
    }

    @Test
    void aCallWaitsForThePersonAndIsAnsweredAsIfItHadNot() throws Exception {
        session("waits", "ask");
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Callable<Reply> call = () -> berth.post(agent, "/v1/sandbox/bash", bash("waits", "echo allowed"));
            Future<Reply> answer = threads.submit(call);
            String id = pending("waits");
            assertThat(decide(id, "approve").json().path("decided_by").asString())
                    .startsWith("key:");
            assertThat(answer.get().status()).isEqualTo(200);
            assertThat(answer.get().json().path("stdout").asString()).isEqualTo("allowed\n");
        }
    }

    private static String pending(String session) {
        try (EventReader reader = berth.events(person, "/v1/sessions/" + session + "/events", Map.of())) {
            return reader.next("approval")
                    .data()
                    .path("data")
                    .path("approval_id")
                    .asString();
        }
    }

    @Test
    void whoDoesNotWaitFindsTheResultLater() throws Exception {
        session("later", "ask");
        String id = ask("later", "echo later; exit 4").path("approval_id").asString();
        assertThat(berth.get(person, "/v1/approvals?state=pending&session_id=later")
                        .json()
                        .path("approvals")
                        .get(0)
                        .path("input")
                        .path("command")
                        .asString())
                .isEqualTo("echo later; exit 4");
        decide(id, "approve");
        JsonNode ended = ended(id);
        assertThat(ended.path("state").asString()).isEqualTo("done");
        assertThat(ended.path("result").path("stdout").asString()).isEqualTo("later\n");
        assertThat(ended.path("result").path("exit_code").asInt()).isEqualTo(4);
    }

    @Test
    void whatIsDeniedIsNotDoneAndCannotBeAllowedAfterwards() {
        session("denied", "ask");
        String id = ask("denied", "touch did-it").path("approval_id").asString();
        assertThat(decide(id, "deny").json().path("state").asString()).isEqualTo("denied");
        assertThat(decide(id, "approve").status()).isEqualTo(409);
        assertThat(berth.post(agent, "/v1/sandbox/glob", "{\"session_id\":\"denied\",\"pattern\":\"*\"}")
                        .json()
                        .path("total")
                        .asInt())
                .isZero();
    }

    @Test
    void alwaysIsForThisToolInThisSession() {
        session("always", "ask");
        String id = ask("always", "true").path("approval_id").asString();
        assertThat(decide(id, "always").status()).isEqualTo(200);
        assertThat(berth.post(agent, "/v1/sandbox/bash", bash("always", "true")).status())
                .isEqualTo(200);
        session("other", "ask");
        ask("other", "true");
    }

    @Test
    void editModeAsksForRunningOnly() {
        session("edits", "edit");
        String write = "{\"session_id\":\"edits\",\"path\":\"a\",\"content\":\"x\"}";
        assertThat(berth.post(agent, "/v1/sandbox/write", write).status()).isEqualTo(200);
        ask("edits", "true");
    }

    @Test
    void aConfigurationAsksTooAndAModelCanReadThatItWasDenied() throws Exception {
        berth.post(person, "/v1/accounts/me/sandboxes", "{\"name\": \"careful\", \"config\": {\"persistent\": true}}");
        String looks = "{\"session_id\":\"config\",\"sandbox\":\"careful\",\"pattern\":\"*\"}";
        assertThat(berth.post(agent, "/v1/tools/glob", looks).json().path("ok").asBoolean())
                .isTrue();
        String runs = "{\"session_id\":\"config\",\"sandbox\":\"careful\",\"command\":\"true\"}";
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Callable<Reply> call = () -> berth.post(agent, "/v1/tools/bash", runs);
            Future<Reply> answer = threads.submit(call);
            decide(pending("config"), "deny");
            assertThat(answer.get().status()).isEqualTo(200);
            assertThat(answer.get().json().path("error").path("code").asString())
                    .isEqualTo("denied");
            assertThat(answer.get().json().path("stderr").asString()).contains("because");
        }
    }

    @Test
    void nobodyAllowsHisOwnCalls() {
        session("own", "ask");
        String id = ask("own", "true").path("approval_id").asString();
        assertThat(berth.post(agent, "/v1/approvals/" + id, "{\"decision\":\"approve\"}")
                        .status())
                .isEqualTo(403);
        assertThat(berth.send(agent, "PATCH", "/v1/sessions/own", "{\"permission_mode\":\"bypass\"}")
                        .status())
                .isEqualTo(403);
        String worker = berth.key("acme", Set.of(Scope.TOOLS, Scope.SESSIONS));
        assertThat(berth.send(worker, "PATCH", "/v1/sessions/own", "{\"permission_mode\":\"bypass\"}")
                        .status())
                .isEqualTo(403);
    }

    @Test
    void anotherTenantsApprovalIsNotThere() {
        session("foreign", "ask");
        String id = ask("foreign", "true").path("approval_id").asString();
        String rival = berth.tenant("rival-of-approvals");
        assertThat(berth.get(rival, "/v1/approvals/" + id).status()).isEqualTo(404);
        assertThat(berth.post(rival, "/v1/approvals/" + id, "{\"decision\":\"approve\"}")
                        .status())
                .isEqualTo(404);
        assertThat(berth.get(rival, "/v1/approvals").json().path("approvals").size())
                .isZero();
    }

    @Test
    void aStreamTellsOfTheApprovalAndGoesOnWhenItIsThere() {
        session("stream", "ask");
        try (EventReader reader =
                berth.stream(agent, "/v1/tools/bash", bash("stream", "echo one; echo two >&2; exit 5"))) {
            String id = reader.next("approval").data().path("approval_id").asString();
            decide(id, "approve");
            JsonNode done = reader.next("done").data();
            assertThat(done.path("stdout").asString()).isEqualTo("one\n");
            assertThat(done.path("exit_code").asInt()).isEqualTo(5);
            assertThat(done.path("call_id").asString()).isNotEmpty();
        }
    }

    @Test
    void whatNobodyDecidesIsOverInTime() throws Exception {
        try (TestingBerth impatient =
                new TestingBerth(config -> config.withApprovalPatience(java.time.Duration.ofMillis(300)))) {
            String key = impatient.tenant("acme");
            impatient.post(key, "/v1/sessions", "{\"session_id\":\"s\",\"permission_mode\":\"ask\"}");
            Reply reply = impatient.post(key, "/v1/sandbox/bash", bash("s", "true"));
            assertThat(reply.status()).isEqualTo(403);
            assertThat(reply.json().path("detail").asString()).contains("nobody allowed");
            JsonNode approval =
                    impatient.get(key, "/v1/approvals").json().path("approvals").get(0);
            assertThat(approval.path("state").asString()).isEqualTo("expired");
            String id = approval.path("approval_id").asString();
            assertThat(impatient
                            .post(key, "/v1/approvals/" + id, "{\"decision\":\"approve\"}")
                            .status())
                    .isEqualTo(409);
        }
    }

    @Test
    void aServerThatIsRestartedLosesNoneThatWaits() throws Exception {
        session("restart", "ask");
        String id = ask("restart", "echo after the restart").path("approval_id").asString();
        berth.restart();
        decide(id, "approve");
        assertThat(ended(id).path("result").path("stdout").asString()).isEqualTo("after the restart\n");
    }

    @Test
    void aStreamedBodyCannotWaitAndSaysSo() {
        session("streamed", "ask");
        Reply reply = berth.send(
                HttpRequest.newBuilder(URI.create(berth.url() + "/v1/sandbox/files?session_id=streamed&path=a"))
                        .header("Authorization", "Bearer " + agent)
                        .header("Content-Type", "application/octet-stream")
                        .PUT(HttpRequest.BodyPublishers.ofString("x"))
                        .build());
        assertThat(reply.status()).isEqualTo(403);
        assertThat(List.of(reply.json().path("detail").asString().split(" "))).contains("allowed");
    }
}
