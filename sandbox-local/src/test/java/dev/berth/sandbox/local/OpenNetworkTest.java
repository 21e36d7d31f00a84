package dev.berth.sandbox.local;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.Capability;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.Network.Caps;
import dev.berth.sandbox.Network.Rule;
import dev.berth.sandbox.Result;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import dev.berth.sandbox.local.network.Internet;
import dev.berth.sandbox.local.network.NetworkConfig;
import dev.berth.sandbox.local.network.Traffic;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.net.SocketTimeoutException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Sandboxes that reach the public internet, and nothing else. Needs root, crun, nftables and iproute2. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class OpenNetworkTest {
    /** Prints what a server answers to a line, or how it could not be asked. */
    private static final String ASK = """
            import socket, sys
            host, port, line = sys.argv[1], int(sys.argv[2]), sys.argv[3]
            try:
                s = socket.create_connection((host, port), timeout=4)
                s.sendall((line + '\\n').encode())
                print(s.makefile().readline().strip())
            except OSError as e:
                print('failed', e.errno or type(e).__name__)
            """;

    private static final String ASK_UDP = """
            import socket, sys
            try:
                s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                s.settimeout(4)
                s.connect((sys.argv[1], int(sys.argv[2])))
                s.send(b'hello')
                print(s.recv(100).decode())
            except OSError as e:
                print('failed', e.errno or type(e).__name__)
            """;

    /** Gets a number of bytes and prints how many came. */
    private static final String FETCH = """
            import socket, sys
            s = socket.create_connection((sys.argv[1], 80), timeout=4)
            s.sendall((sys.argv[2] + '\\n').encode())
            got = 0
            try:
                while got < int(sys.argv[2]) and (some := s.recv(65536)):
                    got += len(some)
            except OSError:
                pass
            print(got)
            """;

    /** ECONNREFUSED, what connect(2) makes of a reset. */
    private static final String REFUSED = "failed 111";
    /** EHOSTUNREACH, what it makes of "prohibited by an administrator". */
    private static final String PROHIBITED = "failed 113";

    private Internet internet;
    private TestMachine machine;

    @BeforeEach
    void connectTheMachine() throws IOException {
        internet = new Internet();
        machine = new TestMachine(
                RuntimeKind.CRUN, new NetworkConfig(Optional.empty(), List.of(internet.privateAddress())));
    }

    @AfterEach
    void nothingIsLeft() throws IOException {
        Path data = machine.data();
        machine.close();
        internet.close();
        assertThat(output("nft", "list", "tables")).doesNotContain("berth_" + LocalProvider.group(data));
    }

    @Test
    void reachesPublicAddressesByTcpAndUdp() {
        Sandbox sandbox = open("public");
        assertThat(machine.provider().capabilities()).contains(Capability.OPEN_NETWORK);
        assertThat(ask(sandbox, internet.publicAddress(), 80, "0")).isEqualTo(internet.machineAddress());
        assertThat(ask(sandbox, internet.publicAddress(), 81, "words")).isEqualTo("words");
        assertThat(python(sandbox, ASK_UDP, internet.publicAddress(), "7")).isEqualTo("hello");
    }

    @Test
    void programsThatKnowNoProxyResolveNames() {
        Sandbox sandbox = open("names");
        assertThat(python(sandbox, "import socket; print(socket.gethostbyname('some.name.test'))"))
                .isEqualTo(internet.publicAddress());
        // The resolver is at a private address, which stays closed by any other way than the sandbox's own resolv.conf.
        assertThat(ask(sandbox, internet.privateAddress(), 53, "x")).isEqualTo(REFUSED);
        assertThat(python(sandbox, """
                        import socket, struct
                        query = b'\\0\\1\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\4name\\4test\\0\\0\\1\\0\\1'
                        server = open('/etc/resolv.conf').read().split()[1]
                        s = socket.create_connection((server, 53), timeout=4)
                        s.sendall(struct.pack('>H', len(query)) + query)
                        print(socket.inet_ntoa(s.makefile('rb').read(2 + 16 + len(query))[-4:]))
                        """)).isEqualTo(internet.publicAddress());
    }

    @Test
    void doesNotReachTheMachineItRunsOn() throws IOException {
        Sandbox sandbox = open("host");
        try (ServerSocket tcp = new ServerSocket(0);
                DatagramSocket udp = new DatagramSocket(0)) {
            List<InetAddress> own = NetworkInterface.networkInterfaces()
                    .flatMap(NetworkInterface::inetAddresses)
                    .filter(address -> !address.isLoopbackAddress())
                    .toList();
            assertThat(own)
                    .extracting(InetAddress::getHostAddress)
                    .contains("169.254.209.1", internet.machineAddress());
            for (InetAddress address : own) {
                String plain = address.getHostAddress().replaceAll("%.*", "");
                assertThat(ask(sandbox, plain, tcp.getLocalPort(), "x"))
                        .as(plain)
                        .startsWith(address instanceof Inet4Address ? REFUSED : "failed ");
                python(sandbox, ASK_UDP.replace("settimeout(4)", "settimeout(0.2)"), plain, "" + udp.getLocalPort());
            }
            udp.setSoTimeout(300);
            assertThatThrownBy(() -> udp.receive(new DatagramPacket(new byte[10], 10)))
                    .isInstanceOf(SocketTimeoutException.class);
            assertThat(tcp.isClosed()).isFalse();
        }
    }

    @Test
    void doesNotReachPrivateRangesNorTheCloudsMetadata() {
        Sandbox sandbox = open("private");
        for (String closed : List.of(
                internet.privateAddress(),
                "169.254.169.254",
                "168.63.129.16",
                "10.0.0.1",
                "172.16.0.1",
                "192.168.1.1",
                "100.64.0.1",
                "198.18.0.1",
                "203.0.113.9",
                "240.0.0.1")) {
            assertThat(ask(sandbox, closed, 80, "0")).as(closed).startsWith("failed ");
        }
        assertThat(python(sandbox, ASK_UDP, internet.privateAddress(), "7")).isEqualTo(PROHIBITED);
        assertThat(ask(sandbox, internet.privateAddress(), 80, "0")).isEqualTo(REFUSED);
        assertThat(ask(sandbox, "169.254.169.254", 80, "0")).isEqualTo(REFUSED);
    }

    @Test
    void doesNotReachAnotherSandbox() throws IOException {
        Sandbox one = open("one");
        Sandbox other = open("other");
        try (RunningCommand listening = other.start(Command.of("python3", "-c", """
                import socket
                s = socket.create_server(('0.0.0.0', 8000))
                print('ready', flush=True)
                s.accept()
                print('reached', flush=True)
                """))) {
            assertThat(new BufferedReader(new java.io.InputStreamReader(listening.stdout(), UTF_8)).readLine())
                    .isEqualTo("ready");
            assertThat(ask(one, address(other), 8000, "x")).isEqualTo(REFUSED);
            // Nor does anybody on the machine.
            assertThat(python("import socket; s = socket.socket(); s.settimeout(4); print(s.connect_ex(('"
                            + address(other) + "', 8000)))"))
                    .isNotEqualTo("0");
        }
    }

    @Test
    void itsRootUserCannotChangeItsNetwork() {
        Sandbox sandbox = open("root");
        String address = address(sandbox);
        for (List<String> attempt : List.of(
                List.of("ip", "address", "add", "11.1.1.1/32", "dev", "eth0"),
                List.of("ip", "link", "set", "dev", "eth0", "down"),
                List.of("ip", "route", "add", "11.1.1.1/32", "dev", "eth0"),
                List.of("ip", "link", "add", "type", "veth"),
                List.of("nft", "add", "table", "inet", "mine"),
                List.of("sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"),
                List.of("sh", "-c", "echo 0 > /proc/sys/net/ipv6/conf/eth0/addr_gen_mode"),
                List.of("python3", "-c", "import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)"),
                List.of("python3", "-c", "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3)"),
                List.of("python3", "-c", "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1)"),
                List.of(
                        "python3",
                        "-c",
                        // IP_TRANSPARENT
                        "import socket; socket.socket().setsockopt(socket.SOL_IP, 19, 1)"),
                List.of(
                        "python3",
                        "-c",
                        // IP_FREEBIND needs no privilege, but packets do not leave from an address that is not there.
                        "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM);"
                                + " s.setsockopt(socket.SOL_IP, 15, 1); s.bind(('11.1.1.1', 0));"
                                + " s.sendto(b'x', ('" + internet.publicAddress() + "', 7))"))) {
            Result result = sandbox.run(Command.of(attempt).withUser("root"));
            assertThat(result.code()).as("%s: %s", attempt, result.stderr()).isNotZero();
        }
        assertThat(address(sandbox)).isEqualTo(address);
    }

    /** As if it had found a way to change its own side of the link. */
    @Test
    void evenWithAllPrivilegesOverItsOwnSideItCannotPretendToBeAnother() throws IOException {
        Sandbox sandbox = open("spoof");
        String pid = guest(sandbox);
        inNamespace(pid, "ip", "address", "add", "10.209.255.254/32", "dev", "eth0");
        inNamespace(pid, "ip", "address", "add", internet.machineAddress() + "/32", "dev", "eth0");
        for (String spoofed : List.of("10.209.255.254", internet.machineAddress())) {
            String tried = python(
                    sandbox,
                    ASK_UDP.replace("s.connect(", "s.bind(('" + spoofed + "', 0)); s.connect(")
                            .replace("settimeout(4)", "settimeout(0.5)"),
                    internet.publicAddress(),
                    "7");
            assertThat(tried).as(spoofed).startsWith("failed ");
        }
        inNamespace(pid, "ip", "-6", "address", "add", "fd00:209::2/64", "dev", "eth0", "nodad");
        inNamespace(pid, "ip", "-6", "route", "add", "default", "dev", "eth0");
        assertThat(ask(sandbox, "2001:4860::1", 80, "x")).startsWith("failed ");
        // What is none of TCP and UDP carries nothing either: an echo request of ICMP, with the privilege to send it.
        assertThat(inNamespace(pid, "python3", "-c", """
                        import socket
                        s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
                        s.settimeout(0.5)
                        s.connect(('%s', 0))
                        s.send(b'\\x08\\0\\xf7\\xfd\\0\\1\\0\\1')
                        try:
                            print('got type', s.recv(100)[20])
                        except OSError as e:
                            print('failed', e.errno)
                        """.formatted(internet.publicAddress())))
                .doesNotContain("got type 0");
        assertThat(ask(sandbox, internet.publicAddress(), 80, "still")).isEqualTo("still");
    }

    @Test
    void anAllowedRangeIsReachedOnItsPortsAndCutOffAgainAtOnce() throws Exception {
        Network allowed = new Network(
                Network.Mode.OPEN, List.of(Rule.to(internet.privateRange()).withPorts(80)), List.of(), Caps.DEFAULT);
        Sandbox sandbox =
                machine.provider().create(SandboxSpec.of("allowed", "host").withNetwork(allowed));
        assertThat(ask(sandbox, internet.privateAddress(), 80, "hello")).isEqualTo("hello");
        assertThat(ask(sandbox, internet.privateAddress(), 81, "hello")).isEqualTo(REFUSED);
        try (RunningCommand talking = sandbox.start(
                Command.of("python3", "-c", """
                import socket, sys
                s = socket.create_connection((sys.argv[1], 80), timeout=2)
                f = s.makefile()
                while True:
                    s.sendall(b'word\\n')
                    print(f.readline().strip(), flush=True)
                    sys.stdin.readline()
                """, internet.privateAddress()).withStdin())) {
            BufferedReader words = new BufferedReader(new java.io.InputStreamReader(talking.stdout(), UTF_8));
            assertThat(words.readLine()).isEqualTo("word");
            talking.stdin().write("\n".getBytes(UTF_8));
            assertThat(words.readLine()).isEqualTo("word");
            sandbox.network(Network.OPEN);
            talking.stdin().write("\n".getBytes(UTF_8));
            assertThat(words.readLine()).as("what comes after it was cut off").isNull();
        }
        assertThat(ask(sandbox, internet.privateAddress(), 80, "hello")).isEqualTo(REFUSED);
        assertThat(ask(sandbox, internet.publicAddress(), 80, "hello")).isEqualTo("hello");
    }

    @Test
    void aDeniedRangeIsNotReachedAndAnAllowedAddressInItIs() throws Exception {
        Sandbox sandbox = machine.provider()
                .create(SandboxSpec.of("denied", "host").withNetwork(Network.OPEN.withDeny("8.0.0.0/6")));
        assertThat(ask(sandbox, internet.publicAddress(), 80, "hello")).isEqualTo(REFUSED);
        sandbox.network(new Network(
                Network.Mode.OPEN,
                List.of(Rule.to(internet.publicAddress()).withEveryPort()),
                List.of("8.0.0.0/6"),
                List.of(),
                Caps.DEFAULT));
        assertThat(ask(sandbox, internet.publicAddress(), 80, "hello")).isEqualTo("hello");
        assertThat(ask(sandbox, internet.publicAddress(), 81, "hello")).isEqualTo("hello");
        assertThat(ask(sandbox, internet.machineAddress(), 80, "hello")).isEqualTo(REFUSED);
        sandbox.network(Network.OPEN);
        assertThat(ask(sandbox, internet.publicAddress(), 80, "hello")).isEqualTo("hello");
        sandbox.network(Network.OPEN.withDeny("0.0.0.0/0"));
        assertThat(ask(sandbox, internet.publicAddress(), 80, "hello")).isEqualTo(REFUSED);
    }

    @Test
    void anAllowedAddressOfTheMachineIsReachedOnItsPort() throws Exception {
        try (ServerSocket allowed = new ServerSocket();
                ServerSocket beside = new ServerSocket()) {
            allowed.bind(new InetSocketAddress(internet.machineAddress(), 0));
            beside.bind(new InetSocketAddress(internet.machineAddress(), 0));
            Sandbox sandbox = machine.provider()
                    .create(SandboxSpec.of("own", "host")
                            .withNetwork(new Network(
                                    Network.Mode.OPEN,
                                    List.of(Rule.to(internet.machineAddress()).withPorts(allowed.getLocalPort())),
                                    List.of(),
                                    Caps.DEFAULT)));
            Thread.ofVirtual().start(() -> {
                try (var accepted = allowed.accept()) {
                    accepted.getOutputStream().write("welcome\n".getBytes(UTF_8));
                } catch (IOException e) {
                    throw new java.io.UncheckedIOException(e);
                }
            });
            assertThat(ask(sandbox, internet.machineAddress(), allowed.getLocalPort(), "x"))
                    .isEqualTo("welcome");
            assertThat(ask(sandbox, internet.machineAddress(), beside.getLocalPort(), "x"))
                    .isEqualTo(REFUSED);
        }
    }

    @Test
    void isClosedAndOpenedAgainWhileItRuns() {
        Sandbox sandbox = machine.provider().create(SandboxSpec.of("live", "host"));
        assertThat(interfaces(sandbox)).containsExactly("lo");
        sandbox.network(Network.OPEN);
        assertThat(ask(sandbox, internet.publicAddress(), 80, "once")).isEqualTo("once");
        sandbox.network(Network.NONE);
        assertThat(interfaces(sandbox)).containsExactly("lo");
        assertThat(ask(sandbox, internet.publicAddress(), 80, "x")).isEqualTo("failed 101");
        sandbox.network(Network.OPEN);
        assertThat(ask(sandbox, internet.publicAddress(), 80, "again")).isEqualTo("again");
        sandbox.pause();
        sandbox.network(Network.NONE);
        sandbox.network(Network.OPEN);
        sandbox.wake();
        assertThat(ask(sandbox, internet.publicAddress(), 80, "awake")).isEqualTo("awake");
    }

    @Test
    void staysConnectedWhenTheServerIsGoneAndIsFoundSoByTheNext() throws IOException {
        Sandbox sandbox = open("restart");
        String address = address(sandbox);
        assertThat(ask(sandbox, internet.publicAddress(), 80, "1000000")).isNotEmpty();
        Traffic used = used(sandbox);
        SandboxId id = sandbox.id();
        machine.provider().close();
        assertThat(inNamespace(guestOf(machine.data()), "python3", "-c", ASK, internet.publicAddress(), "80", "alone"))
                .isEqualTo("alone");
        Sandbox found = machine.reopen().find(id).orElseThrow();
        assertThat(address(found)).isEqualTo(address);
        assertThat(ask(found, internet.publicAddress(), 80, "found")).isEqualTo("found");
        assertThat(used(found).in()).isGreaterThan(used.in());
    }

    @Test
    void whatItWasToldBeforeItsServerWasKilledHoldsAfterwards() throws IOException {
        Sandbox sandbox = open("told");
        SandboxId id = sandbox.id();
        // As a server leaves it that is killed between noting the change and making it.
        LocalSandbox local = (LocalSandbox) sandbox;
        local.box().record(local.record().withNetwork(Network.NONE));
        machine.provider().close();
        Sandbox found = machine.reopen().find(id).orElseThrow();
        assertThat(interfaces(found)).containsExactly("lo");
    }

    @Test
    void connectsAgainAfterAStopAndKeepsCount() throws IOException {
        Sandbox sandbox = open("stopped");
        python(sandbox, FETCH, internet.publicAddress(), "300000");
        sandbox.stop();
        assertThat(links()).isEmpty();
        Traffic used = used(sandbox);
        assertThat(used.in()).isBetween(300_000L, 400_000L);
        sandbox.wake();
        assertThat(ask(sandbox, internet.publicAddress(), 80, "back")).isEqualTo("back");
        assertThat(used(sandbox).in()).isGreaterThan(used.in()).isLessThan(400_000L);
    }

    @Test
    void whatIsLeftOfOneThatDiedIsSweptUp() throws IOException {
        Sandbox sandbox = open("dead");
        LocalSandbox local = (LocalSandbox) sandbox;
        machine.provider().machine().cgroups().of(local.box().name()).kill(java.time.Duration.ofSeconds(10));
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!links().isEmpty() && System.nanoTime() < deadline) {
            Thread.onSpinWait();
        }
        machine.provider().sweep();
        assertThat(output("nft", "list", "tables")).doesNotContain("berth_" + LocalProvider.group(machine.data()));
        sandbox.wake();
        assertThat(ask(sandbox, internet.publicAddress(), 80, "alive")).isEqualTo("alive");
    }

    @Test
    void linksAndRulesWithoutABoxAreSweptUp() throws IOException {
        Sandbox sandbox = open("kept");
        // As if the directory of its box had been removed by hand.
        Path box = ((LocalSandbox) sandbox).box().directory();
        Path aside = machine.data().resolve("aside");
        Files.move(box, aside);
        machine.provider().machine().network().sweep();
        assertThat(links()).isEmpty();
        assertThat(output("nft", "list", "tables")).doesNotContain("berth_" + LocalProvider.group(machine.data()));
        Files.move(aside, box);
    }

    @Test
    void opensNoMoreConnectionsThanItMay() {
        Sandbox sandbox = open("few", new Caps(3, 0, 0));
        assertThat(python(sandbox, """
                        import socket, sys
                        kept = []
                        try:
                            while len(kept) < 9:
                                kept.append(socket.create_connection((sys.argv[1], 80), timeout=4))
                        except OSError as e:
                            print(len(kept), e.errno)
                        """, internet.publicAddress())).isEqualTo("3 111");
    }

    @Test
    void carriesNoMoreBytesThanItMay() {
        Sandbox sandbox = open("little", new Caps(0, 500_000, 0));
        assertThat(Integer.parseInt(python(sandbox, FETCH, internet.publicAddress(), "300000")))
                .isEqualTo(300_000);
        assertThat(Integer.parseInt(python(sandbox, FETCH, internet.publicAddress(), "300000")))
                .isLessThan(200_000);
        sandbox.stop();
        sandbox.wake();
        // What is left is less than one large packet.
        assertThat(Integer.parseInt(python(sandbox, FETCH, internet.publicAddress(), "300000")))
                .isLessThan(100_000);
        sandbox.network(Network.OPEN.withCaps(new Caps(0, 2_000_000, 0)));
        assertThat(ask(sandbox, internet.publicAddress(), 80, "more")).isEqualTo("more");
    }

    @Test
    void carriesThemNoFasterThanItMay() {
        Sandbox sandbox = open("slow", new Caps(0, 0, 1_000_000));
        long start = System.nanoTime();
        assertThat(python(sandbox, FETCH, internet.publicAddress(), "4000000")).isEqualTo("4000000");
        double seconds = (System.nanoTime() - start) / 1e9;
        // A second's worth goes at once.
        assertThat(seconds).isBetween(2.5, 30.0);
    }

    @Test
    void oneOfTheWarmPoolIsConnectedWhenItIsClaimed() throws IOException {
        machine.provider().close();
        machine.reopenWith(machine.config().withWarm(java.util.Map.of("host", 1)));
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (machine.provider().warm("host") == 0 && System.nanoTime() < deadline) {
            Thread.onSpinWait();
        }
        assertThat(ask(open("claimed"), internet.publicAddress(), 80, "warm")).isEqualTo("warm");
        assertThat(machine.provider().measures().get("warm.hits")).isEqualTo(1.0);
    }

    @Test
    void manyThatAreMadeAtOnceAreEachConnectedByTheirOwnAddress() throws Exception {
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<Sandbox>> made = IntStream.range(0, 8)
                    .mapToObj(number -> threads.submit(() -> open("many-" + number)))
                    .toList();
            Set<String> addresses = new HashSet<>();
            for (Future<Sandbox> one : made) {
                assertThat(ask(one.get(), internet.publicAddress(), 80, "here")).isEqualTo("here");
                addresses.add(python(one.get(), """
                        import socket
                        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                        s.connect(('192.0.2.1', 9))
                        print(s.getsockname()[0])
                        """));
            }
            assertThat(addresses).hasSize(made.size());
            List<Future<?>> ended = new ArrayList<>();
            for (Future<Sandbox> one : made) {
                Sandbox sandbox = one.get();
                ended.add(threads.submit(sandbox::destroy));
            }
            for (Future<?> one : ended) {
                one.get();
            }
        }
        assertThat(machine.provider().list()).isEmpty();
    }

    @Test
    void gvisorRefusesWhatItCannotHave() throws IOException {
        try (TestMachine gvisor = new TestMachine(RuntimeKind.RUNSC)) {
            assertThat(gvisor.provider().capabilities()).doesNotContain(Capability.OPEN_NETWORK);
            assertThatThrownBy(() -> gvisor.provider()
                            .create(SandboxSpec.of("refused", "host").withNetwork(Network.OPEN)))
                    .isInstanceOfSatisfying(
                            SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.UNSUPPORTED))
                    .hasMessageContaining("use mode restricted");
        }
    }

    private Sandbox open(String id) {
        return open(id, Caps.DEFAULT);
    }

    private Sandbox open(String id, Caps caps) {
        return machine.provider().create(SandboxSpec.of(id, "host").withNetwork(Network.OPEN.withCaps(caps)));
    }

    private static String ask(Sandbox sandbox, String host, int port, String line) {
        return python(sandbox, ASK, host, "" + port, line);
    }

    private static String python(Sandbox sandbox, String script, String... arguments) {
        Result result = sandbox.run(Command.of(Stream.concat(Stream.of("python3", "-c", script), Stream.of(arguments))
                .toList()));
        assertThat(result.stderr()).isEmpty();
        return result.stdout().strip();
    }

    private static String python(String script) throws IOException {
        return output("python3", "-c", script);
    }

    private static String address(Sandbox sandbox) {
        return python(
                sandbox,
                "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('11.0.0.1', 9));"
                        + " print(s.getsockname()[0])");
    }

    private static List<String> interfaces(Sandbox sandbox) {
        return python(sandbox, "import socket; print(' '.join(sorted(n for _, n in socket.if_nameindex())))")
                .lines()
                .flatMap(line -> Stream.of(line.split(" ")))
                .toList();
    }

    private Traffic used(Sandbox sandbox) throws IOException {
        return machine.provider()
                .machine()
                .network()
                .used(((LocalSandbox) sandbox).box().name());
    }

    /** The links of the machine under test. */
    private List<String> links() throws IOException {
        try (Stream<Path> boxes = Files.list(machine.data().resolve("boxes"))) {
            List<String> names = boxes.map(
                            box -> "berth-" + box.getFileName().toString().substring(0, 9))
                    .toList();
            return names.stream()
                    .filter(name -> Files.exists(Path.of("/sys/class/net", name)))
                    .toList();
        }
    }

    private String guest(Sandbox sandbox) throws IOException {
        return machine.provider()
                .machine()
                .cgroups()
                .of(((LocalSandbox) sandbox).box().name())
                .pids()
                .getFirst()
                .toString();
    }

    private static String guestOf(Path data) throws IOException {
        String box = TestMachine.boxesWithCgroup(data).getFirst();
        return dev.berth.sandbox.local.cgroup.Cgroups.detect(LocalProvider.group(data))
                .of(box)
                .pids()
                .getFirst()
                .toString();
    }

    private static String inNamespace(String pid, String... argv) throws IOException {
        return output(Stream.concat(Stream.of("nsenter", "--net=/proc/" + pid + "/ns/net", "--"), Stream.of(argv))
                .toArray(String[]::new));
    }

    private static String output(String... argv) throws IOException {
        Process process = new ProcessBuilder(argv).redirectErrorStream(true).start();
        process.getOutputStream().close();
        String text = new String(process.getInputStream().readAllBytes(), UTF_8).strip();
        assertThat(process.onExit().join().exitValue())
                .as("%s: %s", List.of(argv), text)
                .isZero();
        return text;
    }
}
