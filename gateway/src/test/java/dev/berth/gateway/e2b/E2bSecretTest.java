package dev.berth.gateway.e2b;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.gateway.TestingBerth;
import dev.berth.gateway.auth.Scope;
import dev.berth.gateway.e2b.E2bClient.Reply;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Secrets as E2B's clients keep them, over HTTP. */
class E2bSecretTest {
    private static TestingBerth berth;
    private static E2bClient acme;

    @BeforeAll
    static void start() {
        berth = new TestingBerth();
        acme = client(berth.tenant("acme"));
    }

    @AfterAll
    static void stop() {
        berth.close();
    }

    private static E2bClient client(String key) {
        return E2bClient.of(berth.url(), key);
    }

    @Test
    void aSecretIsMadeChangedFoundByNameAndIdAndRemoved() {
        Reply made = acme.post(
                "/secrets", "{\"name\": \"OpenAI-Api-Key\", \"value\": \"sk-one\", \"metadata\": {\"team\": \"a\"}}");
        assertThat(made.status()).isEqualTo(201);
        assertThat(made.json().path("name").asString()).isEqualTo("openai-api-key");
        assertThat(made.json().path("currentVersion").asInt()).isEqualTo(1);
        String id = made.json().path("secretID").asString();
        assertThat(id).startsWith("sec_");

        Reply changed = acme.post("/secrets/OpenAI-Api-Key", "{\"value\": \"sk-two\"}");
        assertThat(changed.status()).isEqualTo(200);
        assertThat(changed.json().path("currentVersion").asInt()).isEqualTo(2);
        assertThat(changed.json().path("metadata").path("team").asString()).isEqualTo("a");
        assertThat(acme.post("/secrets/" + id, "{\"value\": \"sk-three\", \"metadata\": {}}")
                        .json()
                        .path("metadata")
                        .isEmpty())
                .isTrue();

        Reply found = acme.get("/secrets/" + id);
        assertThat(found.json().path("currentVersion").asInt()).isEqualTo(3);
        assertThat(found.body() + made.body() + changed.body()).doesNotContain("sk-");
        assertThat(acme.post("/secrets", "{\"name\": \"openai-api-key\", \"value\": \"x\"}")
                        .status())
                .isEqualTo(409);
        assertThat(acme.get("/v1/secrets").body()).contains("openai_api_key_");

        assertThat(acme.delete("/secrets/openai-api-key").status()).isEqualTo(204);
        Reply gone = acme.get("/secrets/" + id);
        assertThat(gone.status()).isEqualTo(404);
        assertThat(gone.json().path("code").asInt()).isEqualTo(404);
        assertThat(acme.delete("/secrets/openai-api-key").status()).isEqualTo(404);
        assertThat(acme.post("/secrets/" + id, "{\"value\": \"x\"}").status()).isEqualTo(404);
    }

    @Test
    void aListComesInPages() {
        E2bClient other = client(berth.tenant("pages"));
        for (int i = 0; i < 5; i++) {
            other.post("/secrets", "{\"name\": \"s" + i + "\", \"value\": \"x\"}");
        }
        List<String> names = new ArrayList<>();
        String token = "";
        do {
            Reply page = other.get("/secrets?limit=2&nextToken=" + token);
            assertThat(page.json().size()).isLessThanOrEqualTo(2);
            page.json().forEach(secret -> names.add(secret.path("name").asString()));
            token = page.header("X-Next-Token");
        } while (!token.isEmpty());
        assertThat(names).containsExactlyInAnyOrder("s0", "s1", "s2", "s3", "s4");
        assertThat(other.get("/secrets?limit=x").status()).isEqualTo(400);
    }

    @Test
    void whatIsWrongIsRefusedAndTenantsAreApart() {
        acme.post("/secrets", "{\"name\": \"mine\", \"value\": \"x\"}");
        assertThat(client(berth.tenant("rival")).get("/secrets/mine").status()).isEqualTo(404);
        assertThat(client(berth.key("acme", Set.of(Scope.TOOLS)))
                        .get("/secrets/mine")
                        .status())
                .isEqualTo(403);
        assertThat(client("no-key").get("/secrets").status()).isEqualTo(401);
        for (String body : List.of(
                "{}",
                "[]",
                "{\"name\": \"\", \"value\": \"x\"}",
                "{\"name\": \"a{b\", \"value\": \"x\"}",
                "{\"name\": \"sec_a\", \"value\": \"x\"}",
                "{\"name\": \"empty\", \"value\": \"\"}",
                "{\"name\": \"lines\", \"value\": \"a\\nb\"}",
                "{\"name\": \"notes\", \"value\": \"x\", \"metadata\": []}",
                "{\"name\": \"notes\", \"value\": \"x\", \"metadata\": {\"a\": 1}}")) {
            assertThat(acme.post("/secrets", body).status()).as(body).isEqualTo(400);
        }
        assertThat(acme.send("PATCH", "/secrets/mine", "{}").status()).isEqualTo(405);
    }
}
