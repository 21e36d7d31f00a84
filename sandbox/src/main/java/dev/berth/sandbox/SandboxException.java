package dev.berth.sandbox;

import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;

/**
 * What every operation here throws when it fails. The message is a sentence for the person who has to act: what could
 * not be done, why, and what to try. What a program may want to act on is in the details.
 */
public final class SandboxException extends RuntimeException {
    /** Detail: after how many milliseconds it makes sense to try again. */
    public static final String RETRY_AFTER_MS = "retry_after_ms";
    /** Detail of {@code invalid}: everything that is wrong, each with its place. */
    public static final String ERRORS = "errors";
    /** Details of {@code limit}: which one, what is used, what is allowed. */
    public static final String LIMIT = "limit";

    public static final String USED = "used";
    public static final String ALLOWED = "allowed";

    private final ErrorCode code;
    private final Map<String, Object> details = new TreeMap<>();

    public SandboxException(ErrorCode code, String message) {
        super(message);
        this.code = code;
    }

    public SandboxException(ErrorCode code, String message, Throwable cause) {
        super(message, cause);
        this.code = code;
    }

    /** Never null, as every constructor takes one. */
    @Override
    public String getMessage() {
        return String.valueOf(super.getMessage());
    }

    public ErrorCode code() {
        return code;
    }

    public Map<String, Object> details() {
        return Collections.unmodifiableMap(details);
    }

    /** Adds a detail, before it is thrown. */
    public SandboxException with(String name, Object value) {
        details.put(name, value);
        return this;
    }

    public static SandboxException gone(String message) {
        return new SandboxException(ErrorCode.GONE, message);
    }

    public static SandboxException notFound(String message) {
        return new SandboxException(ErrorCode.NOT_FOUND, message);
    }

    public static SandboxException invalid(String message) {
        return new SandboxException(ErrorCode.INVALID, message);
    }

    public static SandboxException denied(String message) {
        return new SandboxException(ErrorCode.DENIED, message);
    }

    public static SandboxException conflict(String message) {
        return new SandboxException(ErrorCode.CONFLICT, message);
    }

    public static SandboxException limit(String message) {
        return new SandboxException(ErrorCode.LIMIT, message);
    }

    public static SandboxException timeout(String message) {
        return new SandboxException(ErrorCode.TIMEOUT, message);
    }

    public static SandboxException unavailable(String message) {
        return new SandboxException(ErrorCode.UNAVAILABLE, message);
    }

    public static SandboxException unavailable(String message, Throwable cause) {
        return new SandboxException(ErrorCode.UNAVAILABLE, message, cause);
    }

    public static SandboxException unsupported(String message) {
        return new SandboxException(ErrorCode.UNSUPPORTED, message);
    }
}
