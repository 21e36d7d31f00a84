package dev.berth.egress.internet;

import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import javax.net.ssl.SSLContext;

/**
 * A small internet: a network namespace with addresses that look public, reached from this machine over a pair of virtual
 * interfaces, in which real servers run. Any number of them can be there at a time; each has addresses of its own.
 *
 * <pre>{@code
 * try (Internet internet = Internet.start()) {
 *     Site site = internet.https(internet.address(10), 443, "hello", internet.authority().server("api.example.com"));
 *     internet.names().name("api.example.com", internet.address(10));
 *     ... resolve with internet.names().address(), trust internet.authority(), look at site.seen()
 * }
 * }</pre>
 *
 * <p>Servers are made by threads of this program inside the namespace ({@link #inside}), so any server in Java can be
 * one. Needs root and Debian's iproute2. {@link #close} ends what this class started and removes the namespace.
 */
public final class Internet implements AutoCloseable {
    /** Where cloud providers hand out credentials. Requests from this machine reach one of the internets that are there. */
    public static final InetAddress METADATA = InetAddress.ofLiteral("169.254.169.254");

    private static final String PREFIX = "berthnet-";
    private static final int MOST = 512;

    private final int number;
    private final String link;
    private final NetNamespace namespace;
    private final Authority authority = new Authority();
    private final NameServer names;
    private final Deque<Closeable> running = new ArrayDeque<>();

    public static Internet start() {
        sweep();
        for (int number = 0; number < MOST; number++) {
            // Whoever makes the interface has the addresses: the kernel has each name but once.
            if (NetNamespace.tryIp("link", "add", "bi-" + number, "type", "veth", "peer", "name", "bj-" + number)) {
                return new Internet(number);
            }
        }
        throw new IllegalStateException(
                "no virtual interface could be made; the test needs root, iproute2 and a kernel with veth");
    }

    /** Removes what tests left behind that were killed. */
    private static void sweep() {
        for (String name : NetNamespace.names()) {
            if (name.startsWith(PREFIX)
                    && ProcessHandle.of(Long.parseLong(name.substring(name.lastIndexOf('-') + 1)))
                            .isEmpty()) {
                NetNamespace.tryIp("netns", "del", name); // another test may do the same at this moment
            }
        }
    }

    private Internet(int number) {
        this.number = number;
        this.link = "bi-" + number;
        namespace =
                new NetNamespace(PREFIX + number + "-" + ProcessHandle.current().pid());
        try {
            connect("bj-" + number);
            names = new NameServer(inside(() -> new DatagramSocket(new InetSocketAddress(address(53), 53))));
        } catch (RuntimeException e) {
            namespace.close();
            throw e;
        }
        running.push(names::close);
    }

    private void connect(String peer) {
        String me = four(12, 1);
        String gateway = four(12, 2);
        String six = six(1, 1);
        String gatewaySix = six(1, 2);
        NetNamespace.ip("link", "set", peer, "netns", namespace.name());
        NetNamespace.batch(
                "addr add " + me + "/24 dev " + link,
                "addr add " + six + "/64 dev " + link + " nodad",
                "link set " + link + " up");
        namespace.batchInside(
                "link set lo up",
                "addr add " + gateway + "/24 dev " + peer,
                "addr add " + gatewaySix + "/64 dev " + peer + " nodad",
                "link set " + peer + " up",
                "route add default via " + me,
                // All addresses of the ranges are its own, without one being given to an interface.
                "route add local " + four(11, 0) + "/24 dev lo",
                "route add local " + four(198, 0) + "/24 dev lo",
                "route add local " + six(0, 0) + "/64 dev lo",
                "addr add " + METADATA.getHostAddress() + "/32 dev lo");
        inside(() -> Files.writeString(Path.of("/proc/sys/net/ipv6/ip_nonlocal_bind"), "1"));
        NetNamespace.batch(
                "route add " + four(11, 0) + "/24 via " + gateway,
                "route add " + four(198, 0) + "/24 via " + gateway,
                "route add " + six(0, 0) + "/64 via " + gatewaySix,
                // With a metric of its own, so that several can be there.
                "route add " + METADATA.getHostAddress() + "/32 via " + gateway + " metric " + (1000 + number));
    }

    /** 11 for its hosts, 12 for the link between it and this machine, 198 for its hosts that are not public. */
    private String four(int kind, int host) {
        return kind + "." + (18 + number / 256) + "." + number % 256 + "." + host;
    }

    private String six(int subnet, int host) {
        return "2a11:22:" + Integer.toHexString(number) + ":" + subnet + "::" + Integer.toHexString(host);
    }

    /** An address that is public to all appearances. All hosts from 1 to 254 are there; 53 is the name server's. */
    public InetAddress address(int host) {
        return InetAddress.ofLiteral(four(11, host));
    }

    /** As {@link #address}, of IPv6; all hosts from 1 on are there. */
    public InetAddress address6(int host) {
        return InetAddress.ofLiteral(six(0, host));
    }

    /** An address of a range that is not public (198.18.0.0/15), where servers can be reached as well. */
    public InetAddress closedAddress(int host) {
        return InetAddress.ofLiteral(four(198, host));
    }

    /** The public-looking address that this machine itself has on the way to this internet. */
    public InetAddress machine() {
        return InetAddress.ofLiteral(four(12, 1));
    }

    public NameServer names() {
        return names;
    }

    /** Whom the servers' certificates are from. */
    public Authority authority() {
        return authority;
    }

    /**
     * Does something in the namespace: sockets that it makes are there, and can be used from everywhere. It must start no
     * threads, virtual ones included: they, or what runs them, would be there for ever.
     */
    public <T> T inside(Callable<T> action) {
        return namespace.inside(action);
    }

    /** A socket that listens there, for servers that do as the test pleases. It is closed with this. */
    public ServerSocket listen(InetAddress address, int port) {
        ServerSocket socket = inside(() -> new ServerSocket(port, 512, address));
        running.push(socket);
        return socket;
    }

    /** A site without TLS. Its answers begin with what it says. */
    public Site http(InetAddress address, int port, String says) {
        return site(inside(() -> HttpServer.create(new InetSocketAddress(address, port), 512)), says);
    }

    /** A site with TLS. Its answers begin with what it says. */
    public Site https(InetAddress address, int port, String says, SSLContext tls) {
        HttpsServer server = inside(() -> HttpsServer.create(new InetSocketAddress(address, port), 512));
        server.setHttpsConfigurator(new HttpsConfigurator(tls));
        return site(server, says);
    }

    private Site site(HttpServer server, String says) {
        Site site = new Site(server, Executors.newVirtualThreadPerTaskExecutor(), says);
        running.push(site::close);
        return site;
    }

    @Override
    public void close() {
        try {
            while (!running.isEmpty()) {
                running.pop().close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        // The sockets that are still open keep the namespace a moment longer than its name; the interface goes at once.
        NetNamespace.ip("link", "del", link);
        namespace.close();
    }
}
