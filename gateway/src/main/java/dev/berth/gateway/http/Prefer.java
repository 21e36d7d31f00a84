package dev.berth.gateway.http;

import java.time.Duration;

/** What a client says of how long it would like to wait: RFC 7240. */
public final class Prefer {
    /** How long a call waits for its answer if it does not say so itself. */
    private static final Duration WAIT = Duration.ofSeconds(55);

    private Prefer() {}

    /** {@code Prefer: wait=10}, or {@code respond-async} for not at all. */
    public static Duration wait(Exchange exchange) {
        String prefer = exchange.header("Prefer").orElse("");
        for (String part : prefer.split("[,;]", -1)) {
            String preference = part.strip();
            if (preference.equals("respond-async")) {
                return Duration.ZERO;
            }
            if (preference.matches("wait=[0-9]{1,4}")) {
                return Duration.ofSeconds(Integer.parseInt(preference.substring(5)));
            }
        }
        return WAIT;
    }
}
