package dev.berth.gateway.e2b.envd;

import dev.berth.sandbox.ErrorCode;
import java.util.Locale;

/** The codes of the Connect protocol, and the HTTP status of each where an answer is no stream. */
enum ConnectCode {
    CANCELED(499),
    UNKNOWN(500),
    INVALID_ARGUMENT(400),
    DEADLINE_EXCEEDED(504),
    NOT_FOUND(404),
    ALREADY_EXISTS(409),
    PERMISSION_DENIED(403),
    RESOURCE_EXHAUSTED(429),
    FAILED_PRECONDITION(400),
    ABORTED(409),
    OUT_OF_RANGE(400),
    UNIMPLEMENTED(501),
    INTERNAL(500),
    UNAVAILABLE(503),
    DATA_LOSS(500),
    UNAUTHENTICATED(401);

    private final int status;

    ConnectCode(int status) {
        this.status = status;
    }

    int status() {
        return status;
    }

    String wireName() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** The one mapping of our errors. What is gone is {@code unavailable}, by which E2B's clients know a dead sandbox. */
    static ConnectCode of(ErrorCode code) {
        return switch (code) {
            case GONE, UNAVAILABLE -> UNAVAILABLE;
            case NOT_FOUND -> NOT_FOUND;
            case INVALID -> INVALID_ARGUMENT;
            case DENIED -> PERMISSION_DENIED;
            case CONFLICT -> FAILED_PRECONDITION;
            case LIMIT -> RESOURCE_EXHAUSTED;
            case TIMEOUT -> DEADLINE_EXCEEDED;
            case UNSUPPORTED -> UNIMPLEMENTED;
        };
    }

    /** Of an error that was thrown with the status of the REST API. */
    static ConnectCode of(int status) {
        return switch (status) {
            case 400, 406 -> INVALID_ARGUMENT;
            case 401 -> UNAUTHENTICATED;
            case 403 -> PERMISSION_DENIED;
            case 404 -> NOT_FOUND;
            case 409 -> FAILED_PRECONDITION;
            case 413, 429, 507 -> RESOURCE_EXHAUSTED;
            case 502, 503 -> UNAVAILABLE;
            case 504 -> DEADLINE_EXCEEDED;
            default -> INTERNAL;
        };
    }
}
