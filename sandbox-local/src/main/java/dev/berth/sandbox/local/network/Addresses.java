package dev.berth.sandbox.local.network;

import dev.berth.sandbox.Destination;
import dev.berth.sandbox.Destination.Cidr;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.netlink.Netlink;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;

/**
 * Chooses the addresses of sandboxes: out of a private range that leads nowhere on this machine. Nobody but the machine
 * ever sees them.
 *
 * <p>They are chosen at random. The kernel remembers connections for a while after an address's sandbox is gone, and the
 * next one that gets it would receive what still comes for them.
 */
final class Addresses {
    static final List<Cidr> USUAL_RANGES = Stream.of(
                    "10.209.0.0/16", "172.29.0.0/16", "100.127.0.0/16", "192.168.209.0/24")
            .map(Addresses::range)
            .toList();

    private static final int ATTEMPTS = 1000;

    private final List<Cidr> ranges;
    private final RandomGenerator random;

    /** @param ranges the first of them is taken that is not in use */
    Addresses(List<Cidr> ranges, RandomGenerator random) {
        this.ranges = ranges;
        this.random = random;
    }

    /**
     * Where packets for a range of addresses go.
     *
     * @param range empty for what has no way of its own
     */
    record Route(Optional<Cidr> range, boolean leadsToSandbox) {}

    static List<Route> routes() throws IOException {
        try (Netlink kernel = Netlink.open(Netlink.ROUTE)) {
            Map<Integer, String> links = RouteRequests.interfaces(kernel);
            return RouteRequests.ways(kernel).stream()
                    .map(way -> new Route(
                            way.range().map(Addresses::range).filter(range -> range.bits() > 0),
                            links.getOrDefault(way.link(), "").startsWith(Links.PREFIX)))
                    .toList();
        }
    }

    /** One that nobody on the machine has; the one of before if that is so of it. */
    String choose(List<Route> routes, List<String> resolvers, Optional<String> before) {
        List<Cidr> taken =
                new ArrayList<>(resolvers.stream().map(Addresses::range).toList());
        List<Cidr> sandboxes = new ArrayList<>();
        for (Route route : routes) {
            route.range().ifPresent((route.leadsToSandbox() ? sandboxes : taken)::add);
        }
        Cidr range = ranges.stream()
                .filter(candidate -> taken.stream().noneMatch(other -> overlap(candidate, other)))
                .findFirst()
                .orElseThrow(() -> SandboxException.unavailable("all of the ranges " + ranges
                        + " are in use on this machine; name one that is free in BERTH_NETWORK_RANGE"));
        return Stream.concat(before.stream(), Stream.generate(() -> any(range)).limit(ATTEMPTS))
                .filter(address -> range.contains(range(address).address())
                        && sandboxes.stream().noneMatch(other -> overlap(range(address), other)))
                .findFirst()
                .orElseThrow(() -> SandboxException.limit("the range " + range
                        + " has hardly an address left for another sandbox; name a larger one in BERTH_NETWORK_RANGE"));
    }

    private String any(Cidr range) {
        int host = random.nextInt(1, (1 << (32 - range.bits())) - 1);
        int first = ByteBuffer.wrap(range.address().getAddress()).getInt();
        try {
            return InetAddress.getByAddress(
                            ByteBuffer.allocate(4).putInt(first + host).array())
                    .getHostAddress();
        } catch (UnknownHostException e) {
            throw new IllegalStateException("four bytes are an address", e);
        }
    }

    private static boolean overlap(Cidr one, Cidr other) {
        return one.contains(other) || other.contains(one);
    }

    static Cidr range(String text) {
        if (Destination.parse(text) instanceof Cidr range) {
            return range;
        }
        throw SandboxException.invalid("'" + text + "' is not a range of addresses, such as 10.209.0.0/16");
    }
}
