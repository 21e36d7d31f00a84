package dev.berth.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.gateway.TestingBerth.Reply;
import dev.berth.gateway.http.ServerConfig;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.time.Instant;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** A new key for sealing, in a whole server with something sealed in every table. Needs root and crun. */
class ResealTest {
    private static final byte[] FIRST = new byte[32];
    private static final byte[] SECOND = filled(2);
    private static final byte[] THIRD = filled(3);

    private static byte[] filled(int with) {
        byte[] key = new byte[32];
        Arrays.fill(key, (byte) with);
        return key;
    }

    @Test
    void everythingThatIsSealedOutlivesItsKey() {
        AtomicReference<List<byte[]>> keys = new AtomicReference<>(List.of(FIRST));
        try (TestingBerth berth = new TestingBerth(
                config -> GatewayConfig.of(ServerConfig.onLoopback(0), config.data(), TestingBerth.ADMIN, keys::get)
                        .withWebhooks(config.features().webhooks()))) {
            String acme = berth.tenant("acme");
            berth.send(acme, "PUT", "/v1/secrets/TOKEN", "{\"value\": \"v\"}");
            berth.post(
                    acme,
                    "/v1/accounts/me/sandboxes",
                    "{\"name\": \"c\", \"config\": {\"envVars\": {\"FOO\": \"v\"}}}");
            Reply webhook = create(berth, acme, "/v1/webhooks", "{\"url\": \"http://127.0.0.1:9/hook\"}");
            assertThat(webhook.status()).as(webhook.body()).isEqualTo(201);
            String approval = approval(berth, acme);
            assertThat(sealed(berth)).hasSize(5).doesNotContainNull();

            keys.set(List.of(SECOND, FIRST));
            Reply resealed = berth.post(TestingBerth.ADMIN, "/v1/admin/reseal", "");
            assertThat(resealed.status()).as(resealed.body()).isEqualTo(200);
            assertThat(resealed.json().path("resealed").asInt()).isEqualTo(5);
            assertThat(resealed.json().path("unopened").asInt()).isZero();
            keys.set(List.of(SECOND));
            berth.restart();
            works(berth, acme, webhook, approval);

            // And by a restart alone.
            List<String> before = sealed(berth);
            keys.set(List.of(THIRD, SECOND));
            berth.restart();
            Instant end = Instant.now().plusSeconds(60);
            while (!Collections.disjoint(sealed(berth), before)) {
                assertThat(Instant.now()).as("it is done at the start").isBefore(end);
                Thread.onSpinWait();
            }
            keys.set(List.of(THIRD));
            berth.restart();
            works(berth, acme, webhook, approval);
            assertThat(berth.post(acme, "/v1/admin/reseal", "").status()).isEqualTo(403);
        }
    }

    private static void works(TestingBerth berth, String acme, Reply webhook, String approval) {
        assertThat(berth.get(acme, "/v1/accounts/me/sandboxes/c").status()).isEqualTo(200);
        Reply again = create(berth, acme, "/v1/webhooks", "{\"url\": \"http://127.0.0.1:9/hook\"}");
        assertThat(again.body()).isEqualTo(webhook.body());
        assertThat(berth.get(acme, "/v1/approvals/" + approval).body()).contains("echo approved");
        assertThat(berth.send(acme, "PUT", "/v1/secrets/TOKEN", "{\"prefix\": \"sk-\"}")
                        .status())
                .isEqualTo(200);
    }

    private static Reply create(TestingBerth berth, String key, String path, String json) {
        return berth.send(HttpRequest.newBuilder(URI.create(berth.url() + path))
                .header("Authorization", "Bearer " + key)
                .header("Content-Type", "application/json")
                .header("Idempotency-Key", "the-same")
                .POST(BodyPublishers.ofString(json))
                .build());
    }

    private static String approval(TestingBerth berth, String key) {
        berth.post(key, "/v1/sessions", "{\"session_id\": \"careful\", \"permission_mode\": \"ask\"}");
        return berth.send(HttpRequest.newBuilder(URI.create(berth.url() + "/v1/sandbox/bash"))
                        .header("Authorization", "Bearer " + key)
                        .header("Content-Type", "application/json")
                        .header("Prefer", "respond-async")
                        .POST(BodyPublishers.ofString("{\"session_id\": \"careful\", \"command\": \"echo approved\"}"))
                        .build())
                .json()
                .path("approval_id")
                .asString();
    }

    /** Everything that is sealed, in all tables. */
    private static List<String> sealed(TestingBerth berth) {
        return berth.database()
                .query(handle -> handle.createQuery("""
                        SELECT md5(value_sealed) FROM secrets
                        UNION ALL SELECT md5(env_sealed) FROM sandbox_configs
                        UNION ALL SELECT md5(secret_sealed) FROM webhooks
                        UNION ALL SELECT md5(body) FROM approvals
                        UNION ALL SELECT md5(answer) FROM idempotency_keys""").mapTo(String.class).list());
    }
}
