package dev.berth.sandbox.local.network;

import dev.berth.sandbox.SandboxException;
import java.net.Inet4Address;
import java.util.List;
import java.util.Optional;

/**
 * What the open network is told at its start.
 *
 * @param range where sandboxes get their addresses from; otherwise one that is free on this machine
 * @param resolvers who answers when programs in sandboxes ask for names; otherwise those of the machine
 */
public record NetworkConfig(Optional<String> range, List<String> resolvers) {
    public static final NetworkConfig DEFAULT = new NetworkConfig(Optional.empty(), List.of());

    private static final int SMALLEST_RANGE = 28;

    public NetworkConfig {
        resolvers = List.copyOf(resolvers);
        range.map(Addresses::range).ifPresent(addresses -> {
            if (!(addresses.address() instanceof Inet4Address)
                    || addresses.bits() > SMALLEST_RANGE
                    || addresses.bits() < 8) {
                throw SandboxException.invalid("the range for sandboxes has to be one of IPv4 with 8 to "
                        + SMALLEST_RANGE + " bits, such as 10.209.0.0/16, not " + addresses);
            }
        });
        for (String resolver : resolvers) {
            if (!(Addresses.range(resolver).address() instanceof Inet4Address) || resolver.indexOf('/') >= 0) {
                throw SandboxException.invalid(
                        "a resolver for sandboxes is an address of IPv4, such as 9.9.9.9, not " + resolver);
            }
        }
        if (resolvers.size() > Resolvers.MOST) {
            throw SandboxException.invalid("sandboxes have at most " + Resolvers.MOST + " resolvers");
        }
    }
}
