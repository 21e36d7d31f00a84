package dev.berth.sandbox.local.network;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.ErrnoException;
import dev.berth.sandbox.local.netlink.Netlink;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The pairs of interfaces, see veth(4): one end on the machine, the other in the sandbox's network namespace. The kernel
 * removes both when the namespace goes, so a link never outlives its sandbox's processes.
 *
 * <p>The machine's ends of a data directory are in one group of interfaces, which they are born in; rules know them by
 * it.
 */
final class Links {
    static final String PREFIX = "berth-";
    /** Of every machine's end. It is not routed by anybody, so it is nobody else's. */
    static final String GATEWAY = "169.254.209.1";

    private static final String INSIDE = "eth0";
    private static final Path INTERFACES = Path.of("/sys/class/net");
    private static final int LONGEST_NAME = 15;

    private final int group;

    Links(int group) {
        this.group = group;
    }

    /** The 9 characters that fit have 45 bits, which no two boxes of a machine share. */
    static String name(String box) {
        return (PREFIX + box).substring(0, Math.min(LONGEST_NAME, PREFIX.length() + box.length()));
    }

    /** The links of this data directory. */
    List<String> all() throws IOException {
        List<String> names = new ArrayList<>();
        try (DirectoryStream<Path> found = Files.newDirectoryStream(INTERFACES, PREFIX + "*")) {
            for (Path link : found) {
                if (Integer.toString(group).equals(read(link.resolve("netdev_group")))) {
                    names.add(link.getFileName().toString());
                }
            }
        }
        return names;
    }

    /** Whether both ends are there and up. */
    boolean works(String link) throws IOException {
        return "up".equals(read(INTERFACES.resolve(link).resolve("operstate")));
    }

    static boolean exists(String link) {
        return Files.exists(INTERFACES.resolve(link));
    }

    /**
     * One link.
     *
     * @param link its name on the machine
     * @param pid of a process in the sandbox's namespace
     * @param address of the sandbox
     */
    record Pair(String link, int pid, String address) {
        /**
         * What the other end is called until it is turned on. Nothing else on the machine has that name: if the process is
         * gone by then and its number is another's, there is nothing of it in the namespace that is entered.
         */
        private String born() {
            return "in-" + link.substring(PREFIX.length());
        }
    }

    /** Makes the pair, with a way to the sandbox; nothing passes before {@link #turnOn}, as the other end is down. */
    void make(Pair pair) throws IOException {
        try (Netlink kernel = Netlink.open(Netlink.ROUTE)) {
            kernel.ask(RouteRequests.pair(pair.link(), group, pair.born(), pair.pid()));
            int index = RouteRequests.index(kernel, pair.link());
            withoutIpv6(kernel, index);
            kernel.ask(
                    RouteRequests.address(index, GATEWAY),
                    RouteRequests.up(index),
                    RouteRequests.way(index, pair.address()));
        }
    }

    /** Gives the sandbox its address, and a way out. All of that is in its own namespace. */
    void turnOn(Pair pair) throws IOException {
        try (Netlink kernel = Netlink.openIn(Netlink.ROUTE, pair.pid())) {
            int index = RouteRequests.index(kernel, pair.born());
            kernel.ask(RouteRequests.named(index, INSIDE));
            withoutIpv6(kernel, index);
            kernel.ask(
                    RouteRequests.address(index, pair.address()),
                    RouteRequests.up(index),
                    RouteRequests.way(index, GATEWAY),
                    RouteRequests.wayOut(index, GATEWAY));
        }
    }

    private static void withoutIpv6(Netlink kernel, int index) throws IOException {
        if (Files.exists(Path.of("/proc/sys/net/ipv6"))) {
            kernel.ask(RouteRequests.withoutAddressesOfIpv6(index));
        }
    }

    /** Whether this kernel has such pairs at all. */
    void tryOut() throws IOException {
        String link = name("tryout");
        remove(List.of(link)); // left by one that was killed
        int self = Math.toIntExact(ProcessHandle.current().pid());
        try (Netlink kernel = Netlink.open(Netlink.ROUTE)) {
            kernel.ask(RouteRequests.pair(link, group, PREFIX + "peer", self), RouteRequests.delete(link));
        }
    }

    /** Nothing happens for those that are not there, or go by themselves at this moment. */
    void remove(List<String> links) throws IOException {
        List<String> there = links.stream().filter(Links::exists).toList();
        if (there.isEmpty()) {
            return;
        }
        try (Netlink kernel = Netlink.open(Netlink.ROUTE)) {
            for (String link : there) {
                try {
                    kernel.ask(RouteRequests.delete(link));
                } catch (ErrnoException e) {
                    if (e.errno() != ErrnoException.ENODEV) {
                        throw e;
                    }
                }
            }
        }
    }

    /**
     * The first process of the sandbox among those of its cgroup: the one that is number 1 in the innermost of its
     * namespaces. The runtime may still be in the cgroup, and its network is the machine's.
     */
    static int guest(List<Integer> pids) throws IOException {
        for (int pid : pids) {
            Path process = Path.of("/proc", Integer.toString(pid));
            try {
                String[] numbers = Files.readAllLines(process.resolve("status")).stream()
                        .filter(line -> line.startsWith("NSpid:"))
                        .findFirst()
                        .orElse("")
                        .split("\\s+");
                if (numbers.length > 2
                        && "1".equals(Arrays.asList(numbers).getLast())
                        && !namespace(process).equals(namespace(Path.of("/proc/self")))) {
                    return pid;
                }
            } catch (IOException e) {
                // It ended meanwhile, and read(2) says so in several ways.
                if (Files.exists(process)) {
                    throw e;
                }
            }
        }
        throw SandboxException.unavailable("the sandbox has no first process to give a network to");
    }

    private static Path namespace(Path process) throws IOException {
        return Files.readSymbolicLink(process.resolve("ns/net"));
    }

    private static String read(Path file) throws IOException {
        try {
            return Files.readString(file).strip();
        } catch (IOException e) {
            // Of an interface that goes at this moment, sysfs says so in several ways.
            if (Files.exists(file)) {
                throw e;
            }
            return "";
        }
    }
}
