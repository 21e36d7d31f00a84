package dev.berth.sandbox;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.opentest4j.AssertionFailedError;

/** What the networks of a sandbox promise, as far as its provider has to keep it: where connections go and when they end. */
abstract class OutletContract extends ProviderContract {
    private static final Network RESTRICTED = Network.restricted(Network.Rule.to("example.com"));

    /** What takes the connections of each sandbox; the provider has one outlet for all. */
    private final Map<SandboxId, Outlet> outlets = new ConcurrentHashMap<>();

    /** Says what it was told to, and prints how that ended: each line of stdin is a step. */
    private static final String PROGRAM = """
            import socket, sys
            s = None
            for line in sys.stdin:
                what, _, rest = line.rstrip('\\n').partition(' ')
                try:
                    if what == 'connect':
                        s = socket.create_connection((rest or '127.0.0.1', 3128), 20)
                        said = 'connected'
                    elif what == 'send':
                        s.sendall(rest.encode()); said = 'sent'
                    elif what == 'end':
                        s.shutdown(socket.SHUT_WR); said = 'ended'
                    elif what == 'receive':
                        said = s.recv(int(rest)).decode()
                    elif what == 'rest':
                        said = b''.join(iter(lambda: s.recv(65536), b'')).decode()
                except ConnectionRefusedError:
                    said = 'refused'
                except OSError:
                    said = 'cut off'
                print(said, flush=True)
            """;

    /** A program inside that is told what to do step by step. */
    private static final class Program implements AutoCloseable {
        private final RunningCommand command;
        private final BufferedReader answers;

        Program(Sandbox sandbox) {
            command = sandbox.start(Command.of("python3", "-c", PROGRAM).withStdin());
            answers = new BufferedReader(new InputStreamReader(command.stdout(), UTF_8));
        }

        void ask(String step) throws IOException {
            command.stdin().write((step + "\n").getBytes(UTF_8));
        }

        String answer() throws IOException {
            return String.valueOf(answers.readLine());
        }

        String does(String step) throws IOException {
            ask(step);
            return answer();
        }

        @Override
        public void close() {
            command.signal(Signal.KILL);
            command.close();
        }
    }

    private Sandbox restricted(Outlet outlet) {
        return withOutlet(create(spec().withNetwork(RESTRICTED)), outlet);
    }

    private Sandbox withOutlet(Sandbox sandbox, Outlet outlet) {
        outlets.put(sandbox.id(), outlet);
        provider().outlet((source, connection) -> {
            Outlet own = outlets.get(source.id());
            if (own != null) {
                own.take(source, connection);
            }
        });
        return sandbox;
    }

    private static void echo(Sandbox sandbox, Connection connection) {
        try (OutputStream output = connection.output()) {
            connection.input().transferTo(output);
        } catch (IOException e) {
            assertThat(sandbox.id()).as("broke off: %s", e).isNotNull();
        }
    }

    /** Puts each connection into a queue, and keeps it until it is told to let go. */
    private record Held(BlockingQueue<Connection> connections, BlockingQueue<String> ends) implements Outlet {
        Held() {
            this(new LinkedBlockingQueue<>(), new LinkedBlockingQueue<>());
        }

        @Override
        public void take(Sandbox sandbox, Connection connection) {
            connections.add(connection);
            try {
                ends.add(new String(connection.input().readAllBytes(), UTF_8));
            } catch (IOException e) {
                ends.add("cut off");
            }
        }

        Connection next() throws InterruptedException {
            Connection connection = connections.poll(60, TimeUnit.SECONDS);
            if (connection == null) {
                throw new AssertionFailedError("no connection came");
            }
            return connection;
        }

        String end() throws InterruptedException {
            return String.valueOf(ends.poll(60, TimeUnit.SECONDS));
        }
    }

    @Test
    void connectionsToThePortInsideComeOutAtTheOutlet() throws Exception {
        needs(Capability.OUTLET);
        BlockingQueue<SandboxId> sources = new LinkedBlockingQueue<>();
        Sandbox sandbox = restricted((source, connection) -> {
            sources.add(source.id());
            echo(source, connection);
        });
        assertThat(sandbox.network()).isEqualTo(RESTRICTED);
        try (Program program = new Program(sandbox)) {
            for (String address : List.of("127.0.0.1", "localhost")) {
                assertThat(program.does("connect " + address)).isEqualTo("connected");
                assertThat(program.does("send hello")).isEqualTo("sent");
                assertThat(program.does("end")).isEqualTo("ended");
                assertThat(program.does("rest")).isEqualTo("hello");
            }
        }
        assertThat(run(sandbox, "exec 3<>/dev/tcp/127.0.0.1/3128; echo from bash >&3; head -n 1 <&3")
                        .stdout())
                .isEqualTo("from bash\n");
        assertThat(sources).hasSize(3).containsOnly(sandbox.id());
    }

