package dev.berth.session;

import dev.berth.sandbox.SandboxException;
import java.time.Duration;
import java.util.Locale;

/**
 * How long a session stays up each time it comes up, used or not, and what becomes of it then. Unlike the steps of
 * {@link IdlePolicy}, this also ends a session that somebody holds, that is pinned or that has jobs.
 *
 * @param after from when it came up; {@link Sessions#expire} and {@link Sessions#extend} change it for this time
 * @param wakesOnTraffic whether a connection to one of its ports may bring it up again; of interest to those who serve
 *     these, nothing else follows from it
 */
public record Expiry(Duration after, Then then, boolean wakesOnTraffic) {
    private static final Duration LONGEST = Duration.ofDays(3650);

    /** What becomes of it. */
    public enum Then {
        DELETE,
        PAUSE,
        STOP;

        public static Then parse(String name) {
            try {
                return valueOf(name.toUpperCase(Locale.ROOT));
            } catch (IllegalArgumentException e) {
                throw SandboxException.invalid(
                        "a session that expires is to 'delete', 'pause' or 'stop', not '" + name + "'");
            }
        }

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    public Expiry {
        if (!after.isPositive() || after.compareTo(LONGEST) > 0) {
            throw SandboxException.invalid("a session expires after more than no time and at most ten years");
        }
    }

    /** A moment that the database can add to its own. */
    static Duration bounded(Duration fromNow) {
        if (fromNow.isNegative()) {
            return Duration.ZERO;
        }
        if (fromNow.compareTo(LONGEST) > 0) {
            throw SandboxException.invalid("a session expires at most ten years from now");
        }
        return fromNow;
    }
}
