package dev.berth.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import com.networknt.schema.Schema;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SchemaRegistryConfig;
import com.networknt.schema.SpecificationVersion;
import dev.berth.gateway.http.Contract;
import dev.berth.gateway.http.Contract.Operation;
import java.util.Comparator;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** Holds answers against what the contract says about them, as a client that was generated from it would. */
final class AnswerCheck {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final String PROBLEM = "application/problem+json";

    private final Contract contract;
    private final SchemaRegistry registry = SchemaRegistry.withDefaultDialect(
            SpecificationVersion.DRAFT_2020_12,
            builder -> builder.schemaRegistryConfig(
                    SchemaRegistryConfig.builder().formatAssertionsEnabled(true).build()));
    private final Map<JsonNode, Schema> compiled = new ConcurrentHashMap<>();

    AnswerCheck(Contract contract) {
        this.contract = contract;
    }

    /** Fails if the operation at this address may not answer so. An address that is none is answered with a problem. */
    void check(String method, String path, int status, String contentType, String body) {
        String what = method + " " + path + " -> " + status + " " + contentType + " " + cut(body);
        String type = contentType.split(";", 2)[0].strip();
        Optional<Operation> asked = operation(method, path).filter(Operation::route);
        if (asked.isEmpty() && handled(path) && !type.equals(PROBLEM)) {
            return; // what is passed on from a sandbox is as it is there
        }
        JsonNode content = asked.map(operation -> response(operation, status, what))
                .orElseGet(() -> contract.complete(contract.document().at("/components/responses/Problem")))
                .path("content");
        if (content.isMissingNode()) {
            assertThat(body).as(what + ": the contract has no body").isEmpty();
            return;
        }
        if (content.has("*/*") || method.equals("HEAD")) {
            return;
        }
        assertThat(content.has(type)).as(what + ": the contract has " + content).isTrue();
        if (type.endsWith("json")) {
            Schema schema = compiled.computeIfAbsent(content.path(type).path("schema"), registry::getSchema);
            JsonNode value = JSON.readTree(body);
            assertThat(schema.validate(value)).as(what).isEmpty();
            if (type.equals(PROBLEM)) {
                assertThat(value.path("status").asInt()).as(what).isEqualTo(status);
            }
        }
    }

    /** {@code default} stands for failures; what goes well is listed one by one. */
    private ObjectNode response(Operation operation, int status, String what) {
        JsonNode responses = contract.document()
                .path("paths")
                .path(operation.path())
                .path(operation.method().toLowerCase(Locale.ROOT))
                .path("responses");
        String listed = responses.has(Integer.toString(status)) ? Integer.toString(status) : "default";
        assertThat(listed.equals("default") && status < 400)
                .as(what + ": the contract does not list this status")
                .isFalse();
        assertThat(responses.has(listed))
                .as(what + ": the contract does not list this status")
                .isTrue();
        return contract.complete(responses.path(listed));
    }

    private Optional<Operation> operation(String method, String path) {
        return contract.operations().stream()
                .filter(operation -> operation.method().equals(method))
                .filter(operation -> Stream.concat(Stream.of(operation.path()), operation.alias().stream())
                        .anyMatch(template -> matches(template, path)))
                .min(Comparator.comparingInt(
                        operation -> operation.pathParameters().size()));
    }

    /** Whether it is below an address that what stands in front of the endpoints answers for. */
    private boolean handled(String path) {
        return contract.operations().stream()
                .filter(operation -> !operation.route())
                .map(operation -> operation.path().replace("/{path}", ""))
                .anyMatch(prefix -> path.matches(pattern(prefix) + "(/.*)?"));
    }

    private static boolean matches(String template, String path) {
        return path.matches(pattern(template));
    }

    private static String pattern(String template) {
        return Stream.of(template.split("(?=\\{)|(?<=\\})"))
                .map(part -> part.startsWith("{") ? "[^/]+" : Pattern.quote(part))
                .collect(Collectors.joining());
    }

    private static String cut(String text) {
        return text.length() > 2000 ? text.substring(0, 2000) : text;
    }
}
