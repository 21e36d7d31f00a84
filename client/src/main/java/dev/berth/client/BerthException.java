package dev.berth.client;

import java.net.http.HttpHeaders;
import java.time.Duration;
import java.util.Optional;

/** A call that failed. The message says what to do and is for people; the code is for programs. */
public final class BerthException extends RuntimeException {
    /** There is no server to be reached, or it cannot do it right now. */
    public static final String UNAVAILABLE = "unavailable";

    public static final String NOT_FOUND = "not_found";

    private final String code;
    private final int status;
    private final Optional<String> requestId;
    private final Optional<Duration> retryAfter;
    private final Json problem;

    private BerthException(
            String code,
            int status,
            String message,
            Optional<String> requestId,
            Optional<Duration> retryAfter,
            Json problem) {
        super(message);
        this.code = code;
        this.status = status;
        this.requestId = requestId;
        this.retryAfter = retryAfter;
        this.problem = problem;
    }

    /** What a server said by RFC 9457, or whatever stood between it and us. */
    static BerthException of(int status, HttpHeaders headers, Json problem) {
        String code = problem.get("code").optionalText().orElseGet(() -> codeOf(status));
        String message = problem.get("detail")
                .optionalText()
                .orElse("the server answered with status " + status + " and did not say why");
        Optional<Duration> retryAfter = problem.get("retry_after_ms")
                .optionalInt()
                .map(ms -> Duration.ofMillis(Math.max(0, ms)))
                .or(() -> headers.firstValue("Retry-After").flatMap(BerthException::seconds));
        return new BerthException(
                code, status, message, problem.get("request_id").optionalText(), retryAfter, problem);
    }

    static BerthException unreachable(String message, Throwable cause) {
        BerthException e =
                new BerthException(UNAVAILABLE, 0, message, Optional.empty(), Optional.empty(), Json.object());
        e.initCause(cause);
        return e;
    }

    static BerthException malformed(String message) {
        return new BerthException(UNAVAILABLE, 0, message, Optional.empty(), Optional.empty(), Json.object());
    }

    private static Optional<Duration> seconds(String header) {
        // The other form that HTTP has, a date, is not one that Berth sends.
        return header.matches("[0-9]{1,9}")
                ? Optional.of(Duration.ofSeconds(Long.parseLong(header)))
                : Optional.empty();
    }

    private static String codeOf(int status) {
        return switch (status) {
            case 401 -> "unauthenticated";
            case 403 -> "denied";
            case 404, 405 -> NOT_FOUND;
            case 409 -> "conflict";
            case 410 -> "gone";
            case 413, 429 -> "limit";
            case 501 -> "unsupported";
            case 408, 504 -> "timeout";
            default -> status >= 500 ? UNAVAILABLE : "invalid";
        };
    }

    /**
     * One of {@code gone}, {@code not_found}, {@code invalid}, {@code denied}, {@code conflict}, {@code limit},
     * {@code timeout}, {@code unavailable}, {@code unsupported}, {@code unauthenticated}.
     */
    public String code() {
        return code;
    }

    public boolean is(String code) {
        return this.code.equals(code);
    }

    /** Of HTTP; 0 if no server answered. */
    public int status() {
        return status;
    }

    @Override
    public String getMessage() {
        return String.valueOf(super.getMessage());
    }

    /** By which the operator finds the call in the server's log. */
    public Optional<String> requestId() {
        return requestId;
    }

    /** When it may work, if the server knows. */
    public Optional<Duration> retryAfter() {
        return retryAfter;
    }

    /** All that the server said. */
    public Json problem() {
        return problem;
    }
}
