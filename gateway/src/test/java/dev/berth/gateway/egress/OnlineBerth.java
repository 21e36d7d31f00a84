package dev.berth.gateway.egress;

import dev.berth.egress.internet.Internet;
import dev.berth.gateway.TestingBerth;
import dev.berth.gateway.TestingBerth.Reply;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The whole server, with a small internet in reach of its sandboxes. Needs root, crun and iproute2. */
final class OnlineBerth implements AutoCloseable {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int PATIENCE = 120;

    private final Internet internet = Internet.start();
    private final Path authorities;
    private final TestingBerth berth;
    private final String key;

    OnlineBerth() {
        try {
            authorities = Files.createTempFile("berth-authorities", ".pem");
            Files.writeString(authorities, internet.authority().pem());
        } catch (IOException e) {
            internet.close();
            throw new UncheckedIOException(e);
        }
        OutboundConfig outbound =
                OutboundConfig.DEFAULT.withDns(internet.names().address()).withAuthorities(authorities);
        berth = new TestingBerth(config -> config.withOutbound(outbound));
        key = berth.tenant("acme");
    }

    Internet internet() {
        return internet;
    }

    TestingBerth berth() {
        return berth;
    }

    /** Of the tenant whose sessions all are. */
    String key() {
        return key;
    }

    /** Sets a secret; a binding is JSON. */
    void secret(String name, String value, String binding) {
        String text = JSON.writeValueAsString(value);
        done(berth.send(
                key, "PUT", "/v1/secrets/" + name, "{\"value\": " + text + ", \"bindings\": [" + binding + "]}"));
    }

    /** Makes a session; the network is JSON. */
    void session(String name, String template, String network) {
        done(berth.post(
                key,
                "/v1/sessions",
                "{\"session_id\": \"" + name + "\", \"template\": \"" + template + "\", \"network\": " + network
                        + "}"));
    }

    void network(String session, String network) {
        done(berth.send(key, "PUT", "/v1/sessions/" + session + "/network", network));
    }

    void write(String session, String path, String content) {
        done(berth.post(
                key,
                "/v1/sandbox/write",
                JSON.writeValueAsString(Map.of("session_id", session, "path", path, "content", content))));
    }

    /** What a command in a session's sandbox has written, to either stream. */
    String run(String session, String command) {
        JsonNode result = done(berth.post(
                        key,
                        "/v1/sandbox/bash",
                        JSON.writeValueAsString(Map.of(
                                "session_id", session, "command", "{ " + command + "\n} 2>&1", "timeout", PATIENCE))))
                .json();
        return result.path("stdout").asString() + result.path("stderr").asString();
    }

    private static Reply done(Reply reply) {
        if (reply.status() >= 300) {
            throw new AssertionError(reply.status() + " " + reply.body());
        }
        return reply;
    }

    @Override
    public void close() {
        try {
            berth.close();
        } finally {
            internet.close();
        }
        try {
            Files.deleteIfExists(authorities);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
