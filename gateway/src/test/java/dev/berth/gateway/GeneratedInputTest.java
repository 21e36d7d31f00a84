package dev.berth.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.gateway.TestingBerth.Reply;
import dev.berth.gateway.http.Contract;
import dev.berth.gateway.http.Contract.Operation;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * Throws requests made of the contract at the server: right ones, and ones that are wrong in one place or everywhere. None
 * may be answered with a fault, none may leak anything, and the server has to be well afterwards. Needs root and crun.
 */
class GeneratedInputTest {
    private static final int REQUESTS = 3_000;
    private static final JsonMapper JSON = JsonMapper.builder().build();
    /** These need no body to be wrong about, and would slow the rest down, or wait for what never happens. */
    private static final Set<String> LEFT_OUT = Set.of("docs", "metrics", "openapi", "events");

    private static final List<String> STRANGE = List.of(
            "",
            " ",
            "..",
            "../../etc/passwd",
            "/etc/passwd",
            "a\u0000b",
            "\ud800",
            "\u202e",
            "😀".repeat(50),
            "x".repeat(5000),
            "$(reboot)",
            "'; DROP TABLE sessions; --",
            "%00",
            "%2e%2e%2f",
            "{{7*7}}",
            "-rf",
            "--help",
            "null",
            "true",
            "0",
            "NaN");

    private final Random random;
    private final long seed = Long.getLong("berth.fuzz.seed", new Random().nextLong());

    GeneratedInputTest() {
        random = new Random(seed);
    }

    @Test
    void noRequestOfAnyShapeBreaksTheServerOrTellsMoreThanItShould() {
        System.out.println("generated input with -Dberth.fuzz.seed=" + seed);
        try (TestingBerth berth = new TestingBerth()) {
            String acme = berth.tenant("acme");
            String rival = berth.tenant("rival");
            berth.post(rival, "/v1/sandbox/bash", "{\"session_id\":\"s\",\"command\":\"echo rivals-secret > secret\"}");
            berth.post(
                    rival,
                    "/v1/accounts/me/sandboxes",
                    "{\"name\":\"c\",\"config\":{\"envVars\":{\"K\":\"rivals-secret\"}}}");
            berth.send(rival, "PUT", "/v1/secrets/s", "{\"value\":\"rivals-secret\"}");
            List<Operation> operations = Contract.load().operations().stream()
                    .filter(operation -> !LEFT_OUT.contains(operation.id()))
                    .toList();
            JsonNode document = Contract.load().document();
            for (int i = 0; i < REQUESTS; i++) {
                Operation operation = operations.get(random.nextInt(operations.size()));
                String path = path(operation);
                String body = operation.body().isEmpty() ? "" : body(document, operation);
                Reply reply = berth.send(key(acme), operation.method(), path, body);
                assertThat(reply.status())
                        .as(() -> "seed " + seed + ": " + operation.method() + " " + path + " " + cut(body) + " -> "
                                + reply.body())
                        .isNotEqualTo(500)
                        .isBetween(200, 599);
                assertThat(reply.body()).as(path).doesNotContain("rivals-secret", "at dev.berth.", "Exception");
                if (reply.status() >= 400 && !operation.method().equals("HEAD")) { // which has no body
                    assertThat(reply.json().has("code")).as(reply.body()).isTrue();
                }
            }
            assertThat(berth.get("", "/readyz").status()).isEqualTo(200);
            assertThat(berth.post(rival, "/v1/sandbox/bash", "{\"session_id\":\"s\",\"command\":\"cat secret\"}")
                            .json()
                            .path("stdout")
                            .asString())
                    .isEqualTo("rivals-secret\n");
        }
    }

    private static String cut(String text) {
        return text.length() > 2000 ? text.substring(0, 2000) : text;
    }

    private String key(String good) {
        return switch (random.nextInt(12)) {
            case 0 -> "";
            case 1 -> "berth_" + "0".repeat(48);
            case 2 -> "a.b.c";
            default -> good;
        };
    }

    private String path(Operation operation) {
        String path = operation.path();
        for (String name : operation.pathParameters().keySet()) {
            String value = switch (random.nextInt(4)) {
                case 0 -> strange();
                case 1 -> "rival";
                default ->
                    List.of("acme", "s", "c", "bash", "read", "edit", "glob").get(random.nextInt(7));
            };
            path = path.replace("{" + name + "}", encode(value.isEmpty() ? "x" : value));
        }
        StringBuilder query = new StringBuilder();
        operation.queryParameters().forEach((name, _) -> {
            if (random.nextInt(3) > 0) {
                query.append(query.isEmpty() ? "?" : "&")
                        .append(name)
                        .append('=')
                        .append(encode(
                                random.nextBoolean()
                                        ? List.of("s", "1", "a.txt").get(random.nextInt(3))
                                        : strange()));
            }
        });
        return path + query;
    }

