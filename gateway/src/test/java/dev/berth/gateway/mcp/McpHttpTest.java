package dev.berth.gateway.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.gateway.TestingBerth;
import dev.berth.gateway.TestingBerth.Reply;
import dev.berth.gateway.auth.Scope;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** What the server makes of clients that do not keep to the protocol, or may not use it. Needs root and crun. */
@Timeout(300)
class McpHttpTest {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final String INITIALIZE = """
            {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"%s","capabilities":{},\
            "clientInfo":{"name":"test","version":"1"}}}""";
    private static final String LIST = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}";

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

    private static HttpRequest.Builder request(String key, Map<String, String> headers) {
        Map<String, String> all = new HashMap<>(Map.of(
                "Authorization", "Bearer " + key,
                "Content-Type", "application/json",
                "Accept", "application/json, text/event-stream"));
        all.putAll(headers);
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(berth.url() + "/mcp"));
        all.forEach(request::header);
        return request;
    }

    private static Reply post(String key, String body, Map<String, String> headers) {
        return berth.send(
                request(key, headers).POST(BodyPublishers.ofString(body)).build());
    }

    private static Reply in(String session, String body) {
        return post(key, body, Map.of("Mcp-Session-Id", session));
    }

    /** @return the protocol's session */
    private static String initialize(String key) {
        Reply reply = post(key, INITIALIZE.formatted("2025-11-25"), Map.of());
        assertThat(reply.status()).as(reply.body()).isEqualTo(200);
        return reply.header("Mcp-Session-Id");
    }

    private static JsonNode answer(Reply reply) {
        assertThat(reply.status()).as(reply.body()).isEqualTo(200);
        String last = reply.body()
                .lines()
                .filter(line -> line.startsWith("data: "))
                .reduce((_, line) -> line)
                .orElseThrow();
        return JSON.readTree(last.substring(6));
    }

    private static void refused(Reply reply, int status, String code) {
        assertThat(reply.status()).as(reply.body()).isEqualTo(status);
        assertThat(reply.json().path("code").asString()).isEqualTo(code);
    }

    @Test
    void theConfigurationsInTheDocumentationCanBeRead() throws IOException {
        String page = Files.readString(Path.of("../docs/mcp.md"));
        Matcher blocks = Pattern.compile("```json\n(.*?)```", Pattern.DOTALL).matcher(page);
        int read = 0;
        for (; blocks.find(); read++) {
            assertThat(JSON.readTree(blocks.group(1)).toString()).contains("http://127.0.0.1:8080/mcp?session=");
        }
        assertThat(read).isGreaterThanOrEqualTo(6);
    }

    @Test
    void whoHasNoKeyIsToldHowToSendOne() {
        Reply reply = post("nonsense", INITIALIZE.formatted("2025-11-25"), Map.of());
        refused(reply, 401, "unauthenticated");
        assertThat(reply.header("WWW-Authenticate")).startsWith("Bearer");
        String keyForSessions = berth.key("acme", Set.of(Scope.SESSIONS));
        refused(post(keyForSessions, INITIALIZE.formatted("2025-11-25"), Map.of()), 403, "denied");
    }

    @Test
    void aSessionOfAnotherTenantIsNotThere() {
        String session = initialize(key);
        String rival = berth.tenant("rival");
        Map<String, String> header = Map.of("Mcp-Session-Id", session);
        refused(post(rival, LIST, header), 404, "not_found");
        refused(post(TestingBerth.ADMIN, LIST, header), 404, "not_found");
        refused(berth.send(request(rival, header).GET().build()), 404, "not_found");
        refused(berth.send(request(rival, header).DELETE().build()), 404, "not_found");
        refused(post(rival, LIST, Map.of("Mcp-Session-Id", "made-up")), 404, "not_found");
        assertThat(answer(in(session, LIST)).at("/result/tools").size()).isGreaterThan(5);
    }

    @Test
    void theOperatorActsForATenantAndNobodyElseDoes() {
        String query = "?tenant_id=acme&session=for-acme";
        HttpRequest.Builder asOperator = request(TestingBerth.ADMIN, Map.of())
                .uri(URI.create(berth.url() + "/mcp" + query))
                .POST(BodyPublishers.ofString(INITIALIZE.formatted("2025-11-25")));
        String session = berth.send(asOperator.build()).header("Mcp-Session-Id");
        String call = "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"bash\","
                + "\"arguments\":{\"command\":\"echo hi\"}}}";
        JsonNode called = answer(berth.send(request(TestingBerth.ADMIN, Map.of("Mcp-Session-Id", session))
                .uri(URI.create(berth.url() + "/mcp" + query))
                .POST(BodyPublishers.ofString(call))
                .build()));
        assertThat(called.at("/result/content/0/text").asString()).isEqualTo("hi\n");
        assertThat(berth.get(key, "/v1/sessions/for-acme").status()).isEqualTo(200);
        String rival = berth.tenant("rival2");
        refused(
                berth.send(request(rival, Map.of())
                        .uri(URI.create(berth.url() + "/mcp" + query))
                        .POST(BodyPublishers.ofString(INITIALIZE.formatted("2025-11-25")))
                        .build()),
                403,
                "denied");
    }

    @Test
    void aSessionThatWasEndedIsGone() {
        String session = initialize(key);
        Map<String, String> header = Map.of("Mcp-Session-Id", session);
        assertThat(berth.send(request(key, header).DELETE().build()).status()).isEqualTo(204);
        refused(in(session, LIST), 404, "not_found");
        refused(post(key, LIST, Map.of()), 400, "invalid");
        refused(berth.send(request(key, Map.of()).GET().build()), 400, "invalid");
    }

    @Test
    void versionsThatAreNotSpokenAreRefusedOrReplaced() {
        Reply unknown = post(key, INITIALIZE.formatted("1999-01-01"), Map.of());
        assertThat(unknown.json().at("/result/protocolVersion").asString()).isEqualTo("2025-11-25");
        Reply older = post(key, INITIALIZE.formatted("2025-06-18"), Map.of());
        assertThat(older.json().at("/result/protocolVersion").asString()).isEqualTo("2025-06-18");
        Reply wrong = post(key, LIST, Map.of("Mcp-Session-Id", initialize(key), "MCP-Protocol-Version", "1999-01-01"));
        refused(wrong, 400, "invalid");
    }

    @Test
    void pagesOfOtherOriginsAreRefused() {
        for (String origin : new String[] {"http://evil.example", "null", "http://localhost.evil.example", "::"}) {
            refused(post(key, INITIALIZE.formatted("2025-11-25"), Map.of("Origin", origin)), 403, "denied");
        }
        assertThat(post(key, INITIALIZE.formatted("2025-11-25"), Map.of("Origin", "http://localhost:3000"))
                        .status())
                .isEqualTo(200);
    }

    @Test
    void whatIsNoMessageIsRefused() {
        String session = initialize(key);
        refused(in(session, "{\"jsonrpc\":"), 400, "invalid");
        refused(in(session, "[" + LIST + "]"), 400, "invalid");
        refused(in(session, "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}"), 400, "invalid");
        refused(in(session, "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}"), 400, "invalid");
        refused(in(session, "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}"), 400, "invalid");
        refused(in(session, "{\"jsonrpc\":\"2.0\"}"), 400, "invalid");
        refused(in(session, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"), 400, "invalid");
        refused(in(session, "{\"jsonrpc\":\"2.0\",\"id\":\"" + "x".repeat(11 << 20) + "\"}"), 413, "limit");
        refused(post(key, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}", Map.of()), 400, "invalid");
        refused(post(key, LIST, Map.of("Accept", "application/json")), 400, "invalid");
        refused(post(key, LIST, Map.of("Content-Type", "text/plain")), 415, "unsupported_media_type");
    }

    @Test
    void whatTheServerDoesNotKnowIsAnErrorOfTheProtocol() {
        String session = initialize(key);
        JsonNode unknown = answer(in(session, "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"no/such\"}"));
        assertThat(unknown.at("/error/code").asInt()).isEqualTo(-32601);
        assertThat(unknown.path("id").asString()).isEqualTo("a");
        JsonNode nameless = answer(
                in(session, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":[]}}"));
        assertThat(nameless.at("/error/code").asInt()).isEqualTo(-32602);
        JsonNode wrong = answer(
                in(
                        session,
                        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"bash\",\"arguments\":7}}"));
        assertThat(wrong.at("/error/code").asInt()).isEqualTo(-32602);
        JsonNode cursor = answer(in(
                session,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\",\"params\":{\"cursor\":\"a/b\"}}"));
        assertThat(cursor.at("/error/code").asInt()).isEqualTo(-32602);
        assertThat(in(session, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/no-such\"}")
                        .status())
                .isEqualTo(202);
        assertThat(in(
                                session,
                                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":99}}")
                        .status())
                .isEqualTo(202);
    }

    @Test
    void aClientThatGoesAwayDoesNotEndItsCallAndOneThatEndsItsSessionDoes() throws Exception {
        String session = initialize(key);
        String command = "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"bash\","
                + "\"arguments\":{\"session_id\":\"left\",\"command\":\"echo $$ > pid; echo up; sleep 1000\"},"
                + "\"_meta\":{\"progressToken\":\"p\"}}}";
        try (HttpClient client = HttpClient.newHttpClient()) {
            HttpResponse<InputStream> response = client.send(
                    request(key, Map.of("Mcp-Session-Id", session))
                            .POST(BodyPublishers.ofString(command))
                            .build(),
                    HttpResponse.BodyHandlers.ofInputStream());
            readUntil(response.body(), "up");
            refused(in(session, command), 400, "invalid"); // the same id again
            response.body().close();
        }
        assertThat(bash("kill -0 $(cat pid) && echo alive")).isEqualTo("alive\n");
        assertThat(berth.send(request(key, Map.of("Mcp-Session-Id", session))
                                .DELETE()
                                .build())
                        .status())
                .isEqualTo(204);
        assertThat(bash("while kill -0 $(cat pid) 2>/dev/null; do sleep 0.05; done; echo dead"))
                .isEqualTo("dead\n");
    }

    private static String bash(String command) {
        return berth.post(
                        key,
                        "/v1/sandbox/bash",
                        JSON.writeValueAsString(Map.of("session_id", "left", "command", command)))
                .json()
                .path("stdout")
                .asString();
    }

    private static void readUntil(InputStream stream, String word) throws IOException {
        StringBuilder seen = new StringBuilder();
        while (seen.indexOf("\"message\":\"" + word) < 0) {
            int next = stream.read();
            assertThat(next).as(seen.toString()).isNotNegative();
            seen.append((char) next);
        }
    }
}