    @Test
    void programsReachTheOutletByIpv6WhereThereIsAny() throws Exception {
        needs(Capability.OUTLET);
        Sandbox sandbox = restricted(OutletContract::echo);
        String has = sandbox.run(Command.of(
                        "python3",
                        "-c",
                        "import socket; s = socket.socket(socket.AF_INET6); s.bind(('::1', 0)); print('yes')"))
                .stdout();
        assumeFalse(has.isEmpty(), "sandboxes of this provider have no IPv6");
        try (Program program = new Program(sandbox)) {
            assertThat(program.does("connect ::1")).isEqualTo("connected");
            assertThat(program.does("send six")).isEqualTo("sent");
            assertThat(program.does("receive 3")).isEqualTo("six");
        }
    }

    @Test
    void eitherSideMayEndFirst() throws Exception {
        needs(Capability.OUTLET);
        Held held = new Held();
        Sandbox sandbox = restricted(held);
        try (Program program = new Program(sandbox)) {
            assertThat(program.does("connect")).isEqualTo("connected");
            Connection connection = held.next();
            connection.output().write("from outside".getBytes(UTF_8));
            connection.output().close();
            assertThat(program.does("rest")).isEqualTo("from outside");
            assertThat(program.does("send from inside")).isEqualTo("sent");
            assertThat(program.does("end")).isEqualTo("ended");
            assertThat(held.end()).isEqualTo("from inside");
        }
    }

    @Test
    void aConnectionIsClosedWhenTheOutletReturnsOrFails() throws Exception {
        needs(Capability.OUTLET);
        Sandbox sandbox = restricted((_, _) -> {});
        try (Program program = new Program(sandbox)) {
            assertThat(program.does("connect")).isEqualTo("connected");
            assertThat(program.does("rest")).isIn("", "cut off");
            withOutlet(sandbox, (_, _) -> {
                throw new IllegalStateException("as the test wants it");
            });
            assertThat(program.does("connect")).isEqualTo("connected");
            assertThat(program.does("rest")).isIn("", "cut off");
            withOutlet(sandbox, OutletContract::echo);
            assertThat(program.does("connect")).isEqualTo("connected");
            assertThat(program.does("send a")).isEqualTo("sent");
            assertThat(program.does("receive 1")).isEqualTo("a");
        }
    }

    @Test
    void withoutANetworkNothingListensInside() throws Exception {
        Sandbox sandbox = create();
        assertThat(sandbox.network()).isEqualTo(Network.NONE);
        try (Program program = new Program(sandbox)) {
            assertThat(program.does("connect")).isEqualTo("refused");
        }
    }

    @Test
    void aRestrictedNetworkAddsNoInterface() {
        needs(Capability.OUTLET);
        Sandbox sandbox = restricted(OutletContract::echo);
        assertThat(sandbox.run(Command.of(
                                "python3", "-c", "import socket; print([name for _, name in socket.if_nameindex()])"))
                        .stdout())
                .isEqualTo("['lo']\n");
        assertThat(run(
                                sandbox,
                                "timeout 5 bash -c 'echo > /dev/tcp/192.0.2.1/80' 2>/dev/null && echo open || echo closed")
                        .stdout())
                .isEqualTo("closed\n");
    }

    @Test
    void whatCannotBeEnforcedIsRefused() {
        assumeFalse(provider().capabilities().contains(Capability.OPEN_NETWORK), "this provider has open networks");
        assertFails(ErrorCode.UNSUPPORTED, () -> create(spec().withNetwork(Network.OPEN)));
        Sandbox sandbox = create();
        assertFails(ErrorCode.UNSUPPORTED, () -> sandbox.network(Network.OPEN));
        assertThat(sandbox.network()).isEqualTo(Network.NONE);
    }

    @Test
    void aNetworkComesAndGoesWhileItRuns() throws Exception {
        needs(Capability.OUTLET);
        Held held = new Held();
        Sandbox sandbox = withOutlet(create(), held);
        try (Program program = new Program(sandbox)) {
            for (int round = 0; round < 2; round++) {
                assertThat(program.does("connect")).isEqualTo("refused");
                sandbox.network(RESTRICTED);
                assertThat(sandbox.network()).isEqualTo(RESTRICTED);
                assertThat(program.does("connect")).isEqualTo("connected");
                Connection connection = held.next();
                program.ask("rest");
                sandbox.network(Network.NONE);
                assertThat(sandbox.network()).isEqualTo(Network.NONE);
                assertThat(program.answer()).isIn("", "cut off");
                assertThat(held.end()).isEqualTo("cut off");
                connection.close();
            }
            assertThat(program.does("connect")).isEqualTo("refused");
        }
    }

