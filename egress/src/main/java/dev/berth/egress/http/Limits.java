package dev.berth.egress.http;

import java.time.Duration;

/**
 * How long a server outside is waited for.
 *
 * @param connect for a connection to be there, TLS not counted
 * @param head for the beginning of an answer; models think for long
 * @param idle without a byte in either direction
 * @param headerBytes of a request or an answer, at most
 */
public record Limits(Duration connect, Duration head, Duration idle, int headerBytes) {
    public static final Limits USUAL =
            new Limits(Duration.ofSeconds(10), Duration.ofMinutes(10), Duration.ofMinutes(10), 64 << 10);

    public Limits withHead(Duration longest) {
        return new Limits(connect, longest, idle, headerBytes);
    }

    public Limits withIdle(Duration longest) {
        return new Limits(connect, head, longest, headerBytes);
    }
}
