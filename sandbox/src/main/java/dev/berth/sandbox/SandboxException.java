package dev.berth.sandbox;

/**
 * What every operation here throws when it fails. The message is a sentence for the person who has to act: what could
 * not be done, why, and what to try.
 */
public final class SandboxException extends RuntimeException {
    private final ErrorCode code;

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
