package dev.berth.gateway.e2b;

import java.time.Duration;
import tools.jackson.databind.JsonNode;

/** For how long a sandbox is to live, in whole seconds. */
final class Timeouts {
    private final Duration longest;

    Timeouts(Duration longest) {
        this.longest = longest;
    }

    /** @param otherwise where nobody says; null if somebody has to */
    Duration read(JsonNode seconds, Duration otherwise) {
        if (seconds.isMissingNode() || seconds.isNull()) {
            return otherwise;
        }
        return check(number(seconds));
    }

    Duration required(JsonNode seconds) {
        if (seconds.isMissingNode() || seconds.isNull()) {
            throw new E2bError(400, "Timeout is required");
        }
        return check(number(seconds));
    }

    /** That of a sandbox which is to be made, and so has to live for a while. */
    Duration positive(Duration timeout) {
        if (timeout.isZero() || timeout.isNegative()) {
            throw new E2bError(400, "Timeout must be greater than 0");
        }
        return timeout;
    }

    private Duration check(long seconds) {
        if (seconds > longest.toSeconds()) {
            throw new E2bError(400, "Timeout cannot be greater than " + longest.toHours() + " hours");
        }
        return Duration.ofSeconds(Math.max(0, seconds));
    }

    private static long number(JsonNode seconds) {
        if (!seconds.isIntegralNumber() || !seconds.canConvertToLong()) {
            throw new E2bError(400, "Timeout must be a whole number of seconds");
        }
        return seconds.asLong();
    }
}
