package dev.berth.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.gateway.TestingBerth.Reply;
import dev.berth.sandbox.Network.Mode;
import dev.berth.session.LoggedEvent;
import dev.berth.session.SessionKey;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;

/** What sessions may reach, from the API to the programs inside. Needs root and crun. */
@Timeout(300)
class NetworkApiTest {
    private static final String PATH = "/v1/sessions";

    private static TestingBerth berth;
    private static String acme;
    private static String rival;

    @BeforeAll
    static void start() {
        berth = new TestingBerth();
        acme = berth.tenant("acme");
        rival = berth.tenant("rival");
    }

    @AfterAll
    static void stop() {
        berth.close();
    }

    private static Reply make(String name, String network) {
        return berth.post(acme, PATH, "{\"session_id\": \"" + name + "\", \"network\": " + network + "}");
    }

    private static Reply bash(String session, String command) {
        return berth.post(
                acme,
                "/v1/sandbox/bash",
                "{\"session_id\": \"" + session + "\", \"command\": \"" + command.replace("\"", "\\\"") + "\"}");
    }

    @Test
    void aSessionHasNoNetworkUnlessItIsSaid() {
        Reply made = berth.post(acme, PATH, "{\"session_id\": \"closed\"}");
        assertThat(made.json().path("network").path("mode").asString()).isEqualTo("none");
        assertThat(bash("closed", "env | grep -ci proxy; curl -sS http://127.0.0.1:3128/ 2>&1")
                        .body())
                .contains("\"stdout\":\"0\\n", "Failed to connect");
    }

    @Test
    void programsInsideSeeWhyTheyAreRefusedAndSoDoesTheLog() throws InterruptedException {
        Reply made = make("told", "{\"mode\": \"restricted\", \"allow\": [{\"to\": \"allowed.test\"}]}");
        assertThat(made.status()).as(made.body()).isEqualTo(201);
        assertThat(made.json().path("network").path("allow").path(0).path("to").asString())
                .isEqualTo("allowed.test");
        String refused = bash("told", "curl -sS -i http://elsewhere.test/ 2>&1").body();
        assertThat(refused).containsIgnoringCase("403").containsIgnoringCase("x-berth-refused: not_allowed");
        assertThat(bash("told", "curl -sS https://elsewhere.test/ 2>&1").body()).contains("403");
        LoggedEvent visit = event("told", "egress.visit");
        assertThat(visit.data())
                .containsEntry("host", "elsewhere.test")
                .containsEntry("decision", "refused")
                .containsEntry("reason", "not_allowed");
        assertThat(berth.get(TestingBerth.ADMIN, "/metrics").body())
                .contains("berth_egress_connections_total{decision=\"refused\"}");
    }

    private static LoggedEvent event(String session, String type) throws InterruptedException {
        long deadline = System.nanoTime() + Duration.ofSeconds(60).toNanos();
        while (System.nanoTime() < deadline) {
            Optional<LoggedEvent> found =
                    berth.sessions().events().read(SessionKey.of("acme", session), 0, 1000).stream()
                            .filter(event -> event.type().equals(type))
                            .findFirst();
            if (found.isPresent()) {
                return found.get();
            }
            Thread.sleep(Duration.ofMillis(100));
        }
        throw new AssertionError("no event " + type);
    }

    @Test
    void aChangeCountsAtOnceAndIsShown() {
        berth.post(acme, PATH, "{\"session_id\": \"live\"}");
        Reply changed = berth.send(
                acme, "PUT", PATH + "/live/network", "{\"mode\": \"restricted\", \"caps\": {\"connections\": 7}}");
        assertThat(changed.status()).as(changed.body()).isEqualTo(200);
        assertThat(berth.get(acme, PATH + "/live/network").json()).isEqualTo(changed.json());
        assertThat(changed.json().path("caps").path("connections").asInt()).isEqualTo(7);
        assertThat(bash("live", "curl -sS -i http://elsewhere.test/ 2>&1").body())
                .containsIgnoringCase("x-berth-refused");
        assertThat(berth.send(acme, "PUT", PATH + "/live/network", "{\"mode\": \"none\"}")
                        .status())
                .isEqualTo(200);
        assertThat(bash("live", "curl -sS http://127.0.0.1:3128/ 2>&1; env | grep -ci proxy")
                        .body())
                .contains("Failed to connect", "0\\n");
        assertThat(berth.sessions()
                        .find(SessionKey.of("acme", "live"))
                        .orElseThrow()
                        .network()
                        .mode())
                .isEqualTo(Mode.NONE);
    }

