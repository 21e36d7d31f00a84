package dev.berth.gateway.mcp;

import dev.berth.gateway.auth.Caller;
import dev.berth.gateway.http.Answer;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.Exchange;
import dev.berth.sandbox.SandboxException;
import dev.berth.tool.Stop;
import io.modelcontextprotocol.common.McpTransportContext;
import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpSchema.InitializeRequest;
import io.modelcontextprotocol.spec.McpSchema.InitializeResult;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCNotification;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCRequest;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCResponse;
import io.modelcontextprotocol.spec.McpStreamableServerSession;
import io.modelcontextprotocol.spec.McpStreamableServerSession.McpStreamableServerSessionInit;
import io.modelcontextprotocol.spec.McpStreamableServerTransportProvider;
import io.modelcontextprotocol.spec.ProtocolVersions;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.MDC;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.node.ObjectNode;

/**
 * The protocol's streamable HTTP transport as operations of the contract, so that who asks, how often and how much is
 * decided as for everything else. A request has a thread of its own: a client that goes away ends its stream, and only one
 * that says so ends the call.
 */
public final class McpTransport implements McpStreamableServerTransportProvider {
    private static final Logger LOG = LoggerFactory.getLogger(McpTransport.class);
    /** The last one is what a client gets that asks for one we do not know. */
    static final List<String> VERSIONS =
            List.of(ProtocolVersions.MCP_2025_03_26, ProtocolVersions.MCP_2025_06_18, ProtocolVersions.MCP_2025_11_25);

    private static final String SESSION = "Mcp-Session-Id";
    private static final String CANCELLED = "notifications/cancelled";
    /** Those that mean something to a server; of others the SDK would write a line into the log. */
    private static final Set<String> HEARD =
            Set.of(McpSchema.METHOD_NOTIFICATION_INITIALIZED, McpSchema.METHOD_NOTIFICATION_ROOTS_LIST_CHANGED);

    private static final int MOST_OF_A_TENANT = 1000;
    private static final Duration FORGOTTEN = Duration.ofHours(24);

    private final Map<String, Conversation> conversations = new ConcurrentHashMap<>();
    private McpStreamableServerSession.@Nullable Factory factory;

    public Map<String, Endpoint> endpoints() {
        return Map.of("mcpMessage", this::message, "mcpListen", this::listen, "mcpEnd", this::end);
    }

    // ---- what comes ----------------------------------------------------------------------------------------------

    private Answer message(Exchange exchange) {
        check(exchange);
        ObjectNode body = exchange.body();
        String method = body.path("method").asString("");
        boolean request = body.has("id") && !method.isEmpty();
        if (request && method.equals(McpSchema.METHOD_INITIALIZE)) {
            return initialize(exchange, body);
        }
        Conversation conversation = conversation(exchange);
        if (request) {
            return request(exchange, conversation, body, method);
        }
        if (!method.isEmpty()) {
            notification(conversation, body, method);
        } else {
            answered(conversation, body);
        }
        return new Answer.Taken();
    }

    private static void check(Exchange exchange) {
        Origins.check(exchange.header("Origin"));
        String accept = exchange.header("Accept").orElse("*/*");
        if (!accept.contains("text/event-stream") && !accept.contains("*/*")) {
            throw SandboxException.invalid("send 'Accept: application/json, text/event-stream'");
        }
        Optional<String> version = exchange.header("MCP-Protocol-Version");
        if (version.isPresent() && !VERSIONS.contains(version.get())) {
            throw SandboxException.invalid("this version of the protocol is not spoken here; there are " + VERSIONS);
        }
    }

    /** Of another tenant nothing is told, not even that it is there. */
    private Conversation conversation(Exchange exchange) {
        String id = exchange.header(SESSION)
                .orElseThrow(() -> SandboxException.invalid(
                        "the header " + SESSION + " is missing; send 'initialize' first, its answer has one"));
        Conversation conversation = conversations.get(id);
        if (conversation == null || !conversation.belongsTo(exchange.caller())) {
            throw SandboxException.notFound("there is no such MCP session; send 'initialize' again");
        }
        conversation.seen();
        return conversation;
    }

    private Answer initialize(Exchange exchange, ObjectNode body) {
        requireOwnTenant(exchange);
        InitializeRequest request;
        try {
            request = Messages.JSON.treeToValue(body.path("params"), InitializeRequest.class);
        } catch (JacksonException e) {
            throw SandboxException.invalid("the parameters of 'initialize' are not what they should be: it has to have"
                    + " protocolVersion, capabilities and clientInfo");
        }
        if (request == null) {
            throw SandboxException.invalid("'initialize' has no parameters");
        }
        McpStreamableServerSessionInit begun =
                Objects.requireNonNull(factory, "nobody serves").startSession(request);
        InitializeResult result = Objects.requireNonNull(begun.initResult().block());
        Conversation conversation = new Conversation(begun.session(), exchange.caller());
        makeRoom(conversation.tenant());
        conversations.put(conversation.id(), conversation);
        byte[] answer = Messages.JSON.writeValueAsBytes(
                JSONRPCResponse.result(Messages.id(Objects.requireNonNull(body.get("id"))), result));
        return new Answer.Stream(
                "application/json",
                OptionalLong.of(answer.length),
                Map.of(SESSION, conversation.id()),
                out -> out.write(answer));
    }

