package dev.berth.gateway.egress;

import dev.berth.sandbox.Capability;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.SandboxException;
import java.util.List;
import java.util.Locale;
import java.util.Set;
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
        Network network;
        List<String> problems;
        try {
            network = NetworkJson.read(json);
            problems = unknownSecrets(tenant, network.secrets());
        } catch (SandboxException e) {
            network = Network.NONE;
            problems = NetworkJson.errors(e);
        }
        if (!problems.isEmpty()) {
            List<String> placed = problems.stream().map(place::concat).toList();
            throw SandboxException.invalid(String.join("; ", placed)).with(SandboxException.ERRORS, placed);
        }
        requireSupported(network);
        return network;
    }

    private List<String> unknownSecrets(String tenant, List<String> named) {
        List<String> unknown = named.isEmpty() ? List.of() : secrets.unknown(tenant, named);
        return unknown.stream()
                .map(name -> "secrets[" + named.indexOf(name) + "]: there is no secret '" + name + "'; set it first")
                .toList();
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