    @Test
    void everythingThatIsWrongIsToldWithItsPlace() {
        Reply wrong = make("wrong", """
                {"mode": "restricted", "allow": [{"to": "*"}, {"to": "a.test", "ports": [0]}]}""");
        assertThat(wrong.status()).isEqualTo(400);
        assertThat(wrong.body()).contains("network.allow[0].to: ", "network.allow[1].ports: ");
        assertThat(berth.get(acme, PATH + "/wrong").status()).isEqualTo(404);
        Reply secret = make("wrong", "{\"mode\": \"restricted\", \"secrets\": [\"NOT_THERE\"]}");
        assertThat(secret.status()).isEqualTo(400);
        assertThat(secret.body()).contains("network.secrets: there is no secret 'NOT_THERE'");
        berth.post(acme, PATH, "{\"session_id\": \"right\"}");
        Reply overlap = berth.send(acme, "PUT", PATH + "/right/network", """
                {"mode": "restricted", "allow": [{"to": "*.a.test"}, {"to": "b.a.test"}]}""");
        assertThat(overlap.status()).isEqualTo(400);
        assertThat(overlap.body()).contains("allow[1]: b.a.test is allowed by allow[0]");
    }

    @Test
    void aSecretIsAPlaceholderInside() {
        Reply set = berth.send(acme, "PUT", "/v1/secrets/MODEL_KEY", """
                {"value": "sk-very-real-value", "prefix": "sk-",
                 "bindings": [{"hosts": ["model.test"], "header": {"name": "Authorization", "value": "Bearer {}"}}]}""");
        assertThat(set.status()).as(set.body()).isEqualTo(201);
        Reply made = make("secret", "{\"mode\": \"restricted\", \"secrets\": [\"MODEL_KEY\"]}");
        assertThat(made.status()).as(made.body()).isEqualTo(201);
        String inside =
                bash("secret", "printenv MODEL_KEY").json().path("stdout").asString();
        assertThat(inside).startsWith("sk-berth-").doesNotContain("very-real");
        // To a host that it is not bound to it does not go, whoever asks.
        assertThat(bash("secret", "curl -sS -i -H \"X: $MODEL_KEY\" http://elsewhere.test/ 2>&1")
                        .body())
                .containsIgnoringCase("x-berth-refused");
    }

    @Test
    void anotherTenantsSecretIsNotThere() {
        berth.send(acme, "PUT", "/v1/secrets/ACMES_OWN", "{\"value\": \"a-real-value\"}");
        Reply hers = naming("ACMES_OWN");
        assertThat(hers.status()).isEqualTo(400);
        assertThat(hers.json().path("detail").asString())
                .isEqualTo(naming("NOBODYS").json().path("detail").asString().replace("NOBODYS", "ACMES_OWN"));
    }

    private static Reply naming(String secret) {
        return berth.post(
                rival,
                PATH,
                "{\"session_id\": \"theirs\", \"network\": {\"mode\": \"restricted\", \"secrets\": [\"" + secret
                        + "\"]}}");
    }

    @Test
    void aConfigurationSaysWhatItsSandboxesReach() {
        Reply made = berth.post(acme, "/v1/accounts/me/sandboxes", """
                {"name": "networked", "config": {"permissionMode": "bypass",
                 "network": {"mode": "restricted", "allow": [{"to": "allowed.test"}]}}}""");
        assertThat(made.status()).as(made.body()).isEqualTo(201);
        Reply both =
                berth.send(acme, "PATCH", "/v1/accounts/me/sandboxes/networked", "{\"config\": {\"internet\": false}}");
        assertThat(both.status()).isEqualTo(400);
        assertThat(both.body()).contains("internet: the same is said by network");
    }

    @Test
    void anotherTenantsNetworkIsNotThere() {
        make("mine", "{\"mode\": \"restricted\"}");
        assertThat(berth.get(rival, PATH + "/mine/network").status()).isEqualTo(404);
        assertThat(berth.send(rival, "PUT", PATH + "/mine/network", "{\"mode\": \"none\"}")
                        .status())
                .isEqualTo(404);
        JsonNode still = berth.get(acme, PATH + "/mine/network").json();
        assertThat(still.path("mode").asString()).isEqualTo("restricted");
        assertThat(List.of(still.path("allow").size(), still.path("secrets").size()))
                .containsExactly(0, 0);
    }
}
