package dev.berth.gateway.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.gateway.TestingBerth;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The official client of npm works with the server. Needs root, crun, nodejs and npm. */
@Timeout(300)
class McpClientTest {
    private static final JsonMapper JSON = JsonMapper.builder().build();

    @TempDir
    static Path directory;

    private static TestingBerth berth;
    private static String key;
    private static NpmClients npm;

    @BeforeAll
    static void start() {
        npm = new NpmClients(directory);
        berth = new TestingBerth();
        key = berth.tenant("acme");
    }

    @AfterAll
    static void stop() {
        berth.close();
    }

    private static JsonNode client(String key, String... what) {
        String[] arguments = new String[what.length + 3];
        arguments[0] = "mcp-client.mjs";
        arguments[1] = berth.url() + "/mcp";
        arguments[2] = key;
        System.arraycopy(what, 0, arguments, 3, what.length);
        NpmClients.Run run = npm.node(Map.of(), arguments);
        assertThat(run.exit()).as(run.out() + run.err()).isZero();
        return JSON.readTree(run.out());
    }

    @Test
    void theToolsAreThoseOfTheApiAndWorkInOneComputer() {
        JsonNode result = client(key, "tools");
        JsonNode ours = berth.get(key, "/v1/tools").json().path("tools");
        assertThat(result.path("tools").propertyNames())
                .containsExactlyInAnyOrderElementsOf(ours.valueStream()
                        .map(tool -> tool.path("name").asString())
                        .toList());
        JsonNode schema = result.at("/tools/bash/inputSchema");
        assertThat(schema.at("/properties/command/type").asString()).isEqualTo("string");
        assertThat(schema.at("/properties/session_id/type").asString()).isEqualTo("string");
        assertThat(schema.path("required").toString()).doesNotContain("session_id");
        assertThat(result.at("/tools/read/annotations/readOnlyHint").asBoolean())
                .isTrue();
        assertThat(result.at("/tools/bash/annotations/readOnlyHint").asBoolean(true))
                .isFalse();
        assertThat(result.at("/server/name").asString()).isEqualTo("berth");
        assertThat(result.path("read").asString()).contains("one", "two");
        assertThat(result.at("/said/text").asString()).isEqualTo("out\n[stderr:]\nerr\n[exit code 3]\n");
        assertThat(result.at("/said/isError").asBoolean()).isTrue();
        assertThat(result.at("/said/structured/exit_code").asInt()).isEqualTo(3);
        assertThat(result.at("/said/structured/stdout").asString()).isEqualTo("out\n");
        assertThat(result.at("/wrong/isError").asBoolean()).isTrue();
        assertThat(result.at("/wrong/text").asString()).contains("not-there");
        assertThat(result.at("/missing/isError").asBoolean()).isTrue();
        assertThat(result.at("/missing/text").asString()).contains("file_path");
        assertThat(result.at("/unknown/code").asInt()).isEqualTo(-32602);
        assertThat(result.at("/unknown/data/code").asString()).isEqualTo("not_found");
        assertThat(result.at("/foreign/code").asInt()).isEqualTo(-32602);
        assertThat(result.at("/strange/code").asInt()).isEqualTo(-32602);
    }

    @Test
    void everyClientHasItsOwnComputerUnlessItNamesAnother() {
        JsonNode result = client(key, "sessions");
        assertThat(result.path("two").asString()).isEqualTo("none\n");
        assertThat(result.path("byHeader").asString()).isEqualTo("of-named\n");
        assertThat(result.path("byArgument").asString()).isEqualTo("of-one\n");
    }

    @Test
    void outputComesAsProgressBeforeTheEndAndNotTooOften() {
        JsonNode result = client(key, "progress");
        assertThat(result.path("text").asString()).isEqualTo("first\nlast\n");
        double before = 0;
        for (JsonNode progress : result.path("seen")) {
            assertThat(progress.path("progress").asDouble()).isGreaterThan(before);
            before = progress.path("progress").asDouble();
        }
        assertThat(result.path("many").asInt()).isBetween(2, 200);
        assertThat(result.path("last").asString()).endsWith("2000\n");
    }

    @Test
    void whatIsCancelledIsEndedAndNothingElse() {
        JsonNode result = client(key, "cancel");
        assertThat(result.at("/error/message").asString()).contains("enough");
        assertThat(result.path("dead").asString()).isEqualTo("dead\n");
        assertThat(result.path("beside").asString()).isEqualTo("untouched\n");
        assertThat(result.path("after").asString()).isEqualTo("on\n");
    }

    @Test
    void aCommandInTheBackgroundIsFoundAgain() {
        JsonNode result = client(key, "background");
        assertThat(result.at("/begun/isError").asBoolean(true)).isFalse();
        assertThat(result.at("/begun/text").asString()).contains("resultId");
        assertThat(result.path("status").asString()).contains("completed");
        assertThat(result.path("logs").asString()).contains("one", "two");
    }

    @Test
    void artifactsAreResourcesOfTheTenantAlone() {
        JsonNode result = client(key, "artifacts");
        assertThat(result.path("before").asInt()).isZero();
        assertThat(result.path("links").valueStream().map(link -> link.path("uri")))
                .containsExactlyInAnyOrderElementsOf(result.path("listed")
                        .valueStream()
                        .map(resource -> resource.path("uri"))
                        .toList())
                .hasSize(3);
        assertThat(result.at("/read/t.csv/text").asString()).isEqualTo("a,b\n1,2\n");
        assertThat(result.at("/read/t.csv/mimeType").asString()).isEqualTo("text/csv");
        assertThat(result.at("/read/p.png/blob").asString()).isEqualTo("iVBORw0KGgo=");
        assertThat(result.at("/read/big.bin/text").asString()).contains("11000000 bytes", "/v1/artifacts/");
        assertThat(result.at("/templates/0/uriTemplate").asString())
                .isEqualTo("berth://sessions/{session_id}/artifacts/{artifact_id}");
        assertThat(result.at("/unknown/code").asInt()).isEqualTo(-32002);
        assertThat(result.at("/other/code").asInt()).isEqualTo(-32002);
        String rival = berth.tenant("rival");
        JsonNode foreign = client(rival, "read", result.at("/listed/0/uri").asString());
        assertThat(foreign.path("code").asInt()).isEqualTo(-32002);
    }

    @Test
    void aPersonWhoHasToAllowACallIsNamedTheApproval() {
        assertThat(berth.post(key, "/v1/sessions", "{\"session_id\":\"careful\",\"permission_mode\":\"ask\"}")
                        .status())
                .isEqualTo(201);
        JsonNode result = client(key, "approval");
        assertThat(result.path("allowed").asString()).isEqualTo("allowed\n");
        assertThat(result.at("/denied/isError").asBoolean()).isTrue();
        assertThat(result.at("/denied/text").asString()).contains("did not allow");
        assertThat(result.at("/waiting/isError").asBoolean()).isTrue();
        assertThat(result.at("/waiting/text").asString()).contains("Not done yet");
        assertThat(result.at("/waiting/structured/state").asString()).isEqualTo("pending");
    }
}
