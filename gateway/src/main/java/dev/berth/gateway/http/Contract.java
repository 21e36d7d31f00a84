package dev.berth.gateway.http;

import com.networknt.schema.Error;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import dev.berth.gateway.auth.Scope;
import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;
import tools.jackson.dataformat.yaml.YAMLMapper;

/**
 * The API as {@code openapi.yaml} and its parts have it. The document is not a description of the code: the server makes
 * its routes of it and checks every request against it, so the two cannot differ.
 */
public final class Contract {
    private static final String RESOURCE = "/dev/berth/gateway/openapi.yaml";
    /** Each has paths and components of its own, and may refer to those of all others. */
    private static final List<String> PARTS = List.of(
            "sessions",
            "events",
            "jobs",
            "approvals",
            "artifacts",
            "terminals",
            "previews",
            "mcp",
            "secrets",
            "agents",
            "channels");

    /**
     * One operation.
     *
     * @param alias a second path that is the same
     * @param open whether it needs no credential
     * @param admin whether it needs the operator's
     * @param scope what a key needs to have
     * @param body what its JSON body has to be; empty if it has none
     * @param otherBody whether it also takes a body that is not JSON
     * @param mostBodyBytes how large its JSON body may be, if that is not what is usual
     * @param socket whether it can also be had as a WebSocket
     * @param streams whether it can also be had as a stream of events that ends with the answer
     * @param route whether it is answered by an endpoint; if not, by what stands in front of them
     * @param creates whether it makes something, so that a client may name the request by an Idempotency-Key
     */
    public record Operation(
            String id,
            String method,
            String path,
            Optional<String> alias,
            boolean open,
            boolean admin,
            Optional<Scope> scope,
            Map<String, Schema> pathParameters,
            Map<String, Schema> queryParameters,
            List<String> requiredQuery,
            Optional<Schema> body,
            boolean otherBody,
            Optional<Long> mostBodyBytes,
            boolean socket,
            boolean streams,
            boolean route,
            boolean creates) {}

