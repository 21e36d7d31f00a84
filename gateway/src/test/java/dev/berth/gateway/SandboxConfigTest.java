package dev.berth.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.gateway.TestingBerth.Reply;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Named sandbox configurations. Needs root and crun. */
class SandboxConfigTest {
    private static final String PATH = "/v1/accounts/me/sandboxes";

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

    @Test
    void variablesAreSealedAtRestAndHiddenOnRead() {
        Reply made = berth.post(acme, PATH, """
                {"name": "sealed", "config": {"timeout": 120, "memoryLimit": 512, "outputLimitBytes": 65536,
                 "permissionMode": "bypass", "runtimes": ["bash", "python"], "envVars": {"FOO": "very-secret-value"}}}""");
        assertThat(made.status()).as(made.body()).isEqualTo(201);
        assertThat(made.body()).doesNotContain("very-secret-value").contains("********");
        String id = made.json().path("sandboxId").asString();
        assertThat(id).startsWith("sb_");
        assertThat(berth.get(acme, PATH + "/" + id).body()).contains("********").doesNotContain("very-secret");
        assertThat(berth.get(acme, PATH).body()).contains(id).doesNotContain("very-secret");
        List<String> rows = berth.database()
                .query(handle -> handle.createQuery(
                                "SELECT config::text || encode(env_sealed, 'escape') FROM sandbox_configs")
                        .mapTo(String.class)
                        .list());
        assertThat(rows).isNotEmpty().noneMatch(row -> row.contains("very-secret"));
    }

    @Test
    void theSeedsPathWorksToo() {
        Reply made = berth.post(acme, "/accounts/me/sandboxes", "{\"name\": \"old-path\", \"config\": {}}");
        assertThat(made.status()).as(made.body()).isEqualTo(201);
        assertThat(berth.get(acme, "/accounts/me/sandboxes/old-path").status()).isEqualTo(200);
    }

    @Test
    void everythingThatIsWrongIsToldAtOnce() {
        Reply shapes = berth.post(acme, PATH, """
                {"name": "x", "config": {"timeout": 0, "memoryLimit": "much", "runtimes": ["perl"], "unknown": 1,
                 "permissionMode": "maybe"}}""");
        assertThat(shapes.status()).isEqualTo(400);
        assertThat(shapes.json().path("errors").size()).as(shapes.body()).isGreaterThanOrEqualTo(5);

        Reply sense = berth.post(acme, PATH, """
                {"name": "x", "config": {"provider": "e2b", "internet": false, "lifecycle": {"idleTimeoutSeconds": 5},
                 "network": {"mode": "restricted", "allow": [{"to": "example.com"}, {"to": "*"}], "secrets": []}}}""");
        assertThat(sense.status()).isEqualTo(400);
        assertThat(sense.json().path("errors").size()).as(sense.body()).isEqualTo(4);
        assertThat(sense.body())
                .contains("'e2b' is not set up", "internet: the same is said by network", "network.allow[1].to: '*'");
        assertThat(berth.get(acme, PATH + "/x").status()).isEqualTo(404);
    }

    @Test
    void aChangeIsMergedAndCheckedAsAWhole() {
        berth.post(
                acme,
                PATH,
                "{\"name\": \"changed\", \"config\": {\"timeout\": 10, \"persistent\": true, \"envVars\": {\"A\": \"1\"}}}");
        Reply changed = berth.send(
                acme, "PATCH", PATH + "/changed", "{\"config\": {\"timeout\": 20, \"envVars\": {\"B\": \"2\"}}}");
        assertThat(changed.status()).as(changed.body()).isEqualTo(200);
        assertThat(changed.json().path("config").path("timeout").asInt()).isEqualTo(20);
        assertThat(changed.json().path("config").path("persistent").asBoolean()).isTrue();
        assertThat(changed.json().path("config").path("envVars").size()).isEqualTo(2);
        assertThat(berth.send(acme, "PATCH", PATH + "/changed", "{\"config\": {\"timeout\": 0}}")
                        .status())
                .isEqualTo(400);
        assertThat(berth.send(acme, "PATCH", PATH + "/changed", "{\"config\": {\"persistent\": null}}")
                        .json()
                        .path("config")
                        .has("persistent"))
                .isFalse();
        assertThat(berth.get(acme, PATH + "/changed")
                        .json()
                        .path("config")
                        .path("timeout")
                        .asInt())
                .isEqualTo(20);
    }

    @ParameterizedTest
    @ValueSource(strings = {"GET", "PATCH", "DELETE"})
    void anotherTenantsConfigurationIsNotThere(String method) {
        String name = "private-" + method.toLowerCase(java.util.Locale.ROOT);
        String id = berth.post(acme, PATH, "{\"name\": \"" + name + "\"}")
                .json()
                .path("sandboxId")
                .asString();
        String body = method.equals("PATCH") ? "{\"name\": \"mine\"}" : "";
        assertThat(berth.send(rival, method, PATH + "/" + id, body).status()).isEqualTo(404);
        assertThat(berth.send(rival, method, PATH + "/" + name, body).status()).isEqualTo(404);
        assertThat(berth.get(acme, PATH + "/" + id).status()).isEqualTo(200);
    }

    @Test
    void aChangeTakesEffectAtTheNextCall() {
        berth.post(
                acme, PATH, "{\"name\": \"live\", \"config\": {\"persistent\": true, \"permissionMode\": \"bypass\"}}");
        assertThat(callWith("live").json().path("ok").asBoolean()).isTrue();
        berth.send(acme, "PATCH", PATH + "/live", "{\"config\": {\"runtimes\": [\"python\"]}}");
        assertThat(callWith("live").json().path("error").path("code").asString())
                .isEqualTo("denied");
        berth.send(acme, "PATCH", PATH + "/live", "{\"name\": \"renamed\", \"config\": {\"runtimes\": [\"bash\"]}}");
        assertThat(callWith("live").status()).isEqualTo(404);
        assertThat(callWith("renamed").json().path("ok").asBoolean()).isTrue();
        assertThat(berth.delete(acme, PATH + "/renamed").status()).isEqualTo(204);
        assertThat(callWith("renamed").status()).isEqualTo(404);
    }

    private static Reply callWith(String config) {
        return berth.post(
                acme,
                "/v1/tools/bash",
                "{\"session_id\": \"live\", \"sandbox\": \"" + config + "\", \"command\": \"true\"}");
    }

    @Test
    void aNameIsTakenOnce() {
        assertThat(berth.post(acme, PATH, "{\"name\": \"once\"}").status()).isEqualTo(201);
        assertThat(berth.post(acme, PATH, "{\"name\": \"once\"}").status()).isEqualTo(409);
        assertThat(berth.post(rival, PATH, "{\"name\": \"once\"}").status()).isEqualTo(201);
        assertThat(berth.delete(acme, PATH + "/once").status()).isEqualTo(204);
        assertThat(berth.delete(acme, PATH + "/once").status()).isEqualTo(404);
    }
}
