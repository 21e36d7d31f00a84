package dev.berth.gateway.agent;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.agent.ScriptedModel;
import dev.berth.egress.internet.Internet;
import dev.berth.gateway.EventReader;
import dev.berth.gateway.EventReader.Event;
import dev.berth.gateway.TestingBerth;
import dev.berth.gateway.TestingBerth.Reply;
import dev.berth.gateway.egress.OutboundConfig;
import dev.berth.sandbox.local.template.TestingTemplates;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Prompts to the real pi in real sandboxes, whose model is outside and wants a real key. Needs root, crun and iproute2. */
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PromptApiTest {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final String VALUE = "sk-live-" + UUID.randomUUID();

    private static Internet internet;
    private static ModelHouse models;
    private static Path authorities;
    private static TestingBerth berth;
    private static String key;

    @BeforeAll
    static void start() throws Exception {
        internet = Internet.start();
        models = new ModelHouse(internet, internet.address(1));
        authorities = Files.createTempFile("berth-authorities", ".pem");
        Files.writeString(authorities, internet.authority().pem());
        String template = TestingTemplates.agent().id();
        berth = new TestingBerth(config -> config.withOutbound(OutboundConfig.DEFAULT
                        .withDns(internet.names().address())
                        .withAuthorities(authorities))
                .withAgents(AgentsConfig.DEFAULT.withTemplate(template)));
        key = berth.tenant("acme");
        good(berth.send(
                key,
                "PUT",
                "/v1/secrets/LLM_KEY",
                JSON.writeValueAsString(
                        Map.of("value", VALUE, "bindings", List.of(Map.of("hosts", List.of(ModelHouse.HOST)))))));
    }

    @AfterAll
    static void stop() throws Exception {
        berth.close();
        internet.close();
        Files.deleteIfExists(authorities);
    }

    private static JsonNode good(Reply reply) {
        assertThat(reply.status()).as(reply.body()).isBetween(200, 204);
        return reply.body().isEmpty() ? JSON.createObjectNode() : reply.json();
    }

    /** A conversation that has not begun, and what its model will say. */
    private record Talk(String id, ScriptedModel model) {
        static Talk with(String id) {
            good(berth.send(key, "PUT", "/v1/sessions/" + id + "/agent", JSON.writeValueAsString(choice(id))));
            return new Talk(id, models.model(id));
        }

        static Map<String, Object> choice(String id) {
            return Map.of(
                    "model",
                    Map.of(
                            "provider", "scripted",
                            "name", "scripted",
                            "url", ModelHouse.url(id),
                            "secret", "LLM_KEY"));
        }

        String path(String below) {
            return "/v1/sessions/" + id + below;
        }

        EventReader stream(String text) {
            return berth.stream(key, path("/prompt"), JSON.writeValueAsString(Map.of("text", text)));
        }

        Reply say(String text, String... headers) {
            return say(Map.of("text", text), headers);
        }

        Reply say(Map<String, Object> body, String... headers) {
            HttpRequest.Builder request = request(path("/prompt"))
                    .header("Content-Type", "application/json")
                    .POST(BodyPublishers.ofString(JSON.writeValueAsString(body)));
            return berth.send(
                    headers.length == 0
                            ? request.build()
                            : request.headers(headers).build());
        }

        String run(String command) {
            return good(berth.post(
                            key,
                            "/v1/sandbox/bash",
                            JSON.writeValueAsString(Map.of("session_id", id, "command", command))))
                    .path("stdout")
                    .asString();
        }
    }

    private static HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create(berth.url() + path))
                .header("Authorization", "Bearer " + key)
                .timeout(Duration.ofMinutes(3));
    }

    private static List<Event> all(EventReader events) {
        List<Event> all = new ArrayList<>();
        for (var event = events.next(); event.isPresent(); event = events.next()) {
            all.add(event.get());
        }
        return all;
    }

    private static String texts(List<Event> events) {
        StringBuilder text = new StringBuilder();
        events.stream()
                .filter(event -> event.name().equals("text"))
                .forEach(event -> text.append(event.data().path("text").asString()));
        return text.toString();
    }

    @Test
    void whatTheAgentDoesIsToldAsItHappensAndItsModelGetsTheKeyThatTheSandboxHasNot() {
        Talk talk = Talk.with("streamed");
        talk.model()
                .calls(
                        "bash",
                        Map.of("command", "mkdir -p output && echo ready > output/report.txt && cat output/report.txt"))
                .calls("showFile", Map.of("path", "output/report.txt", "title", "The report"))
                .says("All ", "done.");
        List<Event> events;
        try (EventReader stream = talk.stream("make a report")) {
            events = all(stream);
        }
        assertThat(events).extracting(Event::name).contains("status", "tool_start", "tool_end", "artifact", "usage");
        assertThat(texts(events)).isEqualTo("All done.");
        Event done = events.getLast();
        assertThat(done.name()).isEqualTo("done");
        assertThat(done.data().path("state").asString()).as(done.toString()).isEqualTo("done");
        assertThat(done.data().path("answer").asString()).isEqualTo("All done.");
        assertThat(done.data().path("tools_used").asInt()).isPositive();
        assertThat(events.stream().skip(1).map(Event::id)).noneMatch(String::isEmpty);
        Event artifact = events.stream()
                .filter(event -> event.name().equals("artifact"))
                .findFirst()
                .orElseThrow();
        assertThat(artifact.data().path("name").asString()).isEqualTo("report.txt");
        assertThat(berth.get(key, artifact.data().path("url").asString()).body())
                .isEqualTo("ready\n");
        assertThat(models.header("streamed", "Authorization")).isEqualTo("Bearer " + VALUE);
        assertThat(talk.run("printenv LLM_KEY; cat ~/.pi/agent/models.json"))
                .contains("berth-LLM_KEY-")
                .doesNotContain(VALUE);
    }

    @Test
    void whoeverWantsNoEventsWaitsForTheEndAndFindsTheRunAgain() {
        Talk talk = Talk.with("waited");
        talk.model().says("Six times seven is 42.").says("You asked for six times seven.");
        JsonNode run = good(talk.say("what is six times seven?", "Prefer", "wait=120"));
        assertThat(run.path("state").asString()).as(run.toString()).isEqualTo("done");
        assertThat(run.path("answer").asString()).isEqualTo("Six times seven is 42.");
        JsonNode next = good(talk.say("what did I ask?", "Prefer", "wait=120"));
        assertThat(next.path("answer").asString()).isEqualTo("You asked for six times seven.");
        assertThat(talk.model().lastRequest()).contains("what is six times seven?");
        JsonNode runs = good(berth.get(key, talk.path("/runs"))).path("runs");
        assertThat(runs)
                .extracting(it -> it.path("run_id").asString())
                .containsExactly(
                        next.path("run_id").asString(), run.path("run_id").asString());
        assertThat(good(berth.get(key, talk.path("/runs/" + run.path("run_id").asString())))
                        .path("answer")
                        .asString())
                .isEqualTo("Six times seven is 42.");
        assertThat(good(berth.get(key, talk.path("/history"))).path("messages"))
                .extracting(it -> it.path("by").asString())
                .containsExactly("person", "agent", "person", "agent");
        String other = berth.tenant("strangers");
        assertThat(berth.get(other, talk.path("/runs/" + run.path("run_id").asString()))
                        .status())
                .isEqualTo(404);
        assertThat(berth.get(other, talk.path("/history")).status()).isEqualTo(404);
        good(berth.post(key, talk.path("/agent/reset"), ""));
        talk.model().says("I do not know.");
        good(talk.say("and now?", "Prefer", "wait=120"));
        assertThat(talk.model().lastRequest()).doesNotContain("what is six times seven?");
    }

    @Test
    void aRunGoesOnWithoutItsClientAndIsSteeredAndFollowedFromAnyEventOn() {
        Talk talk = Talk.with("left");
        CountDownLatch goOn = new CountDownLatch(1);
        assertThat(berth.post(key, talk.path("/steer"), "{\"text\":\"hm\"}").status())
                .isEqualTo(404);
        talk.model().pauses("One", goOn, ", two").says("And three.").says("With pleasure.");
        String run;
        Event first;
        try (EventReader stream = talk.stream("count")) {
            first = stream.next("text");
            run = first.data().path("run_id").asString();
        }
        assertThat(talk.say("go on to three", "Prefer", "respond-async")
                        .json()
                        .path("run_id")
                        .asString())
                .isEqualTo(run);
        Reply steered = berth.post(key, talk.path("/steer"), "{\"text\":\"please\",\"person\":\"Ann\\u0000\"}");
        assertThat(steered.status()).as(steered.body()).isEqualTo(202);
        goOn.countDown();
        List<Event> rest;
        try (EventReader stream =
                berth.events(key, talk.path("/runs/" + run + "/events"), Map.of("Last-Event-ID", first.id()))) {
            rest = all(stream);
        }
        assertThat(texts(rest)).startsWith(", two").doesNotContain("One");
        assertThat(rest.getLast().name()).isEqualTo("done");
        assertThat(rest.getLast().data().path("state").asString()).isEqualTo("done");
        try (EventReader stream = berth.events(
                key,
                talk.path("/runs/" + run + "/events"),
                Map.of("Last-Event-ID", rest.getLast().id()))) {
            assertThat(all(stream)).extracting(Event::name).containsExactly("status", "done");
        }
        assertThat(berth.post(key, talk.path("/steer"), "{\"text\":\"more\"}").status())
                .isEqualTo(409);
    }

    @Test
    void aRunCanBeStopped() {
        Talk talk = Talk.with("stopped");
        CountDownLatch never = new CountDownLatch(1);
        talk.model().pauses("Well", never, "…");
        try (EventReader stream = talk.stream("think for long")) {
            stream.next("text");
            assertThat(good(berth.post(key, talk.path("/abort"), ""))
                            .path("aborted")
                            .asBoolean())
                    .isTrue();
            assertThat(stream.next("done").data().path("state").asString()).isEqualTo("aborted");
        } finally {
            never.countDown();
        }
        assertThat(good(berth.post(key, talk.path("/abort"), ""))
                        .path("aborted")
                        .asBoolean())
                .isFalse();
    }

    @Test
    void filesOfAFormAreInTheWorkspaceUnderSafeNamesAndTheAgentIsTold() {
        Talk talk = Talk.with("files");
        talk.model().says("Thank you.");
        String form = part("text", "", "look at these") + part("upload", "../../no\u202ete.txt", "one\r\n--two")
                + part("upload", "note.txt", "") + "--XX--";
        Reply reply = berth.send(request(talk.path("/prompt"))
                .header("Content-Type", "multipart/form-data; boundary=XX")
                .header("Prefer", "wait=120")
                .POST(BodyPublishers.ofString(form))
                .build());
        assertThat(good(reply).path("state").asString()).as(reply.body()).isEqualTo("done");
        assertThat(talk.run("cd uploads && ls && cat n*te.txt").lines().toList())
                .hasSize(4)
                .contains("one", "--two");
        assertThat(talk.model().lastRequest()).contains("look at these", "uploads/", "note.txt");
    }

    private static String part(String name, String file, String content) {
        return "--XX\r\nContent-Disposition: form-data; name=\"" + name + "\""
                + (file.isEmpty() ? "" : "; filename=\"" + file + "\"") + "\r\n\r\n" + content + "\r\n";
    }

    @Test
    void aBodyThatBreaksOffLeavesNeitherFilesNorARun() throws Exception {
        Talk talk = Talk.with("broken");
        byte[] body = (part("text", "", "hello") + part("upload", "whole.txt", "whole")
                        + "--XX\r\nContent-Disposition: form-data; name=\"u\"; filename=\"half.txt\"\r\n\r\nhal")
                .getBytes(StandardCharsets.UTF_8);
        URI url = URI.create(berth.url());
        try (Socket socket = new Socket(url.getHost(), url.getPort())) {
            OutputStream out = socket.getOutputStream();
            out.write(("POST " + talk.path("/prompt") + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + key
                            + "\r\nContent-Type: multipart/form-data; boundary=XX\r\nContent-Length: "
                            + (body.length + 1000) + "\r\n\r\n")
                    .getBytes(StandardCharsets.US_ASCII));
            out.write(body);
            out.flush();
            socket.shutdownOutput();
            try (InputStream in = socket.getInputStream()) {
                assertThat(new String(in.readAllBytes(), StandardCharsets.UTF_8))
                        .doesNotContain(" 200 ", " 202 ");
            }
        }
        assertThat(talk.run("find . -name '*.txt*' -o -name '.*half*'")).isEmpty();
        assertThat(good(berth.get(key, talk.path("/runs"))).path("runs")).isEmpty();
        assertThat(talk.model().requests()).isEmpty();
    }

    @Test
    void aLongPromptWithControlCharactersArrives() {
        Talk talk = Talk.with("long");
        talk.model().says("That was long.");
        String text = "begin \u0000\u001b[31m\u0007\ud800 " + "words and words ".repeat(13_000) + " the end";
        JsonNode run = good(talk.say(text, "Prefer", "wait=120"));
        assertThat(run.path("state").asString())
                .as(run.path("error").asString())
                .isEqualTo("done");
        assertThat(run.path("prompt").asString().length()).isLessThan(10_001);
        assertThat(talk.model().lastRequest().length()).isGreaterThan(200_000);
        assertThat(talk.model().lastRequest()).contains("words  the end");
        Reply tooLong = talk.say("x".repeat((1 << 20) + 1));
        assertThat(tooLong.status()).isEqualTo(400);
        assertThat(tooLong.body()).contains("1,048,576");
        assertThat(talk.say(" \n ").status()).isEqualTo(400);
        assertThat(talk.say(Map.of("text", "x", "files", List.of("../../etc/passwd")))
                        .status())
                .isEqualTo(403);
    }

    @Test
    void aRepeatedRequestFindsTheSameRun() {
        Talk talk = Talk.with("repeated");
        talk.model().says("Once.");
        String name = UUID.randomUUID().toString();
        JsonNode first = good(talk.say("only once", "Idempotency-Key", name, "Prefer", "respond-async"));
        Reply again = talk.say("only once", "Idempotency-Key", name, "Prefer", "wait=120");
        assertThat(again.header("Idempotency-Replayed")).isEqualTo("true");
        assertThat(again.json().path("run_id")).isEqualTo(first.path("run_id"));
        assertThat(again.json().path("answer").asString()).as(again.body()).isEqualTo("Once.");
        assertThat(good(berth.get(key, talk.path("/runs"))).path("runs")).hasSize(1);
        assertThat(talk.say("another", "Idempotency-Key", name).status()).isEqualTo(422);
    }

    @Test
    void theAgentsOwnToolsFollowTheSessionsPermissionMode() {
        Talk talk = Talk.with("careful");
        good(berth.post(
                key,
                "/v1/sessions",
                JSON.writeValueAsString(Map.of(
                        "session_id",
                        "careful",
                        "template",
                        TestingTemplates.agent().id(),
                        "permission_mode",
                        "ask",
                        "network",
                        Map.of("mode", "restricted", "secrets", List.of("LLM_KEY"))))));
        talk.model()
                .calls("bash", Map.of("command", "echo denied > denied.txt"))
                .calls("bash", Map.of("command", "echo first > first.txt"))
                .calls("bash", Map.of("command", "echo second > second.txt"))
                .says("Done.");
        try (EventReader stream = talk.stream("do three things")) {
            JsonNode asked = stream.next("approval").data();
            assertThat(asked.path("state").asString()).isEqualTo("requested");
            assertThat(asked.path("tool").asString()).isEqualTo("bash");
            JsonNode approval = good(
                    berth.get(key, "/v1/approvals/" + asked.path("approval_id").asString()));
            assertThat(approval.path("input").path("command").asString()).isEqualTo("echo denied > denied.txt");
            assertThat(approval.path("run_id")).isEqualTo(asked.path("run_id"));
            decide(asked, "deny");
            assertThat(stream.next("approval").data().path("state").asString()).isEqualTo("denied");
            decide(stream.next("approval").data(), "always");
            JsonNode allowed = stream.next("approval").data();
            assertThat(allowed.path("state").asString()).isEqualTo("approved");
            assertThat(allowed.path("decided_by").asString()).startsWith("key:");
            JsonNode done = stream.next("done").data();
            assertThat(done.path("answer").asString()).as(done.toString()).isEqualTo("Done.");
        }
        String files = good(berth.post(key, "/v1/sandbox/glob", "{\"session_id\":\"careful\",\"pattern\":\"*.txt\"}"))
                .path("files")
                .toString();
        assertThat(files).contains("first.txt", "second.txt").doesNotContain("denied.txt");
        assertThat(good(berth.get(key, "/v1/approvals?session_id=careful")).path("approvals"))
                .hasSize(2);
    }

    private static void decide(JsonNode asked, String decision) {
        String path = "/v1/approvals/" + asked.path("approval_id").asString();
        assertThat(good(berth.post(key, path, "{\"decision\":\"" + decision + "\"}"))
                        .path("state")
                        .asString())
                .isEqualTo(decision.equals("deny") ? "denied" : "approved");
        assertThat(berth.post(key, path, "{\"decision\":\"approve\"}").status()).isEqualTo(409);
    }

    @Test
    void withoutAModelItIsSaidWhatToSet() {
        Reply reply = berth.post(key, "/v1/sessions/nothing/prompt", "{\"text\":\"hello\"}");
        assertThat(reply.status()).isEqualTo(501);
        assertThat(reply.json().path("detail").asString()).contains("agent.model.provider", "agent.model.name");
        assertThat(berth.get(key, "/v1/sessions/nothing").status()).isEqualTo(404);
    }

    @Test
    void aSessionThatCannotReachItsModelIsToldSoBeforeAnythingRuns() {
        Talk talk = Talk.with("closed");
        good(berth.post(key, "/v1/sessions", "{\"session_id\":\"closed\"}"));
        Reply reply = talk.say("hello");
        assertThat(reply.status()).isEqualTo(409);
        assertThat(reply.json().path("detail").asString()).contains("has no network", "/network");
    }

    @Test
    void aSessionsChoiceGoesBeforeThatOfItsTenant() {
        String rich = berth.tenant("choosers");
        Map<String, Object> model = Map.of("provider", "p", "name", "m", "url", "https://one.example/v1");
        String tenant = "/v1/tenants/choosers/agent";
        good(berth.send(
                rich, "PUT", tenant, JSON.writeValueAsString(Map.of("model", model, "instructions", "Be brief."))));
        JsonNode chosen = good(berth.send(rich, "PUT", "/v1/sessions/s/agent", "{\"instructions\":\"Be long.\"}"));
        assertThat(chosen.path("own").has("model")).isFalse();
        assertThat(chosen.path("effective").path("instructions").asString()).isEqualTo("Be long.");
        assertThat(chosen.path("effective").path("runtime").asString()).isEqualTo("pi");
        assertThat(chosen.path("effective").path("model").path("url").asString())
                .isEqualTo("https://one.example/v1");
        assertThat(good(berth.get(rich, "/v1/sessions/t/agent"))
                        .path("effective")
                        .path("instructions")
                        .asString())
                .isEqualTo("Be brief.");
        assertThat(berth.get(key, tenant).status()).isEqualTo(404);
        refused(rich, "{\"runtime\":\"none\"}", "there are ");
        refused(rich, "{\"model\":{\"provider\":\"p\",\"name\":\"m\"}}", "url, or the secret");
        refused(rich, "{\"model\":{\"provider\":\"p\",\"name\":\"m\",\"secret\":\"GONE\"}}", "no secret 'GONE'");
        refused(rich, "{\"model\":{\"provider\":\"p\",\"name\":\"m\",\"url\":\"https://u:p@x.example\"}}", "password");
    }

    private static void refused(String who, String body, String why) {
        Reply reply = berth.send(who, "PUT", "/v1/sessions/s/agent", body);
        assertThat(reply.status()).as(reply.body()).isEqualTo(400);
        assertThat(reply.json().path("detail").asString()).contains(why);
    }
}