    private static void requireOwnTenant(Exchange exchange) {
        Caller caller = exchange.caller();
        if (exchange.query("tenant_id")
                .filter(named -> !named.equals(caller.tenant()))
                .isPresent()) {
            caller.requireAdmin();
        }
    }

    private Answer request(Exchange exchange, Conversation conversation, ObjectNode body, String method) {
        requireOwnTenant(exchange);
        Object id = Messages.id(Objects.requireNonNull(body.get("id")));
        Reply reply = new Reply();
        Incoming incoming = new Incoming(exchange, conversation, reply, new Stop());
        conversation.begin(id, incoming.stop());
        JSONRPCRequest request = new JSONRPCRequest(method, id, body.get("params"));
        Map<String, String> context = MDC.getCopyOfContextMap();
        Thread.ofVirtual().name("mcp " + method).start(() -> {
            if (context != null) {
                MDC.setContextMap(context);
            }
            try {
                conversation
                        .session()
                        .responseStream(reply)
                        .handle(request)
                        .contextWrite(values -> values.put(McpTransportContext.KEY, incoming.context()))
                        .block();
            } catch (RuntimeException e) {
                LOG.atError().setCause(e).log("mcp.failed");
            } finally {
                conversation.end(id);
                reply.end();
            }
        });
        return Answer.events(reply);
    }

    private static void notification(Conversation conversation, ObjectNode body, String method) {
        if (method.equals(CANCELLED)) {
            conversation.cancel(Messages.id(body.path("params").path("requestId")));
        } else if (HEARD.contains(method)) {
            conversation
                    .session()
                    .accept(new JSONRPCNotification(method, body.get("params")))
                    .block();
        }
    }

    /** The client's answer to what it was asked. */
    private static void answered(Conversation conversation, ObjectNode body) {
        try {
            conversation
                    .session()
                    .accept(Messages.JSON.treeToValue(body, JSONRPCResponse.class))
                    .block();
        } catch (JacksonException e) {
            throw SandboxException.invalid(
                    "this is neither a request nor a notification nor an answer of JSON-RPC 2.0");
        } catch (io.modelcontextprotocol.spec.McpError e) {
            throw SandboxException.invalid("nobody asked for this answer");
        }
    }

    private Answer listen(Exchange exchange) {
        check(exchange);
        Conversation conversation = conversation(exchange);
        Reply stream = new Reply();
        McpStreamableServerSession.McpStreamableServerSessionStream listening =
                conversation.session().listeningStream(stream);
        return Answer.events(new Listening(stream, listening));
    }

    private Answer end(Exchange exchange) {
        check(exchange);
        Conversation conversation = conversation(exchange);
        conversations.remove(conversation.id());
        conversation.close();
        return Answer.done();
    }

    // ---- conversations -------------------------------------------------------------------------------------------

    /** Forgets clients that went away without a word. */
    public void sweep() {
        conversations.values().removeIf(conversation -> conversation.idle(FORGOTTEN));
    }

    public int count() {
        return conversations.size();
    }

    /** A tenant that begins more and more has the oldest of those forgotten that do nothing. */
    private void makeRoom(String tenant) {
        List<Conversation> own = conversations.values().stream()
                .filter(conversation -> conversation.tenant().equals(tenant))
                .toList();
        if (own.size() < MOST_OF_A_TENANT) {
            return;
        }
        Conversation oldest = own.stream()
                .filter(conversation -> conversation.idle(Duration.ZERO))
                .min(Comparator.comparingLong(Conversation::lastSeen))
                .orElseThrow(() -> SandboxException.limit(
                        "this tenant has " + MOST_OF_A_TENANT + " MCP sessions in use; end some of them"));
        conversations.remove(oldest.id());
    }

    // ---- for the SDK ---------------------------------------------------------------------------------------------

    @Override
    public List<String> protocolVersions() {
        return VERSIONS;
    }

    @Override
    public void setSessionFactory(McpStreamableServerSession.Factory sessions) {
        factory = sessions;
    }

    @Override
    public Mono<Void> notifyClients(String method, Object params) {
        return Flux.fromIterable(conversations.values())
                .filter(conversation -> conversation.session().hasListeningStream())
                .flatMap(conversation -> conversation.session().sendNotification(method, params))
                .then();
    }

    @Override
    public void close() {
        conversations.values().forEach(Conversation::close);
        conversations.clear();
    }

    @Override
    public Mono<Void> closeGracefully() {
        return Mono.fromRunnable(this::close);
    }
}
