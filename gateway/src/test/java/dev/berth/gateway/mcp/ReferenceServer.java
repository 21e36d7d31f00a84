package dev.berth.gateway.mcp;

import dev.berth.gateway.auth.Caller;
import dev.berth.gateway.auth.RateLimits;
import dev.berth.gateway.auth.Scope;
import dev.berth.gateway.http.Admission;
import dev.berth.gateway.http.Contract;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.HttpServer;
import dev.berth.gateway.http.ServerConfig;
import dev.berth.gateway.http.SocketEndpoint;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.modelcontextprotocol.server.McpAsyncServerExchange;
import io.modelcontextprotocol.server.McpNotificationHandler;
import io.modelcontextprotocol.server.McpRequestHandler;
import io.modelcontextprotocol.spec.DefaultMcpStreamableServerSessionFactory;
import io.modelcontextprotocol.spec.McpSchema.CreateMessageRequest;
import io.modelcontextprotocol.spec.McpSchema.ElicitFormRequest;
import io.modelcontextprotocol.spec.McpSchema.InitializeResult;
import io.modelcontextprotocol.spec.McpSchema.LoggingLevel;
import io.modelcontextprotocol.spec.McpSchema.LoggingMessageNotification;
import io.modelcontextprotocol.spec.McpSchema.ProgressNotification;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.eclipse.jetty.server.Handler;
import reactor.core.publisher.Mono;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * The tools, resources and prompts that the conformance suite wants of a server to try the protocol with, on the transport
 * of the product. What it answers is in {@code src/test/npm/reference-server.json}.
 */
final class ReferenceServer implements AutoCloseable {
    static final String KEY = "the-only-key";

    private static final JsonMapper JSON = JsonMapper.builder().build();

    private final JsonNode fixtures;
    private final McpTransport transport = new McpTransport();
    private final HttpServer server;

    ReferenceServer() {
        try {
            fixtures = JSON.readTree(Files.readString(Path.of("src/test/npm/reference-server.json")));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        McpNotificationHandler heard = (_, _) -> Mono.empty();
        transport.setSessionFactory(new DefaultMcpStreamableServerSessionFactory(
                Duration.ofSeconds(20),
                _ -> Mono.just(JSON.treeToValue(fixtures.path("initialize"), InitializeResult.class)),
                requests(),
                Map.of("notifications/initialized", heard),
                _ -> Mono.empty()));
        Contract contract = Contract.load();
        Map<String, Endpoint> endpoints = new HashMap<>();
        Map<String, SocketEndpoint> sockets = new HashMap<>();
        contract.routes().forEach(operation -> {
            endpoints.put(operation.id(), _ -> {
                throw new IllegalStateException("not part of this");
            });
            sockets.put(operation.id(), _ -> {
                throw new IllegalStateException("not part of this");
            });
        });
        endpoints.putAll(transport.endpoints());
        Caller caller = new Caller("suite", "suite", false, Scope.ALL);
        server = HttpServer.start(
                ServerConfig.onLoopback(0),
                contract,
                endpoints,
                sockets,
                new Admission(key -> key.equals(KEY) ? Optional.of(caller) : Optional.empty(), new RateLimits(0, 0)),
                new Handler.Wrapper(),
                Optional.empty(),
                new SimpleMeterRegistry());
    }

    String url() {
        return "http://127.0.0.1:" + server.port() + "/mcp";
    }

    private Map<String, McpRequestHandler<?>> requests() {
        Map<String, McpRequestHandler<?>> handlers = new HashMap<>();
        fixtures.path("answers")
                .properties()
                .forEach(answer -> handlers.put(answer.getKey(), (_, _) -> Mono.just(map(answer.getValue()))));
        handlers.put(
                "resources/read",
                (_, params) -> found("resources", tree(params).path("uri").asString()));
        handlers.put("prompts/get", (_, params) -> prompt(tree(params)));
        handlers.put("tools/call", (client, params) -> Mono.fromCallable(() -> call(client, tree(params))));
        return handlers;
    }

    private Mono<Object> found(String kind, String name) {
        return Mono.just(map(fixtures.path(kind).path(name)));
    }

    private Mono<Object> prompt(JsonNode params) {
        String text =
                fixtures.path("prompts").path(params.path("name").asString()).toString();
        for (Map.Entry<String, JsonNode> argument : params.path("arguments").properties()) {
            text = text.replace(
                    "{" + argument.getKey() + "}", argument.getValue().asString());
        }
        return Mono.just(map(JSON.readTree(text)));
    }

    private Object call(McpAsyncServerExchange client, JsonNode params) {
        String name = params.path("name").asString();
        switch (name) {
            case "test_tool_with_logging" -> {
                for (String text :
                        new String[] {"Tool execution started", "Tool processing data", "Tool execution completed"}) {
                    client.loggingNotification(LoggingMessageNotification.builder(LoggingLevel.INFO, text)
                                    .build())
                            .block();
                }
            }
            case "test_tool_with_progress" -> {
                Object token = params.path("_meta").path("progressToken").isString()
                        ? params.at("/_meta/progressToken").asString()
                        : (Object) params.at("/_meta/progressToken").asLong();
                for (int progress = 0; progress <= 100; progress += 50) {
                    client.progressNotification(ProgressNotification.builder(token, progress)
                                    .total(100.0)
                                    .build())
                            .block();
                }
            }
            case "test_sampling" -> {
                ObjectNode asked = fixtures.path("sampling").deepCopy().asObject();
                ((ObjectNode) asked.at("/messages/0/content"))
                        .put("text", params.at("/arguments/prompt").asString());
                var answer = client.createMessage(JSON.treeToValue(asked, CreateMessageRequest.class))
                        .block();
                return text("LLM response: " + JSON.writeValueAsString(answer));
            }
            case "test_elicitation", "test_elicitation_sep1034_defaults", "test_elicitation_sep1330_enums" -> {
                var answer = client.createElicitation(ElicitFormRequest.builder(
                                        params.at("/arguments/message").asString("Please answer"),
                                        JSON.convertValue(
                                                fixtures.path("elicitations").path(name),
                                                new TypeReference<Map<String, Object>>() {}))
                                .build())
                        .block();
                return text("Elicitation completed: " + JSON.writeValueAsString(answer));
            }
            default -> {} // has only an answer
        }
        return map(fixtures.path("tools").path(name));
    }

    private static Object text(String text) {
        return Map.of("content", new Object[] {Map.of("type", "text", "text", text)});
    }

    private static JsonNode tree(Object params) {
        return JSON.valueToTree(params);
    }

    private static Object map(JsonNode node) {
        return JSON.convertValue(node, Object.class);
    }

    @Override
    public void close() {
        transport.close();
        server.close();
    }
}
