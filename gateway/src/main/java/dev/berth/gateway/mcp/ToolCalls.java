package dev.berth.gateway.mcp;

import dev.berth.gateway.http.Answer;
import dev.berth.gateway.http.CallEvents;
import dev.berth.gateway.http.Contract;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.Exchange;
import dev.berth.sandbox.SandboxException;
import io.modelcontextprotocol.server.McpAsyncServerExchange;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.Content;
import io.modelcontextprotocol.spec.McpSchema.ListToolsResult;
import io.modelcontextprotocol.spec.McpSchema.ResourceLink;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import io.modelcontextprotocol.spec.McpSchema.Tool;
import io.modelcontextprotocol.spec.McpSchema.ToolAnnotations;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** The tools, which are those of {@code /v1/tools}, called in the same way. */
final class ToolCalls {
    /** Fields that a call has by HTTP and that are not the model's to choose. */
    private static final Set<String> NOT_FOR_MODELS = Set.of("tenant_id", "sandbox", "changes");

    /** What a client need not ask its person about. */
    private static final Set<String> READING = Set.of("read", "glob", "grep");

    /** What finds its thing by an id, in whichever session that is. */
    private static final Set<String> BY_ID = Set.of("async_status");

    private static final String SESSION = "session_id";

    private final Endpoint listTools;
    private final Endpoint callTool;
    private final ObjectNode sessionSchema;

    ToolCalls(Endpoint listTools, Endpoint callTool, Contract contract) {
        this.listTools = listTools;
        this.callTool = callTool;
        this.sessionSchema = contract.component("SessionId");
        sessionSchema.put(
                "description",
                "Which computer to work in, by the name of its conversation; leave it out for the one of this conversation");
    }

    // ---- definitions ---------------------------------------------------------------------------------------------

    ListToolsResult list(Incoming incoming) throws Exception {
        Exchange exchange = made(incoming, "listTools", Map.of(), JsonNodeFactory.instance.objectNode());
        JsonNode tools =
                Messages.JSON.valueToTree(fields(listTools.answer(exchange)).get("tools"));
        return ListToolsResult.builder(tools.valueStream().map(this::tool).toList())
                .build();
    }

    private Tool tool(JsonNode shown) {
        ObjectNode schema = (ObjectNode) shown.path("input_schema").deepCopy();
        schema.withObject("properties").set(SESSION, sessionSchema.deepCopy());
        String name = shown.path("name").asString();
        boolean reads = READING.contains(name);
        return Tool.builder(name, Messages.JSON.convertValue(schema, new TypeReference<Map<String, Object>>() {}))
                .description(shown.path("description").asString())
                .annotations(ToolAnnotations.builder()
                        .readOnlyHint(reads)
                        .openWorldHint(false)
                        .build())
                .build();
    }

    // ---- calls ---------------------------------------------------------------------------------------------------

    /** Null for a call that was ended by the client, which does not want to hear of it any more. */
    @Nullable
    CallToolResult call(Incoming incoming, McpAsyncServerExchange client, JsonNode params) throws Exception {
        String name = params.path("name").asString("");
        ObjectNode body = arguments(params);
        String session = body.path(SESSION).asString(incoming.session());
        if (!BY_ID.contains(name)) {
            body.put(SESSION, session);
        }
        incoming.exchange().query("sandbox").ifPresent(sandbox -> body.put("sandbox", sandbox));
        incoming.exchange().query("tenant_id").ifPresent(tenant -> body.put("tenant_id", tenant));
        incoming.conversation().uses(session);
        JsonNode token = params.path("_meta").path("progressToken");
        Optional<Progress> progress = token.isString() || token.isIntegralNumber()
                ? Optional.of(new Progress(client, Messages.id(token)))
                : Optional.empty();
        Exchange exchange = made(incoming, "callTool", Map.of("name", name), body)
                .heardBy(progress.<CallEvents>map(it -> it).orElse(CallEvents.NONE))
                .endedBy(incoming.stop());
        try {
            Map<String, Object> result = fields(callTool.answer(exchange));
            progress.ifPresent(Progress::end);
            return incoming.stop().stopped() ? null : result(session, result);
        } catch (Exception e) {
            if (incoming.stop().stopped()) {
                return null;
            }
            throw e;
        }
    }

    private static ObjectNode arguments(JsonNode params) {
        JsonNode given = params.path("arguments");
        if (given.isMissingNode() || given.isNull()) {
            return JsonNodeFactory.instance.objectNode();
        }
        if (!(given instanceof ObjectNode object)) {
            throw SandboxException.invalid("the arguments of a tool are an object");
        }
        for (String field : NOT_FOR_MODELS) {
            if (object.has(field)) {
                throw SandboxException.invalid("a tool has no argument '" + field + "' here");
            }
        }
        JsonNode session = object.path(SESSION);
        if (object.has(SESSION) && !session.isString()) {
            throw SandboxException.invalid("the argument '" + SESSION + "' is a text");
        }
        return object.deepCopy();
    }

    private static Exchange made(Incoming incoming, String operation, Map<String, String> path, ObjectNode body) {
        Exchange came = incoming.exchange();
        Exchange made = Exchange.made(operation, came.id(), came.caller(), path, body, CallEvents.NONE);
        return came.header("Prefer")
                .map(prefer -> made.withHeader("Prefer", prefer))
                .orElse(made);
    }

    private static Map<String, Object> fields(Answer answer) {
        if (answer instanceof Answer.Json json) {
            return json.fields();
        }
        throw new IllegalStateException("a tool has no answer that a model could read: " + answer);
    }

    private static CallToolResult result(String session, Map<String, Object> result) {
        List<Content> content = new ArrayList<>();
        content.add(TextContent.builder(ToolText.of(result)).build());
        if (result.get("artifacts") instanceof List<?> artifacts) {
            for (Object artifact : artifacts) {
                link(session, artifact).ifPresent(content::add);
            }
        }
        boolean failed = Boolean.FALSE.equals(result.get("ok")) || ToolText.waits(result);
        return CallToolResult.builder(content)
                .isError(failed)
                .structuredContent(result)
                .build();
    }

    private static Optional<Content> link(String session, Object artifact) {
        JsonNode shown = Messages.JSON.valueToTree(artifact);
        if (!shown.has("artifact_id")) {
            return Optional.empty();
        }
        return Optional.of(ResourceLink.builder()
                .uri(ArtifactResources.uri(session, shown.path("artifact_id").asString()))
                .name(shown.path("name").asString())
                .mimeType(shown.path("mime_type").asString())
                .size(shown.path("size").asLong())
                .build());
    }
}