    private final ObjectNode document;
    private final SchemaRegistry registry = SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12);
    private final List<Operation> operations = new ArrayList<>();

    private Contract(ObjectNode document) {
        this.document = document;
        document.path("paths")
                .properties()
                .forEach(path -> path.getValue().properties().forEach(method -> {
                    if (!method.getKey().equals("parameters")
                            && !method.getKey().startsWith("x-")) {
                        operations.add(operation(path.getKey(), method.getKey(), method.getValue()));
                    }
                }));
    }

    public static Contract load() {
        ObjectNode document = parse(RESOURCE);
        for (String part : PARTS) {
            add(document, parse(RESOURCE.replace(".yaml", "-" + part + ".yaml")));
        }
        return new Contract(document);
    }

    private static ObjectNode parse(String resource) {
        try (InputStream yaml = Contract.class.getResourceAsStream(resource)) {
            return (ObjectNode) YAMLMapper.builder().build().readTree(yaml);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void add(ObjectNode document, ObjectNode part) {
        part.properties().forEach(field -> {
            JsonNode there = document.get(field.getKey());
            switch (there) {
                case null -> document.set(field.getKey(), field.getValue());
                case ObjectNode object -> add(object, (ObjectNode) field.getValue());
                case ArrayNode list -> field.getValue().forEach(list::add);
                default -> throw new IllegalStateException("two parts of the contract have " + field.getKey());
            }
        });
    }

    public ObjectNode document() {
        return document;
    }

    public List<Operation> operations() {
        return List.copyOf(operations);
    }

    /** The operations that have an endpoint. */
    public List<Operation> routes() {
        return operations.stream().filter(Operation::route).toList();
    }

    public Operation operation(String id) {
        return operations.stream()
                .filter(operation -> operation.id().equals(id))
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("the contract does not know " + id));
    }

    /** One of the document's named schemas, complete in itself. */
    public ObjectNode component(String name) {
        return complete(document.path("components").path("schemas").path(name));
    }

    /** Checks a value against a named schema. */
    public Schema schema(String name) {
        return compile(component(name));
    }

    private Operation operation(String path, String method, JsonNode node) {
        Map<String, Schema> inPath = new HashMap<>();
        Map<String, Schema> inQuery = new HashMap<>();
        List<String> required = new ArrayList<>();
        List<JsonNode> parameters = new ArrayList<>();
        boolean creates = node.path("x-creates").asBoolean(false);
        if (creates) {
            ((ObjectNode) node)
                    .withArrayProperty("parameters")
                    .addObject()
                    .put("$ref", "#/components/parameters/IdempotencyKey");
        }
        document.path("paths").path(path).path("parameters").forEach(parameters::add);
        node.path("parameters").forEach(parameters::add);
        for (JsonNode reference : parameters) {
            ObjectNode parameter = complete(reference);
            String name = parameter.path("name").asString();
            Schema schema = compile(parameter.path("schema"));
            switch (parameter.path("in").asString()) {
                case "path" -> inPath.put(name, schema);
                case "query" -> {
                    inQuery.put(name, schema);
                    if (parameter.path("required").asBoolean(false)) {
                        required.add(name);
                    }
                }
                default -> {} // headers are looked at by those that know them
            }
        }
        JsonNode content = inline(node.path("requestBody")).path("content");
        JsonNode json = content.path("application/json").path("schema");
        JsonNode security = node.path("security");
        return new Operation(
                node.path("operationId").asString(),
                method.toUpperCase(Locale.ROOT),
                path,
                Optional.ofNullable(document.path("paths").path(path).get("x-alias"))
                        .map(JsonNode::asString),
                security.isArray() && security.isEmpty(),
                node.path("x-admin").asBoolean(false),
                node.has("x-scope")
                        ? Optional.of(Scope.parse(node.path("x-scope").asString()))
                        : Optional.empty(),
                inPath,
                inQuery,
                required,
                json.isMissingNode() ? Optional.empty() : Optional.of(compile(complete(json))),
                content.properties().stream().anyMatch(type -> !type.getKey().equals("application/json")),
                Optional.ofNullable(node.get("x-max-bytes")).map(JsonNode::asLong),
                node.path("x-websocket").asBoolean(false),
                node.path("x-streams").asBoolean(false),
                !node.has("x-handler"),
                creates);
    }

    private Schema compile(JsonNode schema) {
        return registry.getSchema(schema);
    }

    /** A part of the document with every reference replaced by what it refers to; there are no circles in it. */
    public ObjectNode complete(JsonNode node) {
        return (ObjectNode) inline(node);
    }

    private JsonNode inline(JsonNode node) {
        if (node instanceof ObjectNode object) {
            if (object.has("$ref")) {
                return inline(document.at(object.path("$ref").asString().substring(1)));
            }
            ObjectNode copy = JsonNodeFactory.instance.objectNode();
            object.properties().forEach(field -> copy.set(field.getKey(), inline(field.getValue())));
            return copy;
        }
        if (node.isArray()) {
            var copy = JsonNodeFactory.instance.arrayNode();
            node.forEach(item -> copy.add(inline(item)));
            return copy;
        }
        return node;
    }

    /** Fails with every problem there is. */
    public static void check(Schema schema, JsonNode value) {
        List<Error> errors;
        try {
            errors = schema.validate(value);
        } catch (JacksonException e) {
            throw SandboxException.invalid("a number is larger or smaller than any that makes sense here");
        }
        if (!errors.isEmpty()) {
            List<String> problems = errors.stream()
                    .map(error -> where(error) + error.getMessage())
                    .distinct()
                    .sorted()
                    .limit(50)
                    .toList();
            throw SandboxException.invalid(String.join("; ", problems)).with(SandboxException.ERRORS, problems);
        }
    }

    private static String where(Error error) {
        String location = error.getInstanceLocation().toString();
        return location.isEmpty() || location.equals("$") ? "" : location + ": ";
    }
}
