package dev.berth.gateway.egress;

import dev.berth.egress.DnsNames;
import dev.berth.egress.Egress;
import dev.berth.egress.EgressConfig;
import dev.berth.egress.OwnAddresses;
import dev.berth.egress.SystemNames;
import dev.berth.egress.http.Inspector;
import dev.berth.egress.http.Limits;
import dev.berth.egress.inside.Outfit;
import dev.berth.egress.policy.Gate;
import dev.berth.egress.policy.Names;
import dev.berth.egress.policy.Policy;
import dev.berth.egress.trust.Authority;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.SandboxProvider;
import dev.berth.sandbox.SandboxState;
import dev.berth.session.Sessions;
import java.io.IOException;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.time.Clock;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The way out of all sandboxes of this server, put together: the proxy, what it asks, and what sandboxes need for it. */
public final class Outbound implements AutoCloseable {
    private final SessionPolicies policies;
    private final Egress egress;
    /** Those of the API and of names of sandboxes' ports, once they are known. */
    private final Set<Integer> ownPorts;
    /** Those that have connected to the proxy and are not known to be gone. */
    private final Map<SandboxId, Sandbox> seen = new ConcurrentHashMap<>();

    private Outbound(
            OutboundConfig config, Gate gate, SessionPolicies policies, Inspector http, Set<Integer> ownPorts) {
        this.policies = policies;
        this.ownPorts = ownPorts;
        EgressConfig patience =
                EgressConfig.DEFAULT.withConnect(config.connect()).withIdle(config.idle());
        this.egress = new Egress(patience, gate, this::policy, http);
    }

    /**
     * Opens it for a provider's sandboxes.
     *
     * @param directory where the authority is kept that sandboxes trust
     */
    public static Outbound open(
            OutboundConfig config,
            Path directory,
            SandboxProvider provider,
            Sessions sessions,
            SessionPolicies policies,
            SecretBook secrets) {
        SecureRandom random = new SecureRandom();
        Authority authority = authority(directory, random);
        Names names = config.dns().<Names>map(DnsNames::new).orElseGet(SystemNames::new);
        Set<Integer> ownPorts = ConcurrentHashMap.newKeySet();
        Gate gate = new Gate(names, new OwnAddresses(), ownPorts::contains);
        Limits limits = new Limits(config.connect(), config.answer(), config.answer(), Limits.USUAL.headerBytes());
        Optional<List<X509Certificate>> own = config.authorities().map(Authorities::in);
        Inspector http = new Inspector(gate, authority, limits, own.map(Authorities::with), random);
        Outbound outbound = new Outbound(config, gate, policies, http, ownPorts);
        // Sandboxes see the certificates of hosts that are passed on unopened.
        List<X509Certificate> trusted = new ArrayList<>(List.of(authority.certificate()));
        own.ifPresent(trusted::addAll);
        sessions.equipment(new SessionEquipment(new Outfit(trusted), secrets, sessions.events(), outbound::changed));
        provider.outlet(outbound.egress);
        return outbound;
    }

    private static Authority authority(Path directory, SecureRandom random) {
        try {
            return Authority.in(directory, Clock.systemUTC(), random);
        } catch (IOException e) {
            throw SandboxException.unavailable(
                    "could not open the certificate authority of the way out in " + directory + ": " + e.getMessage()
                            + "; put back what was there, or remove the directory to have a new one made",
                    e);
        }
    }

    /** Where this server itself listens, which no rule opens: a sandbox has no business with who looks after it. */
    public void listening(List<Integer> ports) {
        ownPorts.addAll(ports);
    }

    private Policy policy(Sandbox sandbox) {
        seen.put(sandbox.id(), sandbox);
        return policies.of(sandbox);
    }

    /** What a sandbox may reach has changed. */
    private void changed(Sandbox sandbox) {
        egress.changed(sandbox.id());
    }

    /** To be called every few seconds: tells and writes down what happened, and forgets sandboxes that are gone. */
    public void sweep() {
        policies.flush();
        seen.forEach((id, sandbox) -> {
            if (sandbox.state() == SandboxState.DESTROYED && seen.remove(id, sandbox)) {
                egress.forget(id);
            }
        });
    }

    /** Cuts everything, and writes down what it was. */
    @Override
    public void close() {
        egress.close();
        policies.close();
    }
}
