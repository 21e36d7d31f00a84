package dev.berth.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.gateway.TestingBerth.Reply;
import dev.berth.session.Session;
import dev.berth.session.SessionKey;
import dev.berth.tool.ToolSettings;
import dev.berth.tool.Workspace;
import java.io.ByteArrayInputStream;
import java.net.URI;
import java.net.http.HttpRequest;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A server on which nothing may be written. Needs root, crun and ripgrep. */
class ReadOnlyTest {
    private static TestingBerth berth;
    private static String acme;

    @BeforeAll
    static void start() {
        berth = new TestingBerth(config -> config.withTools(ToolSettings.DEFAULT.asReadOnly()));
        acme = berth.tenant("acme");
        try (Session session = berth.sessions().resolve(SessionKey.of("acme", "s"))) {
            Workspace.of(session.sandbox())
                    .files()
                    .write("kept.txt", new ByteArrayInputStream("as it was".getBytes(StandardCharsets.UTF_8)));
        }
        assertThat(berth.post(
                                acme,
                                "/v1/accounts/me/sandboxes",
                                "{\"name\":\"c\",\"config\":{\"persistent\":true,\"permissionMode\":\"bypass\"}}")
                        .status())
                .isEqualTo(201);
        assertThat(berth.post(
                                acme,
                                "/v1/skills",
                                "{\"files\":[{\"path\":\"SKILL.md\",\"content\":\"---\\nname: k\\ndescription: d\\n---\\n\"}]}")
                        .status())
                .isEqualTo(201);
    }

    @AfterAll
    static void stop() {
        berth.close();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "/v1/sandbox/bash                     | {\"session_id\":\"s\",\"command\":\"true\"}",
                "/v1/sandbox/execute                  | {\"session_id\":\"s\",\"code\":\"1\"}",
                "/v1/sandbox/write                    | {\"session_id\":\"s\",\"path\":\"kept.txt\",\"content\":\"x\"}",
                "/v1/sandbox/sessions/acme/s/copy     | {\"files\":[{\"path\":\"kept.txt\",\"content\":\"x\"}]}"
            })
    void whatCouldWriteIsRefused(String path, String body) {
        refused(berth.post(acme, path, body));
    }

    @Test
    void streamsAreRefusedToo() {
        refused(berth.send(
                HttpRequest.newBuilder(URI.create(berth.url() + "/v1/sandbox/files?session_id=s&path=kept.txt"))
                        .header("Authorization", "Bearer " + acme)
                        .header("Content-Type", "application/octet-stream")
                        .PUT(HttpRequest.BodyPublishers.ofString("x"))
                        .build()));
        refused(berth.send(HttpRequest.newBuilder(URI.create(berth.url() + "/v1/sandbox/sessions/acme/s/copy"))
                .header("Authorization", "Bearer " + acme)
                .header("Content-Type", "application/x-tar")
                .POST(HttpRequest.BodyPublishers.ofByteArray(new byte[10240]))
                .build()));
    }

    private static void refused(Reply reply) {
        assertThat(reply.status()).as(reply.body()).isEqualTo(403);
        assertThat(reply.json().path("detail").asString()).contains("read-only");
        unchanged();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "bash       | \"command\":\"true\"",
                "write      | \"file_path\":\"kept.txt\",\"content\":\"x\"",
                "edit       | \"file_path\":\"kept.txt\",\"old_string\":\"as\",\"new_string\":\"x\"",
                "load_skill | \"path\":\"k\""
            })
    void aModelIsToldWhatItMayDoInstead(String tool, String input) {
        for (String beside : new String[] {"\"session_id\":\"s\",", "\"session_id\":\"s\",\"sandbox\":\"c\","}) {
            Reply reply = berth.post(acme, "/v1/tools/" + tool, "{" + beside + input + "}");
            assertThat(reply.status()).as(reply.body()).isEqualTo(200);
            assertThat(reply.json().path("error").path("code").asString()).isEqualTo("denied");
            assertThat(reply.json().path("stderr").asString()).contains("read-only", "read, glob and grep work");
        }
        unchanged();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "/v1/sandbox/grep    | {\"session_id\":\"s\",\"pattern\":\"was\"}",
                "/v1/sandbox/glob    | {\"session_id\":\"s\",\"pattern\":\"**\"}",
                "/v1/tools/read      | {\"session_id\":\"s\",\"file_path\":\"kept.txt\"}",
                "/v1/tools/glob      | {\"session_id\":\"s\",\"pattern\":\"**\"}",
                "/v1/tools/grep      | {\"session_id\":\"s\",\"pattern\":\"was\"}"
            })
    void whatReadsGoesOn(String path, String body) {
        Reply reply = berth.post(acme, path, body);
        assertThat(reply.status()).as(reply.body()).isEqualTo(200);
        assertThat(reply.body()).containsAnyOf("kept.txt", "as it was");
    }

    private static void unchanged() {
        assertThat(berth.get(acme, "/v1/sandbox/files?session_id=s&path=kept.txt")
                        .body())
                .isEqualTo("as it was");
        assertThat(berth.post(
                                acme,
                                "/v1/sandbox/glob",
                                "{\"session_id\":\"s\",\"pattern\":\"**\",\"include_hidden\":true}")
                        .json()
                        .path("files")
                        .findValuesAsString("path"))
                .doesNotContain(".claude/skills/k/SKILL.md");
    }
}
