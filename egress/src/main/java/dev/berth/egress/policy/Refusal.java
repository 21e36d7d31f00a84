package dev.berth.egress.policy;

import java.util.Locale;

/** Why something does not pass. The message is a sentence for whoever sits in front of the program that asked. */
public final class Refusal extends Exception {
    /** A small closed set, each with the HTTP status that a program inside sees. */
    public enum Reason {
        BAD_REQUEST(400),
        NO_NETWORK(403),
        NOT_ALLOWED(403),
        PRIVATE_ADDRESS(403),
        HOST_MISMATCH(403),
        NOT_TLS(403),
        PLACEHOLDER(403),
        SECRET_GONE(403),
        NOT_ENCRYPTED(403),
        LOOP(403),
        TOO_LARGE(431),
        CAP_CONNECTIONS(429),
        CAP_BYTES(429),
        UNKNOWN_HOST(502),
        UNREACHABLE(502),
        CERTIFICATE(502),
        UPSTREAM_RESET(502),
        UPSTREAM_GARBAGE(502),
        UPSTREAM_TIMEOUT(504),
        UNAVAILABLE(503);

        private final int status;

        Reason(int status) {
            this.status = status;
        }

        public int status() {
            return status;
        }

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    private final Reason reason;

    public Refusal(Reason reason, String message) {
        super(message);
        this.reason = reason;
    }

    public Refusal(Reason reason, String message, Throwable cause) {
        super(message, cause);
        this.reason = reason;
    }

    public Reason reason() {
        return reason;
    }

    @Override
    public String getMessage() {
        return String.valueOf(super.getMessage());
    }
}
