package dev.berth.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.gateway.TestingBerth.Reply;
import dev.berth.gateway.auth.Scope;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Secrets over HTTP. Needs root and crun. */
class SecretApiTest {
    private static final String PATH = "/v1/secrets/";

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

    private static Reply put(String key, String name, String json) {
        return berth.send(key, "PUT", PATH + name, json);
    }

    @Test
    void aValueGoesInAndNeverComesOut() {
        Reply made = put(acme, "OPENAI", """
                {"value": "sk-the-real-one", "env": "OPENAI_API_KEY", "prefix": "sk-",
                 "bindings": [{"hosts": ["API.openai.com"], "methods": ["POST"], "paths": ["/v1/*"]}]}""");
        assertThat(made.status()).as(made.body()).isEqualTo(201);
        Reply changed = put(acme, "OPENAI", "{\"value\": \"sk-the-real-two\"}");
        assertThat(changed.status()).as(changed.body()).isEqualTo(200);
        Reply shown = berth.get(acme, PATH + "OPENAI");
        assertThat(shown.json().path("env").asString()).isEqualTo("OPENAI_API_KEY");
        assertThat(shown.json().path("bindings").get(0).toString()).isEqualTo("""
                {"hosts":["api.openai.com"],"ports":[443],"methods":["POST"],"paths":["/v1/*"],\
                "header":{"name":"Authorization","value":"Bearer {}"},"plain":false}""");
        assertThat(shown.json().has("last_used_at")).isFalse();
        Reply listed = berth.get(acme, "/v1/secrets");
        assertThat(listed.body()).contains("OPENAI");
        for (Reply reply : List.of(made, changed, shown, listed)) {
            assertThat(reply.body()).doesNotContain("the-real");
        }
    }

    @Test
    void whatIsRemovedIsNotFound() {
        put(acme, "GONE", "{\"value\": \"v\"}");
        assertThat(berth.delete(acme, PATH + "GONE").status()).isEqualTo(204);
        assertThat(berth.get(acme, PATH + "GONE").status()).isEqualTo(404);
        assertThat(berth.delete(acme, PATH + "GONE").status()).isEqualTo(404);
        assertThat(put(acme, "GONE", "{\"env\": \"X\"}").status()).isEqualTo(404);
    }

    @Test
    void aKeyWithoutTheScopeCannotEvenLook() {
        put(acme, "HIDDEN", "{\"value\": \"v\"}");
        Set<Scope> others = EnumSet.allOf(Scope.class);
        others.remove(Scope.SECRETS);
        String key = berth.key("acme", others);
        assertThat(berth.get(key, "/v1/secrets").status()).isEqualTo(403);
        assertThat(berth.get(key, PATH + "HIDDEN").status()).isEqualTo(403);
        assertThat(put(key, "HIDDEN", "{\"bindings\": [{\"hosts\": [\"evil.example\"]}]}")
                        .status())
                .isEqualTo(403);
        assertThat(berth.delete(key, PATH + "HIDDEN").status()).isEqualTo(403);
        assertThat(berth.get(berth.key("acme", Set.of(Scope.SECRETS)), PATH + "HIDDEN")
                        .status())
                .isEqualTo(200);
    }

    @Test
    void theOperatorWorksForATenant() {
        Reply made = put(TestingBerth.ADMIN, "THEIRS?tenant_id=acme", "{\"value\": \"v\"}");
        assertThat(made.status()).as(made.body()).isEqualTo(201);
        assertThat(berth.get(acme, PATH + "THEIRS").status()).isEqualTo(200);
        assertThat(put(TestingBerth.ADMIN, "THEIRS?tenant_id=nobody", "{\"value\": \"v\"}")
                        .status())
                .isEqualTo(404);
    }

    @Test
    void everythingThatIsWrongIsToldAtOnceWithoutTheValue() {
        Reply sense = put(acme, "WRONG", """
                {"value": "two\\nlines-of-it",
                 "bindings": [{"hosts": ["10.0.0.1", "*.com"], "header": {"name": "Host", "value": "x"}, "plain": true}]}""");
        assertThat(sense.status()).isEqualTo(400);
        assertThat(sense.json().path("errors").size()).as(sense.body()).isEqualTo(5);
        assertThat(sense.body()).doesNotContain("lines-of-it");
        Reply shape = put(acme, "WRONG", """
                {"value": ["hidden-in-a-list"], "env": "no-variable", "bindings": [{"host": "x"}]}""");
        assertThat(shape.status()).isEqualTo(400);
        assertThat(shape.json().path("errors").size()).as(shape.body()).isGreaterThanOrEqualTo(4);
        assertThat(shape.body()).doesNotContain("hidden-in-a-list");
        Reply large = put(acme, "WRONG", "{\"value\": \"" + "too-large".repeat(10_000) + "\"}");
        assertThat(large.status()).isEqualTo(400);
        assertThat(large.body()).doesNotContain("too-large");
    }

    @Test
    void aBodyThatIsNoJsonIsNotRepeated() {
        for (String body :
                List.of("{\"value\": skrealone}", "skrealone", "{\"value\": \"skrealone", "{\"v\u0001skrealone")) {
            Reply reply = put(acme, "WRONG", body);
            assertThat(reply.status()).as(body).isEqualTo(400);
            assertThat(reply.body()).doesNotContain("skrealone");
        }
    }
}
