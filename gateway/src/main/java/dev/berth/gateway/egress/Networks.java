package dev.berth.gateway.egress;

import dev.berth.sandbox.Capability;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.SandboxException;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Supplier;
import tools.jackson.databind.JsonNode;

/** Which networks sandboxes of this server can have. */
public final class Networks {
    private final String provider;
    private final Set<Capability> capabilities;
    private final SecretBook secrets;

    /** @param capabilities of the provider of that name */
    public Networks(String provider, Set<Capability> capabilities, SecretBook secrets) {
        this.provider = provider;
        this.capabilities = Set.copyOf(capabilities);
        this.secrets = secrets;
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
        if (!network.secrets().isEmpty()) {
            placed(place + "secrets: ", () -> {
                secrets.check(tenant, network.secrets());
                return network;
            });
        }
        requireSupported(network);
        return network;
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
