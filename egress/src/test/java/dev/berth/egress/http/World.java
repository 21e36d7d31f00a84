package dev.berth.egress.http;

import dev.berth.egress.policy.Account;
import dev.berth.egress.policy.Binding;
import dev.berth.egress.policy.Binding.Place;
import dev.berth.egress.policy.Gate;
import dev.berth.egress.policy.Passage;
import dev.berth.egress.policy.Policy;
import dev.berth.egress.policy.Refusal;
import dev.berth.egress.policy.Target;
import dev.berth.egress.policy.Use;
import dev.berth.egress.policy.Visit;
import dev.berth.egress.trust.Authority;
import dev.berth.sandbox.Connection;
import dev.berth.sandbox.Destination.Domain;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.Network.Rule;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PushbackInputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ProxySelector;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.UnknownHostException;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.SecureRandom;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;

/**
 * A proxy with one sandbox before it and servers behind it, all on the loopback. Every name that ends in {@code .test}
 * leads to 127.0.0.1.
 */
final class World implements AutoCloseable {
    static final String VALUE = "sk-real/value+with=odd&chars";
    static final String PLACEHOLDER = "sk-berth-key-abcdefghijklmnopqrstuvwxyz234567";

    final TestAuthority outside = new TestAuthority();
    final Authority authority;
    final Inspector inspector;
    final Gate gate;
    final ThePolicy policy = new ThePolicy();
    final Account account = new Account(() -> policy.network().caps(), 0);
    private final Path directory;
    private final ServerSocket carrier = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final List<Closeable> servers = new ArrayList<>();

    static final class ThePolicy implements Policy {
        volatile Network network = Network.restricted();
        final List<Binding> bindings = new CopyOnWriteArrayList<>();
        final Map<String, String> values = new ConcurrentHashMap<>();
        final BlockingQueue<Visit> visits = new LinkedBlockingQueue<>();
        final BlockingQueue<Use> uses = new LinkedBlockingQueue<>();

        @Override
        public Network network() {
            return network;
        }

        @Override
        public List<Binding> bindings() {
            return List.copyOf(bindings);
        }

        @Override
        public Optional<String> reveal(String secret) {
            return Optional.ofNullable(values.get(secret));
        }

        @Override
        public long carried() {
            return 0;
        }

        @Override
        public void visited(Visit visit) {
            visits.add(visit);
        }

        @Override
        public void used(Use use) {
            uses.add(use);
        }

        Visit visit() throws InterruptedException {
            Visit visit = visits.poll(60, TimeUnit.SECONDS);
            if (visit == null) {
                throw new AssertionError("nothing was told");
            }
            return visit;
        }
    }

    World() throws Exception {
        this(Limits.USUAL);
    }

    World(Limits limits) throws Exception {
        directory = Files.createTempDirectory("berth-egress-test");
        authority = Authority.in(directory, Clock.systemUTC(), new SecureRandom());
        gate = new Gate(
                host -> {
                    if (!host.endsWith(".test")) {
                        throw new UnknownHostException(host);
                    }
                    return List.of(InetAddress.ofLiteral("127.0.0.1"));
                },
                List::of);
        inspector = new Inspector(gate, authority, limits, Optional.of(outside.trust()), new SecureRandom());
        Thread.ofVirtual().start(this::carry);
    }

    // ---- servers -------------------------------------------------------------------------------------------------

    /** A server in TLS, which may be reached. */
    Origin secure(String host, Origin.Page page) throws Exception {
        return secure(outside.server(host), true, page);
    }

    Origin secure(KeyStore keys, boolean http2, Origin.Page page) throws Exception {
        return known(new Origin(Optional.of(keys), http2, page));
    }

    /** A server in clear, which may be reached. */
    Origin plain(Origin.Page page) throws Exception {
        return known(new Origin(Optional.empty(), false, page));
    }

    private Origin known(Origin origin) {
        servers.add(origin);
        allow(origin.port());
        return origin;
    }

    /** A server that says whatever a test wants it to; returns its port. */
    int raw(Raw raw) throws IOException {
        ServerSocket socket = new ServerSocket(0, 50, InetAddress.ofLiteral("127.0.0.1"));
        servers.add(socket);
        allow(socket.getLocalPort());
        Thread.ofVirtual().start(() -> {
            while (!socket.isClosed()) {
                try {
                    Socket accepted = socket.accept();
                    Thread.ofVirtual().start(() -> {
                        try (accepted) {
                            raw.serve(accepted);
                        } catch (Exception e) {
                            // the other side went, which the test sees for itself
                        }
                    });
                } catch (IOException e) {
                    return;
                }
            }
        });
        return socket.getLocalPort();
    }

    interface Raw {
        void serve(Socket socket) throws Exception;
    }

    synchronized void allow(int port) {
        List<Integer> ports = new ArrayList<>(
                policy.network.allow().isEmpty()
                        ? List.of()
                        : policy.network.allow().getFirst().ports());
        ports.add(port);
        // A range alone allows addresses, and no names.
        policy.network = Network.restricted(Stream.of(
                        "127.0.0.0/8",
                        "api.test",
                        "clear.test",
                        "elsewhere.test",
                        "evil.test",
                        "loop.test",
                        "other.test")
                .map(to -> Rule.to(to).withPorts(ports.toArray(Integer[]::new)))
                .toArray(Rule[]::new));
    }

