package dev.berth.gateway.http;

import dev.berth.gateway.auth.Caller;
import dev.berth.gateway.http.Contract.Operation;
import dev.berth.sandbox.SandboxException;
import io.javalin.Javalin;
import io.javalin.config.JavalinConfig;
import io.javalin.http.Context;
import io.javalin.http.HandlerType;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.handler.GracefulHandler;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.MDC;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * The server. Each operation of the contract is a route; the way of a request is the same for all of them: a name for it,
 * who asks, how often, whether it may, whether what it says makes sense, and only then the endpoint.
 */
public final class HttpServer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(HttpServer.class);
    /** What is being answered when the server stops may take so long. */
    private static final Duration FINISHING = Duration.ofSeconds(10);

    private static final long MOST_DRAINED = 16 << 20;
    private static final int MOST_ANSWER_HEADERS = 64 << 10;
    private static final long MOST_MESSAGE = 1 << 20;

    private final ServerConfig config;
    private final Admission admission;
    private final Handler.Wrapper front;
    private final Optional<NamedPort> named;
    private final MeterRegistry meters;
    private final Sockets sockets;
    private final Javalin javalin;
    private @Nullable ServerConnector main;

    private HttpServer(
            ServerConfig config,
            Contract contract,
            Map<String, Endpoint> endpoints,
            Map<String, SocketEndpoint> socketEndpoints,
            Admission admission,
            Handler.Wrapper front,
            Optional<NamedPort> named,
            MeterRegistry meters) {
        this.config = config;
        this.admission = admission;
        this.front = named.map(port -> port.guard(front)).orElse(front);
        this.named = named;
        this.meters = meters;
        this.sockets = new Sockets(config.heartbeat());
        this.javalin = Javalin.create(javalin -> {
            configure(javalin);
            for (Operation operation : contract.routes()) {
                Endpoint plain = endpoints.get(operation.id());
                if (plain == null) {
                    throw new IllegalStateException("nobody answers " + operation.id());
                }
                Endpoint endpoint = operation.streams() ? CallStream.around(plain, config.heartbeat()) : plain;
                HandlerType method = HandlerType.findOrCreate(operation.method());
                javalin.routes.addHttpHandler(method, operation.path(), context -> serve(operation, endpoint, context));
                if (operation.socket()) {
                    SocketEndpoint socket = socketEndpoints.get(operation.id());
                    if (socket == null) {
                        throw new IllegalStateException("nobody answers the WebSocket " + operation.id());
                    }
                    javalin.routes.wsBeforeUpgrade(operation.path(), context -> open(operation, socket, context));
                    javalin.routes.ws(operation.path(), sockets::configure);
                }
                operation
                        .alias()
                        .ifPresent(alias -> javalin.routes.addHttpHandler(
                                method, alias, context -> serve(operation, endpoint, context)));
            }
            refuseTheRest(javalin, contract);
        });
        Set<String> unknown = new HashSet<>(endpoints.keySet());
        contract.routes().forEach(operation -> unknown.remove(operation.id()));
        if (!unknown.isEmpty()) {
            throw new IllegalStateException("the contract does not know " + unknown);
        }
    }

    /**
     * Starts listening. Every operation of the contract has to have its endpoint, by id.
     *
     * @param front answers the operations that say so in the contract, before any route is looked for
     * @param named where the same is answered besides, for some names only
     */
    public static HttpServer start(
            ServerConfig config,
            Contract contract,
            Map<String, Endpoint> endpoints,
            Map<String, SocketEndpoint> socketEndpoints,
            Admission admission,
            Handler.Wrapper front,
            Optional<NamedPort> named,
            MeterRegistry meters) {
        HttpServer server =
                new HttpServer(config, contract, endpoints, socketEndpoints, admission, front, named, meters);
        try {
            server.javalin.start();
            return server;
        } catch (RuntimeException e) {
            named.ifPresent(NamedPort::close);
            throw SandboxException.unavailable(
                    "could not listen on " + config.host() + ":" + config.port() + ": " + reason(e)
                            + (config.tls().isPresent()
                                    ? "; choose another port with --port, or look at the key store"
                                    : "; choose another port with --port"),
                    e);
        }
    }

    public int port() {
        return Objects.requireNonNull(main, "it has started").getLocalPort();
    }

    /** Takes no more requests, lets those that are being answered finish for a while, and stops. */
    @Override
    public void close() {
        sockets.close();
        javalin.stop();
    }

    private void configure(JavalinConfig javalin) {
        javalin.startup.showJavalinBanner = false;
        javalin.startup.showOldJavalinVersionWarning = false;
        javalin.http.maxRequestSize = Long.MAX_VALUE; // each operation has its own
        javalin.http.prefer405over404 = true;
        javalin.http.defaultContentType = "application/json";
        javalin.http.compressionStrategy = io.javalin.compression.CompressionStrategy.NONE;
        QueuedThreadPool threads = new QueuedThreadPool();
        threads.setName("http");
        threads.setVirtualThreadsExecutor(java.util.concurrent.Executors.newVirtualThreadPerTaskExecutor());
        javalin.jetty.threadPool = threads;
        javalin.jetty.modifyServer(server -> {
            server.setHandler(new GracefulHandler(front));
            server.setStopTimeout(FINISHING.toMillis());
        });
        javalin.jetty.modifyHttpConfiguration(http -> {
            http.setSendServerVersion(false);
            http.setSendXPoweredBy(false);
            http.setRequestHeaderSize(16 << 10);
            http.setMaxResponseHeaderSize(MOST_ANSWER_HEADERS);
        });
        javalin.jetty.modifyServer(server -> server.setErrorHandler(new ProblemPages()));
        javalin.jetty.modifyServletContextHandler(handler -> handler.setErrorHandler(new ProblemPages()));
        javalin.jetty.addConnector((server, http) -> {
            main = Connectors.of(config, server, http);
            return main;
        });
        named.ifPresent(
                port -> javalin.jetty.addConnector((server, http) -> port.connector(server, http, config.idle())));
        javalin.jetty.modifyWebSocketServletFactory(factory -> {
            factory.setIdleTimeout(config.idleOfSockets());
            factory.setMaxTextMessageSize(MOST_MESSAGE);
            factory.setMaxBinaryMessageSize(MOST_MESSAGE);
        });
        Gauge.builder("berth.http.sockets", sockets, Sockets::count).register(meters);
        javalin.routes.exception(
                Exception.class, (e, context) -> answer(context, Problems.of(e, name(context), context.path())));
        javalin.routes.error(404, context -> {
            if (!String.valueOf(context.res().getContentType()).startsWith(Problems.CONTENT_TYPE)) {
                answer(context, Problems.plain(404, "not_found", "there is nothing at this address", name(context)));
            }
        });
    }

    private static void refuseTheRest(JavalinConfig javalin, Contract contract) {
        for (String path :
                contract.routes().stream().map(Operation::path).distinct().toList()) {
            List<String> allowed = contract.routes().stream()
                    .filter(operation -> operation.path().equals(path))
                    .map(Operation::method)
                    .toList();
            for (HandlerType method : List.of(
                    HandlerType.GET, HandlerType.POST, HandlerType.PUT, HandlerType.PATCH, HandlerType.DELETE)) {
                if (!allowed.contains(method.name())) {
                    javalin.routes.addHttpHandler(method, path, context -> {
                        context.header("Allow", String.join(", ", allowed));
                        answer(
                                context,
                                Problems.plain(
                                        405,
                                        "method_not_allowed",
                                        "this address takes " + String.join(", ", allowed),
                                        name(context)));
                    });
                }
            }
        }
    }

    // ---- the way of a request ------------------------------------------------------------------------------------

    private void serve(Operation operation, Endpoint endpoint, Context context) throws Exception {
        long began = System.nanoTime();
        String request = name(context);
        MDC.put("correlation", request);
        context.header("X-Request-Id", request);
        String outcome = "failed";
        try {
            Caller caller = operation.open() ? null : admission.admit(operation, context::header);
            checkParameters(operation, context);
            Answer answer =
                    endpoint.answer(Exchange.of(operation.id(), request, context, caller, body(operation, context)));
            write(context, answer);
            outcome = "ok";
        } finally {
            MDC.remove("correlation");
            Timer.builder("berth.http.requests")
                    .tag("operation", operation.id())
                    .tag("outcome", outcome)
                    .register(meters)
                    .record(Duration.ofNanos(System.nanoTime() - began));
        }
    }

    private void open(Operation operation, SocketEndpoint endpoint, Context context) throws Exception {
        String request = name(context);
        MDC.put("correlation", request);
        context.header("X-Request-Id", request);
        try {
            Caller caller = admission.admit(operation, context::header);
            checkParameters(operation, context);
            ObjectNode none = JsonNodeFactory.instance.objectNode();
            Exchange exchange = Exchange.of(operation.id(), request, context, caller, none);
            context.attribute(Sockets.TALK, endpoint.open(exchange));
        } finally {
            MDC.remove("correlation");
        }
    }

    private static void checkParameters(Operation operation, Context context) {
        ObjectNode values = JsonNodeFactory.instance.objectNode();
        operation.pathParameters().forEach((name, schema) -> {
            values.put(name, context.pathParam(name));
            Contract.check(schema, values.get(name));
        });
        for (Map.Entry<String, List<String>> parameter : context.queryParamMap().entrySet()) {
            var schema = operation.queryParameters().get(parameter.getKey());
            if (schema == null) {
                throw SandboxException.invalid("there is no parameter '" + parameter.getKey() + "' here");
            }
            if (parameter.getValue().size() != 1) {
                throw SandboxException.invalid("the parameter '" + parameter.getKey() + "' is given more than once");
            }
            Contract.check(schema, Parameters.value(parameter.getValue().getFirst(), schema));
        }
        for (String required : operation.requiredQuery()) {
            if (context.queryParam(required) == null) {
                throw SandboxException.invalid("the parameter '" + required + "' is missing");
            }
        }
    }

    private ObjectNode body(Operation operation, Context context) throws IOException {
        if (operation.body().isEmpty()) {
            return JsonNodeFactory.instance.objectNode();
        }
        String type = Optional.ofNullable(context.contentType()).orElse("");
        boolean json = type.toLowerCase(java.util.Locale.ROOT).startsWith("application/json");
        if (!json) {
            if (operation.otherBody() && !type.isEmpty()) {
                return JsonNodeFactory.instance.objectNode();
            }
            throw new HttpProblem(415, "unsupported_media_type", "send 'Content-Type: application/json'");
        }
        ObjectNode body =
                Bodies.read(context.bodyInputStream(), operation.mostBodyBytes().orElse(config.mostBodyBytes()));
        Contract.check(operation.body().get(), body);
        return body;
    }

    private static void write(Context context, Answer answer) throws IOException {
        switch (answer) {
            case Answer.Json(int status, Object value) -> {
                context.status(status);
                context.contentType("application/json");
                context.result(Bodies.JSON.writeValueAsBytes(value));
            }
            case Answer.Raw(int status, String type, String body, Map<String, String> headers) -> {
                drain(context); // it was not needed
                context.status(status);
                headers.forEach(context::header);
                if (!body.isEmpty()) {
                    context.contentType(type);
                    context.result(body);
                }
            }
            case Answer.Text(String type, String text) -> {
                context.contentType(type);
                context.result(text);
            }
            case Answer.Stream stream -> {
                try (var writer = stream.writer()) {
                    context.status(stream.status());
                    context.contentType(stream.contentType());
                    stream.headers().forEach(context::header);
                    stream.length().ifPresent(length -> context.res().setContentLengthLong(length));
                    writer.write(context.res().getOutputStream());
                }
            }
            case Answer.Events(EventStream.Source source) -> write(context, EventStream.answer(source, name(context)));
            case Answer.Failure(int status, String code, String detail, var headers) -> {
                headers.forEach(context::header);
                answer(context, Problems.plain(status, code, detail, name(context)));
            }
            case Answer.Taken() -> context.status(202);
            case Answer.Done() -> context.status(204);
        }
    }

    // ---- failures ------------------------------------------------------------------------------------------------

    private static void answer(Context context, Problems.Problem problem) {
        if (context.res().isCommitted()) {
            return;
        }
        drain(context);
        problem.headers().forEach(context::header);
        context.status(problem.status());
        context.contentType(Problems.CONTENT_TYPE);
        context.result(Bodies.JSON.writeValueAsBytes(problem.body()));
    }

    /**
     * Reads what is left of a body before it is answered, up to a bound: HTTP/2 would reset the stream otherwise, and many
     * clients then never see the answer.
     */
    private static void drain(Context context) {
        try {
            byte[] buffer = new byte[16 << 10];
            InputStream body = context.bodyInputStream();
            long left = MOST_DRAINED;
            for (int n = body.read(buffer); n >= 0 && left > 0; n = body.read(buffer)) {
                left -= n;
            }
        } catch (IOException e) {
            LOG.debug("a client went away before it was answered", e);
        }
    }

    private static String name(Context context) {
        String known = context.attribute("request");
        if (known == null) {
            known = UUID.randomUUID().toString();
            context.attribute("request", known);
        }
        return known;
    }

    private static String reason(Throwable e) {
        Throwable cause = e;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        return String.valueOf(cause.getMessage());
    }
}
