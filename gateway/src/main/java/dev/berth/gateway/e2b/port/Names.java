package dev.berth.gateway.e2b.port;

import dev.berth.egress.trust.Authority;
import dev.berth.gateway.e2b.E2bConfig;
import dev.berth.gateway.e2b.Place;
import dev.berth.gateway.http.NamedPort;
import dev.berth.gateway.http.ServerConfig;
import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.io.InputStream;
import java.net.BindException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.SecureRandom;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * The domain that the names of ports end with, and the port in TLS where they are served. Its certificate is an operator's,
 * or one of an authority that is made here; clients then trust {@code e2b/ca.pem} in the server's directory.
 */
public final class Names implements AutoCloseable {
    private static final Authority.Purpose PURPOSE = new Authority.Purpose("ca", "Berth E2B");
    private static final String DIRECTORY = "e2b";

    /** Made anew at every start and every day, so it only has to outlast a clock that is wrong. */
    private static final Duration LIFE = Duration.ofDays(90);

    private final NamedPort port;
    private final String told;

    private Names(NamedPort port, String told) {
        this.port = port;
        this.told = told;
    }

    /** Takes the port, and makes a certificate if there is none. */
    public static Names open(E2bConfig config, ServerConfig server, Path data) {
        NamedPort.Keys keys = config.naming()
                .tls()
                .<NamedPort.Keys>map(OperatorsKeys::new)
                .orElseGet(() -> OwnKeys.in(data.resolve(DIRECTORY), config.domain()));
        NamedPort port = take(config, server, keys);
        String suffix = port.port() == 443 ? "" : ":" + port.port();
        return new Names(port, config.naming().publicDomain().orElse(config.domain() + suffix));
    }

    private static NamedPort take(E2bConfig config, ServerConfig server, NamedPort.Keys keys) {
        Optional<Integer> wanted = config.naming().port();
        int first = wanted.orElse(server.port() == 0 || server.port() == 65_535 ? 0 : server.port() + 1);
        try {
            try {
                return NamedPort.open(server.host(), first, host -> serves(config, host), keys);
            } catch (BindException e) {
                if (wanted.isPresent()) {
                    throw e;
                }
                // Nobody asked for this one, and clients are told which one it is.
                return NamedPort.open(server.host(), 0, host -> serves(config, host), keys);
            }
        } catch (IOException e) {
            throw SandboxException.unavailable(
                    "could not listen on " + server.host() + ":" + first + ": " + e.getMessage()
                            + "; choose another port with e2b.port (BERTH_E2B_PORT)",
                    e);
        }
    }

    /** Whether a host is a port of a sandbox, or one of the names of the API, under a domain that is ours. */
    static boolean serves(E2bConfig config, String host) {
        return config.domains().stream().anyMatch(domain -> serves(domain, host));
    }

    private static boolean serves(String domain, String host) {
        if (host.equals(domain) || host.equals("api." + domain) || host.equals("sandbox." + domain)) {
            return true;
        }
        int dot = host.indexOf('.');
        return dot > 0
                && host.substring(dot + 1).equals(domain)
                && Place.of(host, Optional.empty(), Optional.empty()).isPresent();
    }

    public NamedPort port() {
        return port;
    }

    /** What clients are told that names end with, with the port if they have to write one. */
    public String domain() {
        return told;
    }

    /** For those that no server took up. */
    @Override
    public void close() {
        port.close();
    }

    /** Of an operator with a domain of their own. */
    private record OperatorsKeys(ServerConfig.Tls tls) implements NamedPort.Keys {
        @Override
        public KeyStore read() throws IOException, GeneralSecurityException {
            KeyStore store = KeyStore.getInstance("PKCS12");
            try (InputStream in = Files.newInputStream(tls.keyStore())) {
                store.load(in, tls.password().toCharArray());
            }
            return store;
        }

        @Override
        public String password() {
            return tls.password();
        }
    }

    /** Made here. What they are made of is in memory, so no password protects anything. */
    private record OwnKeys(Authority authority, String domain) implements NamedPort.Keys {
        static OwnKeys in(Path directory, String domain) {
            try {
                return new OwnKeys(Authority.in(directory, PURPOSE, Clock.systemUTC(), new SecureRandom()), domain);
            } catch (IOException e) {
                throw SandboxException.unavailable(
                        "could not open the certificate authority for names of ports in " + directory + ": "
                                + e.getMessage() + "; put back what was there, or remove the directory to have a new"
                                + " one made",
                        e);
            }
        }

        @Override
        public KeyStore read() throws GeneralSecurityException {
            return authority.keyStore(
                    List.of(domain, "*." + domain), LIFE, password().toCharArray());
        }

        @Override
        public String password() {
            return "in-memory";
        }
    }
}
