package dev.berth.sandbox.local.network;

import dev.berth.sandbox.Network;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.ProcessLock;
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
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Connects sandboxes to the public internet through this machine.
 *
 * <p>All of it is the kernel's: links, addresses, rules, counters. A server that goes away changes nothing for the
 * sandboxes, and the next one finds everything as it was. What it has to remember of a box is in the box's directory,
 * see {@link Home}; that a box is connected is written there before anything is made for it, so whoever removes the box
 * knows. What is there without a box is a leftover, and {@link #sweep} removes it.
 *
 * <p>Rules come before links and go after them. What is done on the machine's side is done under one lock of the machine,
 * as addresses and forwarding are the whole machine's, and for all who wait for it at once, see {@link Orders}. The other
 * side of a link is the sandbox's own, and no lock is held for it.
 */
public final class OpenNetwork {
    private static final Logger LOG = LoggerFactory.getLogger(OpenNetwork.class);
    private static final JsonMapper JSON = JsonMapper.builder().build();
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
    private final Orders<Connecting> connecting = new Orders<>(LOCK, this::connectLocked);
    private final Orders<String> leaving = new Orders<>(LOCK, this::disconnectLocked);
    /** Why this machine cannot; empty if it can, and null until somebody asks. Guarded by this. */
    private @Nullable String lacking;

    private OpenNetwork(Path boxes, String name, Addresses addresses, Supplier<List<String>> resolvers) {
        int group = Math.max(1, name.hashCode() & Integer.MAX_VALUE);
        this.boxes = boxes;
        this.links = new Links(group);
        this.addresses = addresses;
        this.resolvers = resolvers;
        this.rules = new Ruleset("berth_" + name, group, mostConnections());
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
        List<String> packages = new ArrayList<>();
        Map.of("nft", "nftables", "ip", "iproute2", "nsenter", "util-linux").forEach((program, debian) -> {
            if (!HostCommand.installed(program)) {
                packages.add(debian);
            }
        });
        if (!packages.isEmpty()) {
            return Optional.of("this machine lacks programs for it; install them with: apt-get install -y "
                    + String.join(" ", packages.stream().sorted().toList()));
        }
        try (var _ = ProcessLock.acquire(LOCK)) {
            HostCommand.run(
                            List.of("nft", "--check", "-f", "-"),
                            rules.common(List.of("lo"), List.of("127.0.0.1"))
                                    + rules.sandbox(
                                            "tryout",
                                            "127.0.0.1",
                                            Network.OPEN.withCaps(new Network.Caps(1, 1, 1024)),
                                            Traffic.NONE))
                    .orThrow();
            links.tryOut();
            return Optional.empty();
        } catch (IOException | SandboxException e) {
            return Optional.of("this machine's kernel cannot: " + e.getMessage()
                    + "; it has to have veth, nf_tables, nft_nat, nft_masq, nft_connlimit, nft_quota and nft_limit");
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
        Connecting order = new Connecting(box, pids, network);
        connecting.give(order);
        Links.Pair made = order.made;
        if (made != null) {
            links.turnOn(made);
        }
    }

    /** A box that is to be connected. */
    private static final class Connecting {
        private final String box;
        private final List<Integer> pids;
        private final Network network;
        /** What was made for it and is to be turned on; null if it had a link that works. */
        private Links.@Nullable Pair made;

        private Connecting(String box, List<Integer> pids, Network network) {
            this.box = box;
            this.pids = pids;
            this.network = network;
        }
    }

    private void connectLocked(List<Connecting> orders) throws IOException {
        List<String> asked = resolvers.get();
        if (asked.isEmpty()) {
            throw SandboxException.unsupported("a network of mode open cannot be had here: this machine has no resolver"
                    + " with an IPv4 address in /etc/resolv.conf; name one there, or in BERTH_NETWORK_RESOLVERS");
        }
        Once<List<Addresses.Route>> routes = new Once<>(Addresses::routes);
        Once<Map<String, Traffic>> counters = new Once<>(this::counters);
        Set<String> chosen = new HashSet<>();
        List<String> lent = forwarding.lent();
        StringBuilder orderedRules = new StringBuilder(rules.common(lent, asked));
        List<Links.Pair> made = new ArrayList<>();
        for (Connecting order : orders) {
            String box = order.box;
            String link = Links.name(box);
            Optional<Home> before = Home.read(directory(box));
            boolean known = before.filter(Home::connected).isPresent();
            boolean kept = known && links.works(link);
            if (!kept) {
                links.remove(List.of(link));
            }
            Traffic written = before.map(Home::traffic).orElse(Traffic.NONE);
            Traffic used = known ? counters.get().getOrDefault(box, written) : written;
            Optional<String> last = before.map(Home::address);
            String address = kept ? last.orElseThrow() : addresses.choose(routes.get(), asked, last, chosen);
            if (last.filter(was -> !was.equals(address)).isPresent()) {
                // They name the address it had. One that never had any has no rules.
                removeRules(List.of(box), counters.get());
            }
            new Home(address, true, used).write(directory(box));
            orderedRules.append(rules.sandbox(box, address, order.network, used));
            chosen.add(address);
            order.made = kept ? null : new Links.Pair(link, Links.guest(order.pids), address);
            if (order.made != null) {
                made.add(order.made);
            }
        }
        nft(orderedRules.toString());
        forwarding.lend(lent);
        links.make(made);
        for (Links.Pair pair : made) {
            forwarding.prepare(pair.link(), asked.stream().anyMatch(resolver -> resolver.startsWith("127.")));
        }
    }

    /** What is asked for when it is needed, and then known. */
    private static final class Once<T> {
        private final Source<T> source;
        private @Nullable T known;

        private interface Source<T> {
            T read() throws IOException;
        }

        private Once(Source<T> source) {
            this.source = source;
        }

        private T get() throws IOException {
            T value = known == null ? source.read() : known;
            known = value;
            return value;
        }
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
            leaving.give(box);
        }
    }

    private void disconnectLocked(List<String> gone) throws IOException {
        Map<String, Traffic> known = counters();
        cutOff(gone, known);
        known.keySet().removeAll(gone);
        removeIfUnused(known);
    }

    /** @param known what the boxes that have rules have used */
    private void cutOff(List<String> gone, Map<String, Traffic> known) throws IOException {
        links.remove(gone.stream().map(Links::name).toList());
        removeRules(gone, known);
        for (String box : gone) {
            Optional<Home> home = Home.read(directory(box));
            if (home.isPresent()) {
                Traffic used = known.getOrDefault(box, home.get().traffic());
                home.get().with(used).disconnected().write(directory(box));
            }
        }
    }

    /** What a box has sent and got since it was made. */
    public Traffic used(String box) throws IOException {
        Optional<Home> home = Home.read(directory(box));
        Traffic written = home.map(Home::traffic).orElse(Traffic.NONE);
        return home.filter(Home::connected).isPresent() ? counters().getOrDefault(box, written) : written;
    }

    /** What all boxes that are connected now have sent and got since they were made. */
    public Traffic used() throws IOException {
        return counters().values().stream().reduce(Traffic.NONE, Traffic::plus);
    }

    /**
     * Removes what is there for boxes that are not, or that have no link any more because their processes ended. Writes
     * down what the others have used, for the time after a restart of the machine; and takes note of interfaces and
     * resolvers that the machine has got meanwhile. While nobody is connected this costs next to nothing.
     */
    public void sweep() throws IOException {
        if (!HostCommand.installed("nft") || !HostCommand.installed("ip")) {
            return;
        }
        try (var _ = ProcessLock.acquire(LOCK)) {
            Map<String, Traffic> known = counters();
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
            Set<String> linked = new HashSet<>(links.all());
            List<String> gone = new ArrayList<>();
            for (Map.Entry<String, Traffic> counted : known.entrySet()) {
                if (linked.contains(Links.name(counted.getKey()))) {
                    keep(counted.getKey(), counted.getValue());
                } else {
                    gone.add(counted.getKey());
                }
            }
            cutOff(gone, known);
            if (!removeIfUnused(counters())) {
                List<String> lent = forwarding.lent();
                nft(rules.common(lent, resolvers.get()));
                forwarding.lend(lent);
            }
        }
    }

    private void keep(String box, Traffic used) throws IOException {
        Optional<Home> home = Home.read(directory(box));
        if (home.isPresent()) {
            home.get().with(used).write(directory(box));
        }
    }

    private boolean removeIfUnused(Map<String, Traffic> known) throws IOException {
        if (!known.isEmpty() || !links.all().isEmpty()) {
            return false;
        }
        forwarding.takeBack();
        nft(rules.nothing());
        return true;
    }

    private void removeRules(List<String> gone, Map<String, Traffic> known) throws IOException {
        List<String> ruled = gone.stream().filter(known::containsKey).toList();
        if (ruled.isEmpty()) {
            return;
        }
        Map<String, List<String>> homes = homes();
        nft(ruled.stream()
                .map(box -> rules.without(box, homes.getOrDefault(Links.name(box), List.of())))
                .collect(Collectors.joining()));
    }

    /** What each box that has rules has used. */
    private Map<String, Traffic> counters() throws IOException {
        Map<String, Traffic> used = new HashMap<>();
        for (JsonNode entry : listed("counters", "table", "inet", rules.table())) {
            JsonNode counter = entry.path("counter");
            String name = counter.path("name").asString("");
            long bytes = counter.path("bytes").asLong(0);
            if (name.startsWith("out-")) {
                used.merge(name.substring(4), new Traffic(bytes, 0), Traffic::plus);
            } else if (name.startsWith("in-")) {
                used.merge(name.substring(3), new Traffic(0, bytes), Traffic::plus);
            }
        }
        return used;
    }

    /** The addresses that each link may send from. */
    private Map<String, List<String>> homes() throws IOException {
        Map<String, List<String>> homes = new HashMap<>();
        for (JsonNode entry : listed("set", "inet", rules.table(), "homes")) {
            for (JsonNode pair : entry.path("set").path("elem")) {
                JsonNode parts = pair.path("concat");
                homes.computeIfAbsent(parts.path(0).asString(""), link -> new ArrayList<>())
                        .add(parts.path(1).asString(""));
            }
        }
        return homes;
    }

    private static JsonNode listed(String... what) throws IOException {
        List<String> argv = new ArrayList<>(List.of("nft", "-j", "list"));
        argv.addAll(List.of(what));
        HostCommand.Output output = HostCommand.run(argv, "");
        return output.missing()
                ? JSON.createArrayNode()
                : JSON.readTree(output.orThrow()).path("nftables");
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
