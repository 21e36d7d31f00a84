package dev.berth.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import dev.berth.gateway.TestingBerth.Reply;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.Base64;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** What tenants' own servers are told. Needs root and crun. */
@Timeout(300)
class WebhookTest {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static TestingBerth berth;

    /** One call that arrived. */
    record Call(String id, String timestamp, String signature, String body) {
        JsonNode json() {
            return JSON.readTree(body);
        }
    }

    private final List<Call> calls = new CopyOnWriteArrayList<>();
    /** What to answer next; 204 when there is no more. */
    private final Deque<Integer> answers = new ArrayDeque<>();

    private HttpServer receiver;
    private String tenant;
    private String key;

    @BeforeAll
    static void start() {
        berth = new TestingBerth();
    }

    @AfterAll
    static void stop() {
        berth.close();
    }

    @BeforeEach
    void listen() throws IOException {
        tenant = "hooked" + Long.toHexString(System.nanoTime());
        key = berth.tenant(tenant);
        receiver = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        receiver.createContext("/", exchange -> {
            calls.add(new Call(
                    exchange.getRequestHeaders().getFirst("webhook-id"),
                    exchange.getRequestHeaders().getFirst("webhook-timestamp"),
                    exchange.getRequestHeaders().getFirst("webhook-signature"),
                    new String(exchange.getRequestBody().readAllBytes(), UTF_8)));
            Integer status;
            synchronized (answers) {
                status = answers.poll();
            }
            exchange.getResponseHeaders().add("Location", "http://127.0.0.1:1/elsewhere");
            exchange.sendResponseHeaders(status == null ? 204 : status, -1);
            exchange.close();
        });
        receiver.start();
    }

    @AfterEach
    void hangUp() {
        receiver.stop(0);
    }

    private JsonNode hook() {
        Reply made = berth.post(
                key,
                "/v1/webhooks",
                "{\"url\":\"http://127.0.0.1:" + receiver.getAddress().getPort() + "/hook?x=1\"}");
        assertThat(made.status()).as(made.body()).isEqualTo(201);
        return made.json();
    }

    private String job(String command) {
        Reply reply = berth.post(
                key,
                "/v1/sandbox/bash",
                JSON.writeValueAsString(Map.of("session_id", "s", "command", command, "background", true)));
        assertThat(reply.status()).as(reply.body()).isEqualTo(202);
        return reply.json().path("job_id").asString();
    }

    private JsonNode delivery(JsonNode hook) {
        return berth.get(key, "/v1/webhooks/" + hook.path("webhook_id").asString() + "/deliveries")
                .json()
                .path("deliveries")
                .path(0);
    }

    private void awaitState(JsonNode hook, String state) {
        JobApiTest.await(
                "a delivery that is " + state,
                () -> delivery(hook).path("state").asString().equals(state));
    }

    @Test
    void theEndOfAJobIsToldSignedAndOnce() throws Exception {
        JsonNode hook = hook();
        String id = job("exit 3");
        awaitState(hook, "delivered");
        assertThat(calls).hasSize(1);
        Call call = calls.getFirst();
        assertThat(call.json().path("type").asString()).isEqualTo("agent.finished");
        assertThat(call.json().path("data").path("job_id").asString()).isEqualTo(id);
        assertThat(call.json().path("data").path("exit_code").asInt()).isEqualTo(3);
        String secret = hook.path("secret").asString();
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(Base64.getDecoder().decode(secret.substring("whsec_".length())), "HmacSHA256"));
        byte[] signed = mac.doFinal((call.id() + "." + call.timestamp() + "." + call.body()).getBytes(UTF_8));
        assertThat(call.signature()).isEqualTo("v1," + Base64.getEncoder().encodeToString(signed));
        assertThat(Long.parseLong(call.timestamp()))
                .isBetween(System.currentTimeMillis() / 1000 - 60, System.currentTimeMillis() / 1000 + 1);
        assertThat(berth.get(key, "/v1/webhooks").body()).doesNotContain(secret);
        List<String> stored = berth.database()
                .query(handle -> handle.createQuery("SELECT encode(secret_sealed, 'escape') FROM webhooks")
                        .mapTo(String.class)
                        .list());
        assertThat(stored).isNotEmpty().noneMatch(text -> text.contains(secret));
    }

    @Test
    void whatFailedIsToldAgainUnderTheSameIdAndRedirectsAreNotFollowed() {
        synchronized (answers) {
            answers.addAll(List.of(500, 302, 429));
        }
        JsonNode hook = hook();
        job("true");
        awaitState(hook, "delivered");
        assertThat(calls).hasSize(4);
        assertThat(calls.stream().map(Call::id).distinct()).hasSize(1);
        assertThat(calls.stream().map(Call::body).distinct()).hasSize(1);
        assertThat(delivery(hook).path("attempts").asInt()).isEqualTo(4);
    }

    @Test
    void oneThatSaysItIsGoneIsNotCalledAgain() {
        synchronized (answers) {
            answers.add(410);
        }
        JsonNode hook = hook();
        job("true");
        awaitState(hook, "given_up");
        assertThat(berth.get(key, "/v1/webhooks")
                        .json()
                        .path("webhooks")
                        .path(0)
                        .path("enabled")
                        .asBoolean())
                .isFalse();
        String second = job("true");
        JobApiTest.await(
                "the second ends",
                () -> berth.get(key, "/v1/sessions/s/jobs?state=running")
                        .json()
                        .path("jobs")
                        .isEmpty());
        assertThat(delivery(hook).path("job_id").asString()).isNotEqualTo(second);
        assertThat(calls).hasSize(1);
    }

    @Test
    void aResultThatWasReadIsNotToldAnyMore() {
        receiver.stop(0); // so that the first attempt fails
        JsonNode hook = hook();
        String id = job("true");
        JobApiTest.await(
                "an attempt",
                () -> delivery(hook).path("attempts").asInt() > 0
                        && delivery(hook).has("last_error"));
        assertThat(berth.get(key, "/v1/jobs/" + id).status()).isEqualTo(200);
        awaitState(hook, "observed");
    }

    @Test
    void onlyTheTenantsOwnAreThereAndStrangeAddressesAreRefused() {
        JsonNode hook = hook();
        String rival = berth.tenant(tenant + "-rival");
        String path = "/v1/webhooks/" + hook.path("webhook_id").asString();
        assertThat(berth.get(rival, path + "/deliveries").status()).isEqualTo(404);
        assertThat(berth.delete(rival, path).status()).isEqualTo(404);
        for (String url :
                List.of("ftp://host/x", "http://", "not a url", "http://user:pw@127.0.0.1/", "file:///etc/passwd")) {
            assertThat(berth.post(key, "/v1/webhooks", JSON.writeValueAsString(Map.of("url", url)))
                            .status())
                    .as(url)
                    .isEqualTo(400);
        }
        assertThat(berth.delete(key, path).status()).isEqualTo(204);
        assertThat(berth.delete(key, path).status()).isEqualTo(404);
    }
}
