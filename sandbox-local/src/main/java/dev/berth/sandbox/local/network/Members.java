package dev.berth.sandbox.local.network;

import dev.berth.sandbox.local.linux.ErrnoException;
import dev.berth.sandbox.local.netlink.Attributes;
import dev.berth.sandbox.local.netlink.Message;
import dev.berth.sandbox.local.netlink.Netlink;
import dev.berth.sandbox.local.network.FilterRequests.Element;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * The boxes that the rules of a data directory know: which chains are for them, the addresses that they may have, and what
 * they have used. All of that are elements of sets and maps, and counters; the rules are the same for all who want nothing
 * in particular, so it takes no new rule to know one more box. What is said of a box changes at once, or not at all.
 */
final class Members {
    /** Each leads from a box's link to what may pass in one direction: out, to this machine, and in. */
    private static final List<String> WAYS = List.of("from", "here", "to");

    private static final String HOMES = "homes";
    private static final String ADDRESSES = "addresses";
    private static final String OUT = "out";
    private static final String IN = "in";
    private static final int NAME_BYTES = 16;

    private final FilterRequests requests;

    Members(String table) {
        this.requests = new FilterRequests(table);
    }

    /**
     * What the kernel has.
     *
     * @param chains whose chains are for a link
     * @param addresses that a link may send from
     * @param counted the links that are counted
     * @param used by each box that has counters
     */
    record Known(
            Map<String, String> chains,
            Map<String, Set<String>> addresses,
            Set<String> counted,
            Map<String, Traffic> used) {
        static final Known NOBODY = new Known(Map.of(), Map.of(), Set.of(), Map.of());

        private Set<String> addressesOf(String link) {
            return addresses.getOrDefault(link, Set.of());
        }
    }

    /** Empty if there are no rules, and so nobody. */
    Optional<Known> known() throws IOException {
        try (Netlink kernel = Netlink.open(Netlink.NETFILTER)) {
            Map<String, String> chains = new HashMap<>();
            for (Element way : requests.elements(kernel, WAYS.getFirst())) {
                chains.put(
                        Attributes.text(way.key()),
                        way.to().substring(WAYS.getFirst().length() + 1));
            }
            Map<String, Set<String>> addresses = new HashMap<>();
            for (Element home : requests.elements(kernel, HOMES)) {
                String link = Attributes.text(Arrays.copyOf(home.key(), NAME_BYTES));
                addresses
                        .computeIfAbsent(link, _ -> new HashSet<>())
                        .add(RouteRequests.text(Arrays.copyOfRange(home.key(), NAME_BYTES, NAME_BYTES + 4)));
            }
            Set<String> counted = new HashSet<>();
            requests.elements(kernel, OUT).forEach(element -> counted.add(Attributes.text(element.key())));
            return Optional.of(new Known(chains, addresses, counted, used(kernel)));
        } catch (ErrnoException e) {
            if (e.errno() == ErrnoException.ENOENT) {
                return Optional.empty();
            }
            throw e;
        }
    }

    /** What each box has used that has counters. */
    Map<String, Traffic> used() throws IOException {
        try (Netlink kernel = Netlink.open(Netlink.NETFILTER)) {
            return used(kernel);
        }
    }

    private Map<String, Traffic> used(Netlink kernel) throws IOException {
        Map<String, Traffic> used = new HashMap<>();
        for (FilterRequests.Counter counter : requests.counters(kernel)) {
            if (counter.name().startsWith(OUT + "-")) {
                used.merge(counter.name().substring(OUT.length() + 1), new Traffic(counter.bytes(), 0), Traffic::plus);
            } else if (counter.name().startsWith(IN + "-")) {
                used.merge(counter.name().substring(IN.length() + 1), new Traffic(0, counter.bytes()), Traffic::plus);
            }
        }
        return used;
    }

    /**
     * Makes the rules know a box so, however they knew it.
     *
     * @param chains whose chains are for it
     * @param before what it has used, if nothing counts that yet
     */
    void put(Known known, String box, String address, String chains, Traffic before) throws IOException {
        String link = Links.name(box);
        byte[] key = key(link);
        List<Message> changes = new ArrayList<>();
        if (!known.used().containsKey(box)) {
            changes.add(requests.addCounter(OUT + "-" + box, before.out()));
            changes.add(requests.addCounter(IN + "-" + box, before.in()));
        }
        if (!known.counted().contains(link)) {
            changes.add(requests.addObject(OUT, key, OUT + "-" + box));
            changes.add(requests.addObject(IN, key, IN + "-" + box));
        }
        Set<String> has = known.addressesOf(link);
        has.stream().filter(one -> !one.equals(address)).forEach(one -> changes.addAll(withoutAddress(link, one)));
        if (!has.contains(address)) {
            changes.add(requests.add(HOMES, home(link, address)));
            changes.add(requests.add(ADDRESSES, RouteRequests.bytes(address)));
        }
        String now = known.chains().get(link);
        if (!Objects.equals(now, chains)) {
            for (String way : WAYS) {
                if (now != null) {
                    changes.add(requests.remove(way, key));
                }
                changes.add(requests.addGoto(way, key, way + "-" + chains));
            }
        }
        change(changes);
    }

    void remove(Known known, Collection<String> boxes) throws IOException {
        List<Message> changes = new ArrayList<>();
        for (String box : boxes) {
            String link = Links.name(box);
            byte[] key = key(link);
            if (known.chains().containsKey(link)) {
                WAYS.forEach(way -> changes.add(requests.remove(way, key)));
            }
            known.addressesOf(link).forEach(address -> changes.addAll(withoutAddress(link, address)));
            if (known.counted().contains(link)) {
                changes.add(requests.remove(OUT, key));
                changes.add(requests.remove(IN, key));
            }
        }
        change(changes);
    }

    /** When nothing refers to them any more. */
    void forgetUse(Known known, Collection<String> boxes) throws IOException {
        List<Message> changes = new ArrayList<>();
        for (String box : boxes) {
            if (known.used().containsKey(box)) {
                changes.add(requests.removeCounter(OUT + "-" + box));
                changes.add(requests.removeCounter(IN + "-" + box));
            }
        }
        change(changes);
    }

    private List<Message> withoutAddress(String link, String address) {
        return List.of(
                requests.remove(HOMES, home(link, address)), requests.remove(ADDRESSES, RouteRequests.bytes(address)));
    }

    private static void change(List<Message> changes) throws IOException {
        if (changes.isEmpty()) {
            return;
        }
        try (Netlink kernel = Netlink.open(Netlink.NETFILTER)) {
            kernel.ask(FilterRequests.batch(changes));
        }
    }

    private static byte[] key(String link) {
        return Arrays.copyOf(link.getBytes(StandardCharsets.US_ASCII), NAME_BYTES);
    }

    private static byte[] home(String link, String address) {
        return ByteBuffer.allocate(NAME_BYTES + 4)
                .put(key(link))
                .put(RouteRequests.bytes(address))
                .array();
    }
}