    @Test
    void moreRulesLeaveConnectionsAloneAndFewerCutThem() throws Exception {
        needs(Capability.OUTLET);
        Held held = new Held();
        Sandbox sandbox = restricted(held);
        try (Program program = new Program(sandbox)) {
            assertThat(program.does("connect")).isEqualTo("connected");
            Connection connection = held.next();
            sandbox.network(Network.restricted(Network.Rule.to("example.com"), Network.Rule.to("example.org")));
            connection.output().write("still there".getBytes(UTF_8));
            assertThat(program.does("receive 11")).isEqualTo("still there");
            program.ask("rest");
            sandbox.network(Network.restricted(Network.Rule.to("example.org")));
            assertThat(program.answer()).isIn("", "cut off");
            assertThat(held.end()).isEqualTo("cut off");
            assertThat(program.does("connect")).isEqualTo("connected");
        }
    }

    @Test
    void aPortThatAProgramHasIsAConflict() throws Exception {
        needs(Capability.OUTLET);
        Sandbox sandbox = withOutlet(create(), OutletContract::echo);
        try (RunningCommand squatter = sandbox.start(Command.of(
                "python3",
                "-c",
                "import socket; s = socket.create_server(('127.0.0.1', 3128)); print('up', flush=True); s.accept()"))) {
            assertThat(squatter.stdout().read()).isEqualTo('u');
            assertFails(ErrorCode.CONFLICT, () -> sandbox.network(RESTRICTED));
            assertThat(sandbox.network()).isEqualTo(Network.NONE);
            squatter.signal(Signal.KILL);
            squatter.await();
        }
        sandbox.network(RESTRICTED);
        try (Program program = new Program(sandbox)) {
            assertThat(program.does("connect")).isEqualTo("connected");
        }
    }

    @Test
    void aNetworkAndItsConnectionsLiveThroughAPause() throws Exception {
        needs(Capability.OUTLET);
        needs(Capability.PAUSE);
        Held held = new Held();
        Sandbox sandbox = restricted(held);
        try (Program program = new Program(sandbox)) {
            assertThat(program.does("connect")).isEqualTo("connected");
            Connection connection = held.next();
            sandbox.pause();
            connection.output().write("while paused".getBytes(UTF_8));
            sandbox.wake();
            assertThat(program.does("receive 12")).isEqualTo("while paused");
            assertThat(program.does("connect")).isEqualTo("connected");
            held.next();
        }
    }

    @Test
    void aNetworkIsChangedWhilePaused() throws Exception {
        needs(Capability.OUTLET);
        needs(Capability.PAUSE);
        Held held = new Held();
        Sandbox sandbox = restricted(held);
        try (Program program = new Program(sandbox)) {
            assertThat(program.does("connect")).isEqualTo("connected");
            Connection connection = held.next();
            sandbox.pause();
            // Fills everything between here and the program, so that whoever writes to the guest has to wait.
            Thread flood = Thread.startVirtualThread(() -> flood(connection));
            sandbox.network(Network.NONE);
            assertThat(held.end()).isEqualTo("cut off");
            sandbox.wake();
            flood.join();
            assertThat(program.does("connect")).isEqualTo("refused");
            sandbox.pause();
            sandbox.network(RESTRICTED);
            sandbox.network(Network.NONE);
            sandbox.network(RESTRICTED);
            sandbox.wake();
            assertThat(program.does("connect")).isEqualTo("connected");
        }
    }

    private static void flood(Connection connection) {
        try {
            while (true) {
                connection.output().write(new byte[65_536]);
            }
        } catch (IOException e) {
            assertThat(e).isNotNull();
        }
    }

    @Test
    void aNetworkIsThereAgainAfterAStop() throws Exception {
        needs(Capability.OUTLET);
        Held held = new Held();
        Sandbox sandbox = restricted(held);
        try (Program program = new Program(sandbox)) {
            assertThat(program.does("connect")).isEqualTo("connected");
            held.next();
            sandbox.stop();
            assertThat(held.end()).isEqualTo("cut off");
        }
        sandbox.wake();
        try (Program program = new Program(sandbox)) {
            assertThat(program.does("connect")).isEqualTo("connected");
        }
        sandbox.stop();
        sandbox.network(Network.NONE);
        sandbox.wake();
        try (Program program = new Program(sandbox)) {
            assertThat(program.does("connect")).isEqualTo("refused");
        }
    }

