package dev.berth.gateway.http;

import java.nio.file.Path;
import java.util.Optional;

/**
 * How the server listens.
 *
 * @param port 0 for any that is free
 * @param tls a PKCS#12 key store and its password, for HTTPS
 * @param mostBodyBytes the largest JSON body
 */
public record ServerConfig(String host, int port, Optional<Tls> tls, long mostBodyBytes) {
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
}
