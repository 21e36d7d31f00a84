package dev.berth.egress.policy;

/**
 * Speaks HTTP with programs inside, and with the servers outside on their behalf.
 *
 * <p>The connection of a passage counts in its account already; its bytes are for this side to pass, and its visits to be
 * told.
 */
public interface HttpSide extends AutoCloseable {
    /** Requests name their destination themselves (absolute form), as to any proxy. Returns when the connection is over. */
    void proxy(Passage passage);

    /**
     * After CONNECT: every request is for this target. Returns when the connection is over.
     *
     * @param tls whether it begins with a TLS handshake to be opened
     */
    void within(Passage passage, Gate.Way way, boolean tls);

    @Override
    void close();
}
