package dev.berth.gateway.e2b.envd;

import dev.berth.gateway.e2b.Call;
import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The Connect protocol as far as E2B's clients speak it: POST, JSON, no compression, one message in, one or a stream of them
 * out. See connectrpc.com/docs/protocol.
 */
final class Connect {
    private static final Logger LOG = LoggerFactory.getLogger(Connect.class);
    /** Of one message. The largest are what is given to a process to read. */
    static final int MOST = 16 << 20;

    private static final String JSON = "application/json";

    /** A method of a service. */
    sealed interface Method {
        /** Answers with one message. */
        non-sealed interface Unary extends Method {
            Object answer(Visit visit, Message request);
        }

        /** Answers with a stream of them; returns when it came to its end. */
        non-sealed interface Streaming extends Method {
            void answer(Visit visit, Message request, EventStream out);
        }
    }

    private final Map<String, Method> methods;
    private final Set<String> services;

    /** @param methods by path, such as {@code /process.Process/List} */
    Connect(Map<String, Method> methods) {
        this.methods = Map.copyOf(methods);
        this.services = methods.keySet().stream()
                .map(Connect::service)
                .collect(java.util.stream.Collectors.toUnmodifiableSet());
    }

    private static String service(String path) {
        return path.substring(0, path.lastIndexOf('/') + 1);
    }

    /** Whether a path is one of a service, though perhaps not of a method that it has. */
    boolean knows(String path) {
        return services.contains(service(path));
    }

    void answer(Visit visit) {
        Call call = visit.call();
        Method method = methods.get(call.uriPath());
        if (method == null) {
            ConnectError unknown = new ConnectError(ConnectCode.UNIMPLEMENTED, "there is no method " + call.uriPath());
            call.answer(404, unknown.body());
            return;
        }
        if (!call.method().equals("POST")) {
            call.header("Allow", "POST").answer(405);
            return;
        }
        String type = method instanceof Method.Streaming ? EventStream.TYPE : JSON;
        if (!mediaType(call).equals(type)) {
            call.header("Accept-Post", type).answer(415);
            return;
        }
        switch (method) {
            case Method.Unary unary -> answer(visit, unary);
            case Method.Streaming streaming -> answer(visit, streaming);
        }
    }

    private static String mediaType(Call call) {
        String type = call.header("Content-Type").orElse("");
        int semicolon = type.indexOf(';');
        return (semicolon < 0 ? type : type.substring(0, semicolon)).strip().toLowerCase(Locale.ROOT);
    }

    private static void answer(Visit visit, Method.Unary method) {
        Call call = visit.call();
        Object answer;
        try {
            check(visit, "Content-Encoding");
            answer = method.answer(visit, Message.parse(body(call)));
        } catch (Call.Broken e) {
            throw e;
        } catch (RuntimeException e) {
            ConnectError error = error(visit, e);
            call.answer(error.code().status(), error.body());
            return;
        }
        call.answer(200, answer);
    }

    private static void answer(Visit visit, Method.Streaming method) {
        EventStream out = new EventStream(visit.call());
        try {
            check(visit, "Connect-Content-Encoding");
            method.answer(visit, Message.parse(message(visit.call())), out);
            out.end();
        } catch (Call.Broken e) {
            throw e;
        } catch (RuntimeException e) {
            ConnectError error = error(visit, e);
            if (out.begun() && error.code() == ConnectCode.UNAVAILABLE) {
                // A client that was being told something asks by itself whether the sandbox still runs.
                throw new Call.Broken(e);
            }
            out.fail(error);
        }
    }

    private static void check(Visit visit, String encoding) {
        visit.call()
                .header("Connect-Protocol-Version")
                .filter(version -> !version.equals("1"))
                .ifPresent(version -> {
                    throw ConnectError.invalid("connect-protocol-version must be \"1\": got \"" + version + "\"");
                });
        visit.call()
                .header(encoding)
                .filter(name -> !name.isEmpty() && !name.equalsIgnoreCase("identity"))
                .ifPresent(name -> {
                    throw new ConnectError(
                            ConnectCode.UNIMPLEMENTED,
                            "unknown compression \"" + name + "\": supported encodings are identity");
                });
        visit.checkUser();
    }

    private static byte[] body(Call call) {
        try {
            byte[] bytes = call.body().readNBytes(MOST + 1);
            if (bytes.length > MOST) {
                throw new ConnectError(ConnectCode.RESOURCE_EXHAUSTED, "message is larger than configured max " + MOST);
            }
            return bytes;
        } catch (IOException e) {
            throw new Call.Broken(e);
        }
    }

    private static byte[] message(Call call) {
        try {
            return Envelope.onlyMessage(call.body(), MOST);
        } catch (IOException e) {
            throw new Call.Broken(e);
        }
    }

    /** What cannot be done because the sandbox went down meanwhile is seen as that, whatever it was. */
    private static ConnectError error(Visit visit, RuntimeException e) {
        ConnectError error = ConnectError.of(e);
        if (!ConnectError.expected(e)) {
            LOG.atError()
                    .addKeyValue("path", visit.call().uriPath())
                    .setCause(e)
                    .log("http.failed");
        }
        boolean refused = e instanceof SandboxException known
                && switch (known.code()) {
                    case CONFLICT, GONE, UNAVAILABLE -> true;
                    default -> false;
                };
        return refused && !visit.sandbox().ready()
                ? new ConnectError(ConnectCode.UNAVAILABLE, "the sandbox does not run any more")
                : error;
    }
}
