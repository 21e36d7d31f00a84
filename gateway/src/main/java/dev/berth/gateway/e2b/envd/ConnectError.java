package dev.berth.gateway.e2b.envd;

import dev.berth.gateway.e2b.E2bError;
import dev.berth.sandbox.SandboxException;
import java.util.Map;

/** A failure as the Connect protocol answers it: {@code {"code": "not_found", "message": "…"}}. */
final class ConnectError extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final ConnectCode code;

    ConnectError(ConnectCode code, String message) {
        super(message);
        this.code = code;
    }

    private ConnectError(ConnectCode code, RuntimeException cause) {
        super(cause.getMessage(), cause);
        this.code = code;
    }

    static ConnectError invalid(String message) {
        return new ConnectError(ConnectCode.INVALID_ARGUMENT, message);
    }

    static ConnectError notFound(String message) {
        return new ConnectError(ConnectCode.NOT_FOUND, message);
    }

    static ConnectError internal(String message) {
        return new ConnectError(ConnectCode.INTERNAL, message);
    }

    /** Whether it is one of the ways in which things may fail, and not a mistake of ours. */
    static boolean expected(RuntimeException e) {
        return e instanceof ConnectError || e instanceof SandboxException || e instanceof E2bError;
    }

    /** The failure that something thrown stands for; what nobody expected does not tell why. */
    static ConnectError of(RuntimeException e) {
        return switch (e) {
            case ConnectError known -> known;
            case SandboxException known -> new ConnectError(ConnectCode.of(known.code()), known);
            case E2bError known -> new ConnectError(ConnectCode.of(known.status()), known);
            default -> internal("this should not have happened; the server's log has more");
        };
    }

    ConnectCode code() {
        return code;
    }

    Map<String, Object> body() {
        return Map.of("code", code.wireName(), "message", String.valueOf(getMessage()));
    }
}
