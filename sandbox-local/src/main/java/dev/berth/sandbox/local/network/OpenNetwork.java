package dev.berth.sandbox.local.network;

import dev.berth.sandbox.Network;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.ProcessLock;
import dev.berth.sandbox.local.network.Members.Known;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Connects sandboxes to the public internet through this machine.
 *
 * <p>All of it is the kernel's: links, addresses, rules, counters. A server that goes away changes nothing for the
 * sandboxes, and the next one finds everything as it was. What it has to remember of a box is in the box's directory,
 * see {@link Home}; that a box is connected is written there before anything is made for it, so whoever removes the box
 * knows. What is there without a box is a leftover, and {@link #sweep} removes it.
 *
 * <p>Rules come before links and go after them. What is done on the machine's side is done under one lock of the machine,
 * as addresses and forwarding are the whole machine's. It takes a few milliseconds, however many sandboxes there are: the
 * kernel is asked directly, and only new rules are a matter for nft(8). The other side of a link is the sandbox's own, and
 * no lock is held for it.
 */
public final class OpenNetwork {
    private static final Logger LOG = LoggerFactory.getLogger(OpenNetwork.class);
    private static final Path LOCK = Path.of("/run/berth-network.lock");
    private static final Path MOST_CONNECTIONS = Path.of("/proc/sys/net/netfilter/nf_conntrack_max");
    /** What can be spared on any machine. */
    private static final long FEW_CONNECTIONS = 8192;

    private final Path boxes;
    private final Links links;
    private final Forwarding forwarding = new Forwarding(Path.of("/proc/sys/net/ipv4"));
    private final Addresses addresses;
    private final Supplier<List<String>> resolvers;
    private final Ruleset rules;
    private final Members members;
    /** The rules for all that were given last; the kernel may have lost them since. Guarded by the lock. */
    private String given = "";
    /** Why this machine cannot; empty if it can, and null until somebody asks. Guarded by this. */
    private @Nullable String lacking;

    private OpenNetwork(Path boxes, String name, Addresses addresses, Supplier<List<String>> resolvers) {
        int group = Math.max(1, name.hashCode() & Integer.MAX_VALUE);
        this.boxes = boxes;
        this.links = new Links(group);
        this.addresses = addresses;
        this.resolvers = resolvers;
        String table = "berth_" + name;
        this.rules = new Ruleset(table, group, mostConnections());
        this.members = new Members(table);
    }

    /**
     * Changes nothing yet.
     *
     * @param boxes the directory that has a directory for each box
     * @param name of letters and digits, another for each data directory of a machine
     */
    public static OpenNetwork of(Path boxes, String name, NetworkConfig config) {
        Addresses addresses = new Addresses(
                config.range().map(range -> List.of(Addresses.range(range))).orElse(Addresses.USUAL_RANGES),
                new SecureRandom());
        return new OpenNetwork(
                boxes, name, addresses, config.resolvers().isEmpty() ? Resolvers::here : config::resolvers);
    }

    /** What a sandbox's /etc/resolv.conf has to say. */
    public static String resolvConf() {
        return Ruleset.resolvConf();
    }

    /** Why this machine can connect nobody, and what to do about it; empty if it can. It is asked once only. */
    public synchronized Optional<String> lacking() {
        String known = lacking;
        if (known == null) {
            known = look().orElse("");
            lacking = known;
        }
        return Optional.of(known).filter(reason -> !reason.isEmpty());
    }

    private Optional<String> look() {
        if (!HostCommand.installed("nft")) {
            return Optional.of("this machine lacks a program for it; install it with: apt-get install -y nftables");
        }
        try (var _ = ProcessLock.acquire(LOCK)) {
            HostCommand.run(
                            List.of("nft", "--check", "-f", "-"),
                            rules.common(List.of("lo"), List.of("127.0.0.1"))
                                    + rules.chains(
                                            "tryout",
                                            Network.OPEN.withCaps(new Network.Caps(1, 1, 1024)),
                                            Traffic.NONE))
                    .orThrow();
            links.tryOut();
            return Optional.empty();
        } catch (IOException | SandboxException e) {
            return Optional.of("this machine's kernel cannot: " + e.getMessage()
                    + "; it has to have veth, nf_tables, nft_nat, nft_masq, nft_connlimit, nft_quota, nft_limit and"
                    + " nft_objref");
        }
    }

    /**
     * Connects a running box, or changes what it may reach if it is connected. That is so when this returns; if it
     * throws, it is as before or not connected at all.
     *
     * @param pids of its processes, as this machine numbers them
     */
    public void connect(String box, List<Integer> pids, Network network) throws IOException {
        lacking().ifPresent(reason -> {
            throw SandboxException.unsupported("a network of mode open cannot be had here: " + reason);
        });
        Optional<Links.Pair> made;
        try (var _ = ProcessLock.acquire(LOCK)) {
            made = connectLocked(box, pids, network);
        }
        if (made.isPresent()) {
            links.turnOn(made.get());
        }
    }

    /** Returns what was made for it and is to be turned on, unless it had a link that works. */
    private Optional<Links.Pair> connectLocked(String box, List<Integer> pids, Network network) throws IOException {
        List<String> asked = resolvers.get();
        if (asked.isEmpty()) {
            throw SandboxException.unsupported("a network of mode open cannot be had here: this machine has no resolver"
                    + " with an IPv4 address in /etc/resolv.conf; name one there, or in BERTH_NETWORK_RESOLVERS");
        }
        String link = Links.name(box);
        Optional<Home> before = Home.read(directory(box));
        boolean kept = before.filter(Home::connected).isPresent() && links.works(link);
        if (!kept) {
            links.remove(List.of(link));
        }
        Known known = prepare(asked);
        Traffic used = known.used().getOrDefault(box, before.map(Home::traffic).orElse(Traffic.NONE));
        Optional<String> last = before.map(Home::address);
        String address = kept ? last.orElseThrow() : addresses.choose(Addresses.routes(), asked, last);
        new Home(address, true, used).write(directory(box));
        letPass(known, box, address, network, used);
        if (kept) {
            return Optional.empty();
        }
        Links.Pair pair = new Links.Pair(link, Links.guest(pids), address);
        links.make(pair);
        forwarding.prepare(link, asked.stream().anyMatch(resolver -> resolver.startsWith("127.")));
        return Optional.of(pair);
    }

    /** Sees to it that there are the rules for all, and returns whom they know. */
    private Known prepare(List<String> asked) throws IOException {
        List<String> lent = forwarding.lent();
        String common = rules.common(lent, asked);
        Optional<Known> known = members.known();
        if (known.isEmpty() || !common.equals(given)) {
            nft(common);
            given = common;
        }
        forwarding.lend(lent);
        return known.orElse(Known.NOBODY);
    }

    /** Before anything leads to chains they have to be there, and after that they can go. */
    private void letPass(Known known, String box, String address, Network network, Traffic used) throws IOException {
        String chains = Ruleset.chains(box, network);
        if (chains.equals(box)) {
            nft(rules.chains(box, network, used));
        }
        members.put(known, box, address, chains, used);
        if (!chains.equals(box) && ownChains(known, box)) {
            nft(rules.withoutChains(box));
        }
    }

    private static boolean ownChains(Known known, String box) {
        return box.equals(known.chains().get(Links.name(box)));
    }

    /** Whether one of these processes is the first of a box, which has begun then. */
    public static boolean hasGuest(List<Integer> pids) throws IOException {
        try {
            return Links.guest(pids) > 0;
        } catch (SandboxException e) {
            return false;
        }
    }

    /** Cuts a box off; nothing happens if it is not connected. */
    public void disconnect(String box) throws IOException {
        if (Home.read(directory(box)).filter(Home::connected).isPresent()) {
            try (var _ = ProcessLock.acquire(LOCK)) {
                cutOff(members.known().orElse(Known.NOBODY), List.of(box));
            }
        }
    }

    private void cutOff(Known known, List<String> gone) throws IOException {
        links.remove(gone.stream().map(Links::name).toList());
        members.remove(known, gone);
        for (String box : gone) {
            if (ownChains(known, box)) {
                nft(rules.withoutChains(box));
            }
        }
        members.forgetUse(known, gone);
        for (String box : gone) {
            Optional<Home> home = Home.read(directory(box));
            if (home.isPresent()) {
                Traffic used = known.used().getOrDefault(box, home.get().traffic());
                home.get().with(used).disconnected().write(directory(box));
            }
        }
    }

    /** What a box has sent and got since it was made. */
    public Traffic used(String box) throws IOException {
        Optional<Home> home = Home.read(directory(box));
        Traffic written = home.map(Home::traffic).orElse(Traffic.NONE);
        return home.filter(Home::connected).isPresent() ? members.used().getOrDefault(box, written) : written;
    }

    /** What all boxes that are connected now have sent and got since they were made. */
    public Traffic used() throws IOException {
        return members.used().values().stream().reduce(Traffic.NONE, Traffic::plus);
    }

    /**
     * Removes what is there for boxes that are not, or that have no link any more because their processes ended, and the
     * rules for all if there is nobody left. Writes down what the others have used, for the time after a restart of the
     * machine; and takes note of interfaces and resolvers that the machine has got meanwhile. While there are no rules this
     * costs next to nothing.
     */
    public void sweep() throws IOException {
        if (!HostCommand.installed("nft")) {
            return;
        }
        try (var _ = ProcessLock.acquire(LOCK)) {
            Optional<Known> known = members.known();
            List<String> found = links.all();
            if (known.isEmpty() && found.isEmpty()) {
                return;
            }
            // Listed last: a box is made before its link and its rules, and removed after them.
            Map<String, String> living = boxesByLink();
            List<String> left =
                    found.stream().filter(link -> !living.containsKey(link)).toList();
            left.forEach(link -> LOG.info("removing link {}, left by a process that is gone", link));
            links.remove(left);
            sweepRules(known.orElse(Known.NOBODY));
        }
    }

    private void sweepRules(Known known) throws IOException {
        Set<String> linked = new HashSet<>(links.all());
        List<String> gone = new ArrayList<>();
        for (Map.Entry<String, Traffic> counted : known.used().entrySet()) {
            if (linked.contains(Links.name(counted.getKey()))) {
                keep(counted.getKey(), counted.getValue());
            } else {
                gone.add(counted.getKey());
            }
        }
        cutOff(known, gone);
        if (linked.isEmpty()) {
            forwarding.takeBack();
            nft(rules.nothing());
        } else {
            Known _ = prepare(resolvers.get());
        }
    }

    private void keep(String box, Traffic used) throws IOException {
        Optional<Home> home = Home.read(directory(box));
        if (home.isPresent()) {
            home.get().with(used).write(directory(box));
        }
    }

    private static void nft(String orders) throws IOException {
        HostCommand.run(List.of("nft", "-f", "-"), orders).orThrow();
    }

    private Map<String, String> boxesByLink() throws IOException {
        Map<String, String> names = new HashMap<>();
        try (DirectoryStream<Path> entries =
                Files.newDirectoryStream(boxes, entry -> Files.isDirectory(entry, LinkOption.NOFOLLOW_LINKS))) {
            entries.forEach(entry -> {
                String box = entry.getFileName().toString();
                names.put(Links.name(box), box);
            });
        }
        return names;
    }

    private Path directory(String box) {
        return boxes.resolve(box);
    }

    /**
     * An eighth of what the machine can remember, so that a few that use all they may leave some to the others. A setting
     * has to be read by one call of read(2), as readAllLines does: the kernel gives nothing at an offset.
     */
    private static long mostConnections() {
        try {
            return Math.max(
                    FEW_CONNECTIONS,
                    Long.parseLong(Files.readAllLines(MOST_CONNECTIONS)
                                    .getFirst()
                                    .strip())
                            / 8);
        } catch (IOException | NumberFormatException e) {
            return FEW_CONNECTIONS;
        }
    }
}
