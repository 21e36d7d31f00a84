package dev.berth.gateway.egress;

import dev.berth.sandbox.Capability;
import dev.berth.sandbox.Destination.Cidr;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.PublicAddresses;
import dev.berth.sandbox.SandboxException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import tools.jackson.databind.JsonNode;

/** Which networks sandboxes of this server can have. */
public final class Networks {
    private final String provider;
    private final Set<Capability> capabilities;
    private final SecretBook secrets;
    private final Optional<List<Cidr>> ranges;

    /**
     * @param capabilities of the provider of that name
     * @param ranges of the addresses that are not public, which ones may be allowed; all if empty
     */
    public Networks(String provider, Set<Capability> capabilities, SecretBook secrets, Optional<List<Cidr>> ranges) {
        this.provider = provider;
        this.capabilities = Set.copyOf(capabilities);
        this.secrets = secrets;
        this.ranges = ranges.map(List::copyOf);
    }

    /**
     * The network that a tenant asks for.
     *
     * @param place where it stands, such as {@code network.}, in front of each thing that is wrong with it
     * @throws SandboxException {@code unsupported} for what the provider cannot enforce, {@code invalid} for everything
     *     else, such as secrets that the tenant has not
     */
    public Network read(String tenant, JsonNode json, String place) {
        Network network = placed(place, () -> NetworkJson.read(json));
        check(tenant, network, place);
        return network;
    }

    /**
     * The same for a network that was not asked for as such.
     *
     * @throws SandboxException as {@link #read} has it
     */
    public void check(String tenant, Network network, String place) {
        placed(place, () -> opened(network));
        if (!network.secrets().isEmpty()) {
            placed(place + "secrets: ", () -> {
                secrets.check(tenant, network.secrets());
                return network;
            });
        }
        requireSupported(network);
    }

    /** Refuses what leads to the operator's own networks, unless the operator has opened it. */
    private Network opened(Network network) {
        List<String> problems = new ArrayList<>();
        for (int i = 0; i < network.allow().size(); i++) {
            if (network.allow().get(i).destination() instanceof Cidr to && !mayBeAllowed(to)) {
                problems.add("allow[" + i + "].to: " + to + " is not public, and the operator of this server has not"
                        + " opened it to sandboxes (network.private-ranges)");
            }
        }
        if (!problems.isEmpty()) {
            throw SandboxException.invalid(String.join("; ", problems)).with(SandboxException.ERRORS, problems);
        }
        return network;
    }

    private boolean mayBeAllowed(Cidr to) {
        return ranges.isEmpty()
                || ranges.get().stream().anyMatch(open -> open.contains(to))
                || PublicAddresses.CLOSED.stream().noneMatch(closed -> closed.contains(to) || to.contains(closed));
    }

    private static Network placed(String place, Supplier<Network> reading) {
        try {
            return reading.get();
        } catch (SandboxException e) {
            if (e.code() != ErrorCode.INVALID) {
                throw e;
            }
            List<String> problems =
                    NetworkJson.errors(e).stream().map(place::concat).toList();
            throw SandboxException.invalid(String.join("; ", problems)).with(SandboxException.ERRORS, problems);
        }
    }

    /** @throws SandboxException {@code unsupported} for what the provider cannot enforce */
    public void requireSupported(Network network) {
        switch (network.mode()) {
            case NONE -> {}
            case RESTRICTED -> require(network, Capability.OUTLET);
            case OPEN -> {
                require(network, Capability.OUTLET);
                require(network, Capability.OPEN_NETWORK);
            }
        }
    }

    private void require(Network network, Capability capability) {
        if (!capabilities.contains(capability)) {
            throw SandboxException.unsupported("sandboxes of the provider '" + provider
                            + "' cannot have a network of mode " + network.mode()
                            + " on this server; choose a more closed mode")
                    .with("capability", capability.name().toLowerCase(Locale.ROOT));
        }
    }
}
