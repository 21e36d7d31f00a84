package dev.berth.gateway.e2b;

import dev.berth.gateway.http.ServerConfig;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * How E2B's clients are served.
 *
 * @param domain what the names of ports end with, perhaps with a port: {@code sbx.localhost:8443}. What an operator sets is
 *     without one; it is added when the port is known, see {@link #withDomain}
 * @param secret that tokens are made of; the same on every server
 * @param internet whether a sandbox reaches what is public where its maker does not say, as E2B's do
 * @param longestTimeout after which a sandbox ends at the latest if nobody asks again
 * @param naming how names under the domain are served
 */
public record E2bConfig(String domain, byte[] secret, boolean internet, Duration longestTimeout, Naming naming) {
    public static final String DOMAIN = "sbx.localhost";
    public static final Duration LONGEST = Duration.ofDays(30);

    /**
     * How names under the domain are served.
     *
     * @param port in TLS; 0 for any that is free, and none for the one behind the API's, or any if that is taken
     * @param tls a key store for the domain; without one, a certificate is made
     * @param publicDomain what clients are told instead, where something else is in front of the server
     */
    public record Naming(Optional<Integer> port, Optional<ServerConfig.Tls> tls, Optional<String> publicDomain) {
        public static final Naming DEFAULT = new Naming(Optional.empty(), Optional.empty(), Optional.empty());
    }

    /** As it is where nobody set anything. */
    public static E2bConfig of(byte[] secret) {
        return new E2bConfig(DOMAIN, secret, true, LONGEST, Naming.DEFAULT);
    }

    public E2bConfig withDomain(String told) {
        return new E2bConfig(told, secret, internet, longestTimeout, naming);
    }

    /** The domains that are ours, as hosts. */
    public List<String> domains() {
        return Stream.concat(Stream.of(domain), naming.publicDomain().stream())
                .map(name -> name.replaceFirst(":[0-9]+$", ""))
                .distinct()
                .toList();
    }

    @Override
    public String toString() {
        return "E2bConfig[" + domain + "]";
    }
}
