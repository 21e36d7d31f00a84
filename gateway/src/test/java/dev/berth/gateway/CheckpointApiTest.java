package dev.berth.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.gateway.TestingBerth.Reply;
import java.time.Instant;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** Sessions with metadata and an end, and checkpoints that outlive theirs. Needs root and crun. */
class CheckpointApiTest {
    private static TestingBerth berth;
    private static String key;

    @BeforeAll
    static void start() {
        berth = new TestingBerth();
        key = berth.tenant("acme");
    }

    @AfterAll
    static void stop() {
        berth.close();
    }

    @Test
    void aSessionIsMadeFromAKeptCheckpointOfOneThatIsGone() {
        bash("origin", "echo kept > file");
        JsonNode kept = made("/v1/checkpoints", "{\"session_id\":\"origin\",\"name\":\"good\"}");
        String id = kept.path("checkpoint_id").asString();
        assertThat(berth.post(key, "/v1/checkpoints", "{\"session_id\":\"origin\",\"name\":\"good\"}")
                        .status())
                .isEqualTo(409);
        assertThat(berth.delete(key, "/v1/sessions/origin").status()).isEqualTo(204);
        assertThat(berth.get(key, "/v1/checkpoints?session_id=origin")
                        .json()
                        .path("checkpoints")
                        .get(0))
                .isEqualTo(kept);
        assertThat(berth.get(key, "/v1/checkpoints?after_checkpoint=" + id)
                        .json()
                        .path("checkpoints"))
                .isEmpty();

        made("/v1/sessions", "{\"session_id\":\"copy\",\"checkpoint\":\"good\"}");
        assertThat(bash("copy", "cat file")).contains("kept");
        assertThat(berth.post(key, "/v1/sessions", "{\"session_id\":\"copy\",\"checkpoint\":\"good\"}")
                        .status())
                .isEqualTo(409);
        assertThat(berth.delete(key, "/v1/checkpoints/" + id).status()).isEqualTo(204);
        assertThat(berth.delete(key, "/v1/checkpoints/" + id).status()).isEqualTo(404);
        assertThat(berth.post(key, "/v1/sessions", "{\"checkpoint\":\"" + id + "\"}")
                        .status())
                .isEqualTo(404);
        assertThat(bash("copy", "cat file")).contains("kept");
    }

    @Test
    void metadataAndExpiryAreShownAndTheEndCanBeMoved() {
        String path = "/v1/sessions/mortal";
        JsonNode session = made("/v1/sessions", """
                {"session_id": "mortal", "metadata": {"user": "ann"}, "expiry": {"after": 600, "then": "pause"}}""");
        assertThat(session.path("metadata").path("user").asString()).isEqualTo("ann");
        assertThat(session.path("expiry").path("then").asString()).isEqualTo("pause");
        assertThat(session.path("expiry").path("after").asDouble()).isEqualTo(600);
        Instant end = Instant.parse(session.path("expires_at").asString());
        assertThat(end).isBetween(Instant.now().plusSeconds(500), Instant.now().plusSeconds(601));

        JsonNode sooner = changed(path, "{\"expires_in\":60}");
        assertThat(Instant.parse(sooner.path("expires_at").asString())).isBefore(end);
        JsonNode other = changed(path, "{\"expiry\":{\"after\":30,\"then\":\"stop\"}}");
        assertThat(other.path("expiry").path("then").asString()).isEqualTo("stop");
        JsonNode never = changed(path, "{\"expiry\":null}");
        assertThat(never.has("expiry")).isFalse();
        assertThat(never.has("expires_at")).isFalse();
        assertThat(berth.send(key, "PATCH", path, "{\"expires_in\":60}").status())
                .isEqualTo(409);
        assertThat(berth.post(key, "/v1/sessions", "{\"expiry\":{\"after\":30,\"then\":\"explode\"}}")
                        .status())
                .isEqualTo(400);
    }

    private static JsonNode changed(String path, String change) {
        Reply reply = berth.send(key, "PATCH", path, change);
        assertThat(reply.status()).as(reply.body()).isEqualTo(200);
        return reply.json();
    }

    private static JsonNode made(String path, String body) {
        Reply reply = berth.post(key, path, body);
        assertThat(reply.status()).as(reply.body()).isEqualTo(201);
        return reply.json();
    }

    private static String bash(String session, String command) {
        Reply reply = berth.post(
                key, "/v1/sandbox/bash", "{\"session_id\":\"" + session + "\",\"command\":\"" + command + "\"}");
        assertThat(reply.status()).as(reply.body()).isEqualTo(200);
        return reply.body();
    }
}
