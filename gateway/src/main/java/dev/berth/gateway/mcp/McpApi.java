package dev.berth.gateway.mcp;

import dev.berth.gateway.http.Contract;
import dev.berth.gateway.http.Endpoint;
import io.modelcontextprotocol.server.McpAsyncServerExchange;
import io.modelcontextprotocol.server.McpNotificationHandler;
import io.modelcontextprotocol.server.McpRequestHandler;
import io.modelcontextprotocol.spec.DefaultMcpStreamableServerSessionFactory;
import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpSchema.Implementation;
import io.modelcontextprotocol.spec.McpSchema.InitializeRequest;
import io.modelcontextprotocol.spec.McpSchema.InitializeResult;
import io.modelcontextprotocol.spec.McpSchema.ServerCapabilities;
import io.modelcontextprotocol.spec.McpStreamableServerSession;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import tools.jackson.databind.JsonNode;

/** What the server can do by the protocol. */
public final class McpApi {
    private static final Duration CLIENT_ANSWERS = Duration.ofSeconds(60);
    private static final String INSTRUCTIONS = """
            Tools that work in a persistent Linux computer of this conversation. Files, installed programs and running \
            processes stay between calls; paths are relative to the workspace. Files that a command leaves in output/ are \
            shown to the person as artifacts, and are resources here.""";

    private interface Work {
        @Nullable
        Object run(Incoming incoming, McpAsyncServerExchange client, JsonNode params) throws Exception;
    }

    private final ToolCalls tools;
    private final ArtifactResources artifacts;
    private final String version;

    /** @param endpoints the API's, decorated as they are for everybody */
    public McpApi(Map<String, Endpoint> endpoints, Contract contract, ArtifactResources artifacts) {
        this.tools = new ToolCalls(
                Objects.requireNonNull(endpoints.get("listTools")),
                Objects.requireNonNull(endpoints.get("callTool")),
                contract);
        this.artifacts = artifacts;
        this.version = contract.document().path("info").path("version").asString("0");
    }

    /** The protocol's sessions, each with these abilities. */
    public McpStreamableServerSession.Factory sessions() {
        Map<String, McpRequestHandler<?>> requests = Map.of(
                McpSchema.METHOD_PING, blocking((_, _, _) -> Map.of()),
                McpSchema.METHOD_TOOLS_LIST, blocking((incoming, _, _) -> tools.list(incoming)),
                McpSchema.METHOD_TOOLS_CALL, blocking(tools::call),
                McpSchema.METHOD_RESOURCES_LIST, blocking((incoming, _, params) -> artifacts.list(incoming, params)),
                McpSchema.METHOD_RESOURCES_READ, blocking((incoming, _, params) -> artifacts.read(incoming, params)),
                McpSchema.METHOD_RESOURCES_TEMPLATES_LIST, blocking((_, _, _) -> ArtifactResources.templates()));
        McpNotificationHandler heard = (_, _) -> Mono.empty();
        return new DefaultMcpStreamableServerSessionFactory(
                CLIENT_ANSWERS,
                this::initialize,
                requests,
                Map.of(
                        McpSchema.METHOD_NOTIFICATION_INITIALIZED, heard,
                        McpSchema.METHOD_NOTIFICATION_ROOTS_LIST_CHANGED, heard),
                _ -> Mono.empty());
    }

    private Mono<InitializeResult> initialize(InitializeRequest request) {
        String spoken = McpTransport.VERSIONS.contains(request.protocolVersion())
                ? request.protocolVersion()
                : McpTransport.VERSIONS.getLast();
        return Mono.just(InitializeResult.builder(
                        spoken,
                        ServerCapabilities.builder()
                                .tools(false)
                                .resources(false, false)
                                .build(),
                        Implementation.builder("berth", version).title("Berth").build())
                .instructions(INSTRUCTIONS)
                .build());
    }

    /** Runs on the request's own thread, so that it may wait. Without a result there is no answer. */
    private static McpRequestHandler<Object> blocking(Work work) {
        return (client, params) -> Mono.fromCallable(() -> {
            try {
                JsonNode given = params == null ? Messages.JSON.createObjectNode() : Messages.JSON.valueToTree(params);
                return work.run(Incoming.of(client), client, given);
            } catch (Exception e) {
                throw Failures.of(e);
            }
        });
    }
}
