package dev.berth.egress.policy;

/** Carries HTTP, looking at each request. */
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
