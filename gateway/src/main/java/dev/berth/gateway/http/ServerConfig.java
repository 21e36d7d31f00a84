package dev.berth.gateway.http;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/**
 * How the server listens.
 *
 * @param port 0 for any that is free
 * @param tls a PKCS#12 key store and its password, for HTTPS
 * @param mostBodyBytes the largest JSON body
 * @param idle a connection over which nothing goes for so long, and on which nothing is being answered, is closed
 * @param heartbeat a stream that has nothing to tell says so as often; well below what proxies wait for
 */
public record ServerConfig(
        String host, int port, Optional<Tls> tls, long mostBodyBytes, Duration idle, Duration heartbeat) {
    private static final Duration IDLE = Duration.ofSeconds(60);
    /** E2B's clients use a connection again after so long, and fail where it is closed just then. */
    private static final Duration IDLE_FOR_E2B = Duration.ofSeconds(620);

    private static final Duration HEARTBEAT = Duration.ofSeconds(15);

    public ServerConfig(String host, int port, Optional<Tls> tls, long mostBodyBytes) {
        this(host, port, tls, mostBodyBytes, IDLE, HEARTBEAT);
    }

    /** A key store. Its password is not for people. */
    public record Tls(Path keyStore, String password) {
        @Override
        public String toString() {
            return "Tls[" + keyStore + "]";
        }
    }

    public static ServerConfig onLoopback(int port) {
        return new ServerConfig("127.0.0.1", port, Optional.empty(), 10L << 20);
    }

    /** The same for a server that E2B's clients use, unless somebody said how long connections are kept. */
    public ServerConfig forE2b() {
        return idle.equals(IDLE) ? withIdle(IDLE_FOR_E2B, heartbeat) : this;
    }

    /** Of a WebSocket, over which something goes with every heartbeat: one that is silent has lost its client. */
    Duration idleOfSockets() {
        return idle.compareTo(IDLE) < 0 ? idle : IDLE;
    }

    public ServerConfig withIdle(Duration longest, Duration beat) {
        return new ServerConfig(host, port, tls, mostBodyBytes, longest, beat);
    }
}