    void bind(String host, int port, Place place) {
        bind("KEY", PLACEHOLDER, VALUE, host, port, place, false);
    }

    void bind(String secret, String placeholder, String value, String host, int port, Place place, boolean plain) {
        policy.values.put(secret, value);
        policy.bindings.add(new Binding(
                secret, placeholder, List.of(Domain.of(host)), List.of(port), List.of(), List.of(), place, plain));
    }

    // ---- the sandbox's side --------------------------------------------------------------------------------------

    private void carry() {
        while (!carrier.isClosed()) {
            try {
                Socket socket = carrier.accept();
                Thread.ofVirtual().start(() -> take(socket));
            } catch (IOException e) {
                return;
            }
        }
    }

    /** A small front, as the real one is not what is tested here. */
    private void take(Socket socket) {
        try (socket) {
            PushbackInputStream in = new PushbackInputStream(socket.getInputStream(), 16 << 10);
            String line = line(in);
            if (!line.startsWith("CONNECT ")) {
                in.unread(line.getBytes(StandardCharsets.ISO_8859_1));
                inspector.proxy(passage(in, socket));
                return;
            }
            String next = line(in);
            while (!next.isBlank()) {
                next = line(in);
            }
            Gate.Way way = gate.connection(policy, Target.parse(line.split(" ")[1], 443));
            socket.getOutputStream().write("HTTP/1.1 200 OK\r\n\r\n".getBytes(StandardCharsets.ISO_8859_1));
            int first = in.read();
            if (first < 0) {
                return;
            }
            in.unread(first);
            inspector.within(passage(in, socket), way, first == 0x16);
        } catch (IOException | Refusal e) {
            // the program sees a connection that ends
        }
    }

    private Passage passage(InputStream in, Socket socket) {
        return new Passage(policy, account, new Connection() {
            @Override
            public InputStream input() {
                return in;
            }

            @Override
            public OutputStream output() {
                return new java.io.FilterOutputStream(socketOutput(socket)) {
                    @Override
                    public void write(byte[] bytes, int offset, int length) throws IOException {
                        out.write(bytes, offset, length);
                    }

                    @Override
                    public void close() throws IOException {
                        socket.shutdownOutput();
                    }
                };
            }

            @Override
            public void close() {
                try {
                    socket.close();
                } catch (IOException e) {
                    throw new java.io.UncheckedIOException(e);
                }
            }
        });
    }

    private static OutputStream socketOutput(Socket socket) {
        try {
            return socket.getOutputStream();
        } catch (IOException e) {
            return OutputStream.nullOutputStream();
        }
    }

    private static String line(InputStream in) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int b = in.read(); b >= 0; b = in.read()) {
            line.write(b);
            if (b == '\n') {
                break;
            }
        }
        return line.toString(StandardCharsets.ISO_8859_1);
    }

    int proxyPort() {
        return carrier.getLocalPort();
    }

    /** A connection to the proxy. */
    Socket dial() throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), proxyPort());
        socket.setSoTimeout(60_000);
        return socket;
    }

    /** After CONNECT. */
    Socket dial(String host, int port) throws IOException {
        Socket socket = dial();
        socket.getOutputStream()
                .write(("CONNECT " + host + ":" + port + " HTTP/1.1\r\n\r\n").getBytes(StandardCharsets.ISO_8859_1));
        String status = line(socket.getInputStream());
        if (!status.contains(" 200 ") || !line(socket.getInputStream()).isBlank()) {
            throw new IOException("the proxy says " + status);
        }
        return socket;
    }

    /** After CONNECT, in TLS that the proxy opens. */
    SSLSocket dialTls(String host, int port) throws Exception {
        Socket socket = dial(host, port);
        SSLSocket tls = (SSLSocket) trusting().getSocketFactory().createSocket(socket, host, port, true);
        SSLParameters parameters = tls.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        tls.setSSLParameters(parameters);
        tls.startHandshake();
        return tls;
    }

    SSLContext trusting() throws Exception {
        TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
        trust.init(TestAuthority.store("berth", authority.certificate()));
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        return context;
    }

    HttpClient client(HttpClient.Version version) throws Exception {
        return HttpClient.newBuilder()
                .proxy(ProxySelector.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), proxyPort())))
                .sslContext(trusting())
                .version(version)
                .connectTimeout(Duration.ofSeconds(20))
                .build();
    }

    /** What a server of the world sees of a request, in lines. */
    static Map<String, String> parsed(String text) {
        Map<String, String> lines = new HashMap<>();
        text.lines().filter(line -> line.contains(": ")).forEach(line -> {
            int colon = line.indexOf(": ");
            lines.merge(
                    line.substring(0, colon).toLowerCase(java.util.Locale.ROOT),
                    line.substring(colon + 2),
                    (a, b) -> a + "|" + b);
        });
        return lines;
    }

    Path authorityFile() throws IOException {
        Path file = directory.resolve("trust.pem");
        Files.writeString(file, authority.certificatePem());
        return file;
    }

    @Override
    public void close() throws IOException {
        carrier.close();
        inspector.close();
        for (Closeable server : servers) {
            server.close();
        }
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