    @Test
    void aNetworkLivesThroughARollbackAndGoesToForks() throws Exception {
        needs(Capability.OUTLET);
        needs(Capability.CHECKPOINT);
        Sandbox sandbox = restricted(OutletContract::echo);
        Checkpoint point = sandbox.checkpoint("before");
        sandbox.rollback(point.id());
        Sandbox fork = provider()
                .fork(sandbox, List.of(new SandboxId(sandbox.id().value() + "-fork")))
                .getFirst();
        try {
            for (Sandbox each : List.of(sandbox, withOutlet(fork, OutletContract::echo))) {
                assertThat(each.network()).isEqualTo(RESTRICTED);
                try (Program program = new Program(each)) {
                    assertThat(program.does("connect")).isEqualTo("connected");
                    assertThat(program.does("send a")).isEqualTo("sent");
                    assertThat(program.does("receive 1")).isEqualTo("a");
                }
            }
        } finally {
            fork.destroy();
            provider().deleteCheckpoint(point.id());
        }
    }

    @Test
    void carriesManyConnectionsAtOnce() {
        needs(Capability.OUTLET);
        Sandbox sandbox = restricted(OutletContract::echo);
        // More than are carried at a time: who is too many waits.
        String all = IntStream.range(0, 600).mapToObj(String::valueOf).collect(Collectors.joining(" "));
        String script = """
                import socket
                open_ones = [socket.create_connection(('127.0.0.1', 3128), 60) for _ in range(600)]
                for i, s in enumerate(open_ones): s.sendall(str(i).encode()); s.shutdown(socket.SHUT_WR)
                print(' '.join(b''.join(iter(lambda: s.recv(100), b'')).decode() for s in open_ones), end='')
                """;
        assertThat(sandbox.run(Command.of("python3", "-c", script)).stdout()).isEqualTo(all);
    }

    @Test
    void carriesEveryByteBothWays() throws Exception {
        needs(Capability.OUTLET);
        Sandbox sandbox = restricted(OutletContract::echo);
        String script = """
                import hashlib, socket, threading
                s = socket.create_connection(('127.0.0.1', 3128), 60)
                block = bytes(i * 31 & 255 for i in range(99991))
                sent, got, size = hashlib.sha256(), hashlib.sha256(), 0
                def send():
                    for _ in range(400): sent.update(block); s.sendall(block)
                    s.shutdown(socket.SHUT_WR)
                t = threading.Thread(target=send); t.start()
                for piece in iter(lambda: s.recv(65536), b''): got.update(piece); size += len(piece)
                t.join()
                print(size, sent.hexdigest() == got.hexdigest())
                """;
        assertThat(sandbox.run(Command.of("python3", "-c", script)).stdout()).isEqualTo(400 * 99_991 + " True\n");
    }

    @Test
    void aConnectionThatNobodyReadsStallsNoOther() throws Exception {
        needs(Capability.OUTLET);
        Held held = new Held();
        BlockingQueue<Connection> unread = new LinkedBlockingQueue<>();
        BlockingQueue<String> over = new LinkedBlockingQueue<>();
        Sandbox sandbox = restricted((_, connection) -> {
            unread.add(connection);
            over.add(until(over));
        });
        try (RunningCommand writer = sandbox.start(
                        Command.of(
                                "python3",
                                "-c",
                                "import socket; s = socket.create_connection(('127.0.0.1', 3128)); s.sendall(bytes(64 << 20))"));
                Program program = new Program(sandbox)) {
            Connection first = unread.poll(60, TimeUnit.SECONDS);
            assertThat(first).isNotNull();
            withOutlet(sandbox, held);
            assertThat(program.does("connect")).isEqualTo("connected");
            Connection second = held.next();
            second.output().write("quick".getBytes(UTF_8));
            assertThat(program.does("receive 5")).isEqualTo("quick");
            byte[] much = new byte[1 << 20];
            Arrays.fill(much, (byte) 'y');
            second.output().write(much);
            second.output().close();
            assertThat(program.does("rest")).hasSize(much.length);
            assertThat(writer.await(java.time.Duration.ofMillis(100))).isEmpty();
            writer.signal(Signal.KILL);
        } finally {
            over.add("now");
        }
    }

    /** Waits until something is said. */
    private static String until(BlockingQueue<String> said) {
        try {
            return String.valueOf(said.poll(60, TimeUnit.SECONDS));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return "interrupted";
        }
    }
}