    private static String encode(String value) {
        return URLEncoder.encode(value, StandardCharsets.UTF_8).replace("+", "%20");
    }

    private String strange() {
        return STRANGE.get(random.nextInt(STRANGE.size()));
    }

    private String body(JsonNode document, Operation operation) {
        if (random.nextInt(20) == 0) {
            return List.of("{", "[]", "null", "\"x\"", "{\"a\":}", "{\"a\":1}{", "\ufeff{}", "[".repeat(100))
                    .get(random.nextInt(8));
        }
        JsonNode content = document.path("paths")
                .path(operation.path())
                .path(operation.method().toLowerCase(java.util.Locale.ROOT))
                .path("requestBody");
        ObjectNode body = (ObjectNode) value(
                document,
                resolve(document, content)
                        .path("content")
                        .path("application/json")
                        .path("schema"),
                0);
        // Sessions of this test only, few of them, and nothing that runs for long.
        if (body.has("session_id") && random.nextInt(10) > 0) {
            body.put("session_id", "s");
        }
        if (body.has("command")) {
            body.put(
                    "command",
                    List.of("true", "exit 3", "echo x >> f", "cat f", "printf '\\377'")
                            .get(random.nextInt(5)));
        }
        if (body.has("code")) {
            body.put(
                    "code",
                    List.of("1+1", "print('x')", "raise ValueError()", "(").get(random.nextInt(4)));
        }
        body.remove("tenant_id");
        if (random.nextInt(15) == 0) {
            body.put("tenant_id", "rival");
        }
        return JSON.writeValueAsString(body);
    }

    private static JsonNode resolve(JsonNode document, JsonNode node) {
        JsonNode found = node;
        while (found.has("$ref")) {
            found = document.at(found.path("$ref").asString().substring(1));
        }
        return found;
    }

    private JsonNode value(JsonNode document, JsonNode reference, int depth) {
        JsonNode schema = resolve(document, reference);
        if (random.nextInt(25) == 0 && depth > 0) {
            return wrong();
        }
        if (schema.has("enum")) {
            return schema.path("enum").get(random.nextInt(schema.path("enum").size()));
        }
        String type =
                schema.path("type").isArray() ? "string" : schema.path("type").asString("string");
        return switch (type) {
            case "object" -> object(document, schema, depth);
            case "array" -> {
                ArrayNode array = JSON.createArrayNode();
                for (int i = random.nextInt(3); i >= 0; i--) {
                    array.add(value(document, schema.path("items"), depth + 1));
                }
                yield array;
            }
            case "integer" ->
                JSON.getNodeFactory().numberNode(schema.path("minimum").asLong(0) + random.nextInt(5));
            case "number" -> JSON.getNodeFactory().numberNode(0.5 + random.nextInt(3));
            case "boolean" -> JSON.getNodeFactory().booleanNode(random.nextBoolean());
            default ->
                JSON.getNodeFactory()
                        .stringNode(
                                random.nextInt(6) == 0
                                        ? strange()
                                        : List.of("s", "a.txt", "f", "x1", "*").get(random.nextInt(5)));
        };
    }

    private ObjectNode object(JsonNode document, JsonNode schema, int depth) {
        ObjectNode object = JSON.createObjectNode();
        schema.path("properties").properties().forEach(field -> {
            boolean required = false;
            for (JsonNode name : schema.path("required")) {
                required |= name.asString().equals(field.getKey());
            }
            if (random.nextInt(required ? 30 : 2) > 0 || (required && random.nextInt(30) > 0)) {
                object.set(field.getKey(), value(document, field.getValue(), depth + 1));
            }
        });
        if (random.nextInt(20) == 0) {
            object.set("extra_" + random.nextInt(100), wrong());
        }
        return object;
    }

    private JsonNode wrong() {
        return switch (random.nextInt(7)) {
            case 0 -> JSON.getNodeFactory().nullNode();
            case 1 -> JSON.getNodeFactory().numberNode(Long.MAX_VALUE);
            case 2 -> JSON.getNodeFactory().numberNode(-1.5e300);
            case 3 -> JSON.createArrayNode().add(JSON.createArrayNode());
            case 4 -> JSON.createObjectNode().put("x", strange());
            case 5 -> JSON.getNodeFactory().booleanNode(true);
            default -> JSON.getNodeFactory().stringNode(strange());
        };
    }
}
