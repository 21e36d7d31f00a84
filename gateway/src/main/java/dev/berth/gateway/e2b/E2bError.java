package dev.berth.gateway.e2b;

import dev.berth.gateway.auth.Unauthenticated;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** A failure as E2B's API answers it: {@code {"code": 404, "message": "…"}}, with the same code as status. */
public final class E2bError extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final int status;
    private final int retryAfterSeconds;
    private final transient Map<String, Object> more = new LinkedHashMap<>();

    private E2bError(int status, String message, int retryAfterSeconds, Optional<Throwable> cause) {
        super(message, cause.orElse(null));
        this.status = status;
        this.retryAfterSeconds = retryAfterSeconds;
    }

    public E2bError(int status, String message) {
        this(status, message, 0, Optional.empty());
    }

    /** The one mapping of our errors to E2B's. */
    public static E2bError of(SandboxException e) {
        int status = status(e.code());
        int retry = status == 429 || status == 503 ? retryAfter(e) : 0;
        return new E2bError(status, String.valueOf(e.getMessage()), retry, Optional.of(e));
    }

    public static E2bError of(Unauthenticated e) {
        return new E2bError(401, String.valueOf(e.getMessage()), 0, Optional.of(e));
    }

    static int status(ErrorCode code) {
        return switch (code) {
            case GONE, NOT_FOUND -> 404;
            case INVALID, UNSUPPORTED -> 400;
            case DENIED -> 403;
            case CONFLICT -> 409;
            case LIMIT -> 429;
            case TIMEOUT -> 504;
            case UNAVAILABLE -> 503;
        };
    }

    /** E2B's clients wait for as long by themselves, and try again; it has to be a whole number. */
    private static int retryAfter(SandboxException e) {
        return e.details().get(SandboxException.RETRY_AFTER_MS) instanceof Number ms
                ? (int) Math.max(1, Math.ceilDiv(ms.longValue(), 1000))
                : 1;
    }

    /** The same, with one more field in its body. */
    public E2bError with(String field, Object value) {
        more.put(field, value);
        return this;
    }

    public int status() {
        return status;
    }

    Map<String, String> headers() {
        return retryAfterSeconds > 0 ? Map.of("Retry-After", Integer.toString(retryAfterSeconds)) : Map.of();
    }

    Map<String, Object> body() {
        Map<String, Object> body = new LinkedHashMap<>(more);
        body.put("code", status);
        body.put("message", getMessage());
        return body;
    }
}
