package dev.berth.sandbox.local.guest;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import dev.berth.sandbox.CommandInfo;
import dev.berth.sandbox.Connection;
import dev.berth.sandbox.Exit;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;

/** A hostile guest at the control socket: the connection is closed, and the link goes on with the next good one. */
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class GuestLinkTest {
    private static final String TOKEN = "the-right-token";
    /** The first id that a guest gives to a connection it accepts. */
    private static final int ACCEPTED = 0x80000000;

    private static final int PORT = 3128;

    /** What to do with the connections that the guest accepts. */
    private final BlockingQueue<Consumer<Connection>> takers = new LinkedBlockingQueue<>();

    private final CountDownLatch over = new CountDownLatch(1);

    private Path directory;
    private Path socket;
    private GuestLink link;

    @BeforeEach
    void listen() throws IOException {
        directory = Files.createTempDirectory("berth-link");
        socket = directory.resolve("guest.sock");
        link = GuestLink.listen("test", socket, TOKEN, 0, this::take);
    }

    /** Neither reads nor returns before the test is over. */
    private void hold(Connection connection) {
        try {
            over.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void take(Connection connection) {
        Consumer<Connection> taker = takers.poll();
        if (taker != null) {
            taker.accept(connection);
        }
    }

    @AfterEach
    void close() throws IOException {
        over.countDown();
        link.close();
        Files.deleteIfExists(socket);
        Files.delete(directory);
    }

    /** Starts a command by a guest that answers as it should. */
    private RunningCommand start(FakeGuest guest) throws Exception {
        FutureTask<RunningCommand> starting = async(() -> link.start(command(), Set::of));
        guest.started(guest.await(Wire.START).id);
        return starting.get(60, TimeUnit.SECONDS);
    }

    private static <T> FutureTask<T> async(Callable<T> task) {
        FutureTask<T> future = new FutureTask<>(task);
        Thread.ofVirtual().start(future);
        return future;
    }

    private static Start command() {
        return new Start(
                List.of("true"),
                List.of(),
                "/",
                0,
                0,
                List.of(),
                Optional.empty(),
                true,
                true,
                true,
                65_536,
                Duration.ZERO,
                "");
    }

    private static Wire.Out frame(int type, int id) {
        return new Wire.Out(type, id, 64);
    }

    private static ByteBuffer raw(int length, int... bytes) {
        ByteBuffer buffer = ByteBuffer.allocate(4 + bytes.length).putInt(length);
        for (int b : bytes) {
            buffer.put((byte) b);
        }
        return buffer.flip();
    }

    @Test
    void aGuestIsWelcomedBeforeItIsAskedForAnything() throws Exception {
        AtomicBoolean done = new AtomicBoolean();
        Thread impatient = Thread.ofPlatform().start(() -> {
            while (!done.get()) {
                link.sendQuietly(frame(Wire.PING, 0));
            }
        });
        try {
            for (int round = 0; round < 300; round++) {
                FakeGuest.welcome(socket, TOKEN).close();
            }
        } finally {
            done.set(true);
            impatient.join();
        }
    }

    private void assertServesTheNext() throws Exception {
        try (FakeGuest guest = FakeGuest.welcome(socket, TOKEN);
                RunningCommand command = start(guest)) {
            guest.output(command.id(), 0, "good");
            guest.exited(command.id(), 0, 4);
            assertThat(new String(command.stdout().readAllBytes(), UTF_8)).isEqualTo("good");
        }
        while (link.connected()) {
            // The link notices in its own time that this one has left.
            TimeUnit.MILLISECONDS.sleep(1);
        }
    }

    // ---- before the handshake ------------------------------------------------------------------------------------

    /** What a stranger may say instead of a good HELLO. */
    private static Map<String, ByteBuffer> strangers() {
        Map<String, ByteBuffer> said = new LinkedHashMap<>();
        said.put("a wrong token", FakeGuest.hello(1, "the-wrong-token", 1).done());
        said.put("an empty token", FakeGuest.hello(1, "", 1).done());
        said.put("a part of the token", FakeGuest.hello(1, "the-right", 1).done());
        said.put("more than the token", FakeGuest.hello(1, TOKEN + "x", 1).done());
        said.put("a very long token", FakeGuest.hello(1, "x".repeat(200_000), 1).done());
        said.put("a later version", FakeGuest.hello(3, TOKEN, 1).done());
        said.put("a version before the first", FakeGuest.hello(0, TOKEN, 1).done());
        said.put("something else than HELLO", frame(Wire.STARTED, 1).u32(1).done());
        said.put("a type that does not exist", frame(255, 0).done());
        said.put("a type of the server's own", frame(Wire.WELCOME, 0).u16(1).done());
        said.put("a HELLO that is too short", frame(Wire.HELLO, 0).u8(0).done());
        said.put(
                "a token longer than its frame",
                frame(Wire.HELLO, 0).u16(1).u32(1000).done());
        said.put(
                "a token of negative length",
                frame(Wire.HELLO, 0).u16(1).u32(-1).done());
        said.put("a frame of no bytes", raw(0));
        said.put("a frame shorter than its header", raw(4, 65, 0, 0, 0));
        said.put("a frame of negative length", raw(-1, 65));
        said.put("a frame of the smallest integer's length", raw(Integer.MIN_VALUE, 65));
        said.put("a frame of two gigabytes", raw(Integer.MAX_VALUE, 65));
        said.put("a frame one byte too long", raw(Wire.MAX_FROM_GUEST + 1, 65));
        said.put("HTTP", ByteBuffer.wrap("GET / HTTP/1.1\r\n\r\n".getBytes(UTF_8)));
        return said;
    }

    @TestFactory
    Stream<DynamicTest> turnsAwayWhoeverSays() {
        return strangers().entrySet().stream()
                .map(said -> dynamicTest(said.getKey(), () -> {
                    try (FakeGuest stranger = FakeGuest.connect(socket)) {
                        stranger.sendRaw(said.getValue());
                        stranger.assertClosed();
                    }
                    assertThat(link.connected()).isFalse();
                    assertServesTheNext();
                }));
    }

    @Test
    void aStrangerDoesNotDisturbTheGuest() throws Exception {
        try (FakeGuest guest = FakeGuest.welcome(socket, TOKEN);
                RunningCommand command = start(guest)) {
            for (ByteBuffer said : strangers().values()) {
                try (FakeGuest stranger = FakeGuest.connect(socket)) {
                    stranger.sendRaw(said);
                    stranger.assertClosed();
                }
            }
            guest.output(command.id(), 0, "mine");
            guest.exited(command.id(), 3, 4);
            assertThat(new String(command.stdout().readAllBytes(), UTF_8)).isEqualTo("mine");
            assertThat(command.await().code()).isEqualTo(3);
        }
    }

    @Test
    void holdsOnlyAFewStrangersAndTurnsTheRestAway() throws Exception {
        try (FakeGuest guest = FakeGuest.welcome(socket, TOKEN)) {
            List<FakeGuest> crowd = new ArrayList<>();
            for (int i = 0; i < 200; i++) {
                crowd.add(FakeGuest.connect(socket));
            }
            int held = 4;
            for (FakeGuest stranger : crowd.subList(held, crowd.size())) {
                stranger.assertClosed();
            }
            try (RunningCommand command = start(guest)) {
                assertThat(command.pid()).isEqualTo(42);
            }
            for (FakeGuest stranger : crowd) {
                stranger.close();
            }
        }
        assertServesTheNext();
    }

    // ---- a guest that has the token
    // ----------------------------------------------------------------------------------

    /** Says something that breaks the protocol, given the id of a command that was started. */
    private interface Breach {
        void commit(FakeGuest guest, int id) throws IOException;
    }

    private static Map<String, Breach> breaches() {
        Map<String, Breach> breaches = new LinkedHashMap<>();
        breaches.put("an unknown type", (guest, _) -> guest.send(frame(200, 0)));
        breaches.put("a second HELLO", (guest, _) -> guest.send(FakeGuest.hello(1, TOKEN, 1)));
        breaches.put("a frame of no bytes", (guest, _) -> guest.sendRaw(raw(0)));
        breaches.put("a frame of negative length", (guest, _) -> guest.sendRaw(raw(-5, 68)));
        breaches.put("a frame of two gigabytes", (guest, _) -> guest.sendRaw(raw(Integer.MAX_VALUE, 68)));
        breaches.put("output before what was sent", (guest, id) -> {
            guest.output(id, 0, "abc");
            guest.output(id, 1, "x");
        });
        breaches.put("output outside of the window", (guest, id) -> {
            String much = "x".repeat(200_000);
            guest.output(id, 0, much);
            guest.output(id, much.length(), much);
        });
        breaches.put(
                "output of a third stream",
                (guest, id) -> guest.send(frame(Wire.OUTPUT, id).u8(3).u64(0)));
        breaches.put("output at a negative offset", (guest, id) -> guest.output(id, -1, "x"));
        breaches.put(
                "output without an offset",
                (guest, id) -> guest.send(frame(Wire.OUTPUT, id).u8(1)));
        breaches.put(
                "the end of a third stream",
                (guest, id) -> guest.send(frame(Wire.OUTPUT_END, id).u8(9).u64(0)));
        breaches.put(
                "more stdin taken than was sent",
                (guest, id) -> guest.send(frame(Wire.STDIN_TAKEN, id).u64(1)));
        breaches.put(
                "stdin taken at a negative offset",
                (guest, id) -> guest.send(frame(Wire.STDIN_TAKEN, id).u64(-1)));
        breaches.put(
                "an exit without a status",
                (guest, id) -> guest.send(frame(Wire.EXITED, id).u8(0)));
        breaches.put("a start without a pid", (guest, id) -> guest.send(frame(Wire.STARTED, id)));
        breaches.put("a refusal without a reason", (guest, id) -> guest.send(frame(Wire.REFUSED, id)));
        breaches.put(
                "a list of two thousand million processes in a short frame",
                (guest, _) -> guest.send(frame(Wire.PROCESSES, 0).u32(Integer.MAX_VALUE)));
        breaches.put(
                "a list with a tag longer than its frame",
                (guest, _) -> guest.send(listed(1).u32(1_000_000)));
        breaches.put("an accepted connection with an id of ours", (guest, _) -> guest.accepted(77));
        breaches.put("an accepted connection with no id", (guest, _) -> guest.accepted(-1));
        breaches.put("two accepted connections of one id", (guest, _) -> {
            guest.accepted(ACCEPTED);
            guest.accepted(ACCEPTED);
        });
        breaches.put("an accepted connection's data beyond its credit", (guest, _) -> {
            guest.accepted(ACCEPTED);
            guest.data(ACCEPTED, "x".repeat(200_000));
            guest.data(ACCEPTED, "x".repeat(200_000));
        });
        breaches.put("more taken of an accepted connection than was sent", (guest, _) -> {
            guest.accepted(ACCEPTED);
            guest.send(frame(Wire.DATA_TAKEN, ACCEPTED).u64(1_000_000));
        });
        breaches.put(
                "a port that is half a number",
                (guest, _) -> guest.send(frame(Wire.LISTENING, 0).u8(12)));
        breaches.put(
                "a port without an error number",
                (guest, _) -> guest.send(frame(Wire.LISTENING, 0).u16(3128)));
        breaches.put(
                "a list with a tag of negative length",
                (guest, _) -> guest.send(listed(1).u32(-1)));
        return breaches;
    }

    private static Wire.Out listed(int count) {
        Wire.Out list =
                frame(Wire.PROCESSES, 0).u32(count).u32(1).u32(1).u8(0).u8(0).u8(0);
        for (int i = 0; i < 6; i++) {
            list.u64(0);
        }
        return list;
    }

    @TestFactory
    Stream<DynamicTest> closesTheConnectionAfter() {
        return breaches().entrySet().stream()
                .map(breach -> dynamicTest(breach.getKey(), () -> {
                    try (FakeGuest guest = FakeGuest.welcome(socket, TOKEN);
                            RunningCommand command = start(guest)) {
                        takers.add(this::hold);
                        breach.getValue().commit(guest, command.id());
                        guest.assertClosed();
                    }
                    assertServesTheNext();
                }));
    }

    @Test
    void closesTheConnectionAfterAFrameThatBreaksOff() throws Exception {
        try (FakeGuest guest = FakeGuest.welcome(socket, TOKEN)) {
            guest.sendRaw(raw(1000, 68, 0, 0));
        }
        assertServesTheNext();
    }

    /** Says something that is odd but has to be borne, since it may have crossed on the way. */
    @Test
    void bearsWhatIsForNobody() throws Exception {
        try (FakeGuest guest = FakeGuest.welcome(socket, TOKEN);
                RunningCommand command = start(guest)) {
            int other = command.id() + 1000;
            guest.output(other, 0, "x".repeat(100_000));
            guest.output(other, 0, "x".repeat(100_000));
            guest.output(-1, 0, "x");
            guest.started(other);
            guest.exited(other, 0, 0);
            guest.send(frame(Wire.STDIN_TAKEN, other).u64(99));
            guest.send(frame(Wire.REFUSED, other).u8(4).u32(2));
            guest.send(frame(Wire.REFUSED, other).u8(250).u32(-7));
            guest.send(frame(Wire.DIALED, other));
            guest.send(frame(Wire.DATA, other).u64(1));
            guest.send(frame(Wire.DATA, command.id()).u64(1));
            guest.send(frame(Wire.DATA_END, command.id()));
            guest.send(frame(Wire.CLOSED, command.id()).u32(5));
            guest.send(frame(Wire.PONG, 0));
            guest.send(listed(1).string("").string("unasked for"));
            guest.started(command.id());
            guest.started(command.id());
            guest.output(command.id(), 0, "fine");
            guest.exited(command.id(), 0, 4);
            guest.exited(command.id(), 9, 1);
            assertThat(new String(command.stdout().readAllBytes(), UTF_8)).isEqualTo("fine");
            assertThat(command.await().code()).isZero();
            assertThat(command.pid()).isEqualTo(42);
        }
    }

    @Test
    void bearsAnExitThatComesBeforeTheStart() throws Exception {
        try (FakeGuest guest = FakeGuest.welcome(socket, TOKEN)) {
            FutureTask<RunningCommand> starting = async(() -> link.start(command(), Set::of));
            int id = guest.await(Wire.START).id;
            guest.exited(id, 5, 0);
            guest.started(id);
            try (RunningCommand command = starting.get(60, TimeUnit.SECONDS)) {
                assertThat(command.await().code()).isEqualTo(5);
            }
        }
    }

    @Test
    void takesFramesInPieces() throws Exception {
        try (FakeGuest guest = FakeGuest.connect(socket)) {
            ByteBuffer hello = FakeGuest.hello(1, TOKEN, 1).done();
            while (hello.hasRemaining()) {
                guest.sendRaw(ByteBuffer.wrap(new byte[] {hello.get()}));
            }
            assertThat(guest.receive().type).isEqualTo(Wire.WELCOME);
            try (RunningCommand command = start(guest)) {
                ByteBuffer output = frame(Wire.OUTPUT, command.id())
                        .u8(1)
                        .u64(0)
                        .bytes("piece".getBytes(UTF_8), 0, 5)
                        .done();
                while (output.hasRemaining()) {
                    guest.sendRaw(ByteBuffer.wrap(new byte[] {output.get()}));
                }
                guest.exited(command.id(), 0, 5);
                assertThat(new String(command.stdout().readAllBytes(), UTF_8)).isEqualTo("piece");
            }
        }
    }

    @Test
    void keepsNoMoreThanAWindowOfOutputThatNobodyReads() throws Exception {
        try (FakeGuest guest = FakeGuest.welcome(socket, TOKEN);
                RunningCommand command = start(guest)) {
            String chunk = "x".repeat(64 * 1024);
            for (int i = 0; i < 4; i++) {
                guest.output(command.id(), (long) i * chunk.length(), chunk);
            }
            // A gap counts as consumed, so that a guest may jump as it likes; what is kept must not grow by it.
            assertThatThrownBy(() -> {
                        for (int i = 0; i < 10_000; i++) {
                            guest.output(command.id(), (long) (2 * i + 5) * chunk.length(), chunk);
                        }
                    })
                    .isInstanceOf(IOException.class);
            assertThat(command.stdout().available()).isLessThanOrEqualTo(Inflow.WINDOW);
        }
        assertServesTheNext();
    }

    @Test
    void givesUpAGuestThatNeverReads() throws Exception {
        try (FakeGuest guest = FakeGuest.welcome(socket, TOKEN)) {
            FutureTask<Object> writing = async(() -> {
                while (true) {
                    link.send(frame(Wire.STDIN, 1).bytes(new byte[60_000], 0, 60_000));
                }
            });
            while (!writing.isDone()) {
                TimeUnit.MILLISECONDS.sleep(20);
                link.lookAfter(Duration.ofSeconds(60), Duration.ofMillis(200));
            }
            assertThatThrownBy(writing::get).hasCauseInstanceOf(IOException.class);
            guest.assertClosed();
        }
        assertServesTheNext();
    }

    @Test
    void nobodyWaitsForeverForAGuestThatHangs() throws Exception {
        try (FakeGuest guest = FakeGuest.welcome(socket, TOKEN)) {
            RunningCommand command = start(guest);
            FutureTask<Exit> waiting = async(() -> command.await());
            while (!waiting.isDone()) {
                TimeUnit.MILLISECONDS.sleep(5);
                link.lookAfter(Duration.ofMillis(10), Duration.ofMillis(100));
            }
            assertThatThrownBy(waiting::get).hasRootCauseInstanceOf(SandboxException.class);
            guest.assertClosed();
        }
        assertServesTheNext();
    }

    @Test
    void takesANewConnectionWhileAWriteToTheOldOneIsStuck() throws Exception {
        try (FakeGuest silent = FakeGuest.welcome(socket, TOKEN)) {
            FutureTask<Object> writing = async(() -> {
                while (true) {
                    link.send(frame(Wire.STDIN, 1).bytes(new byte[60_000], 0, 60_000));
                }
            });
            TimeUnit.MILLISECONDS.sleep(100);
            try (FakeGuest fresh = FakeGuest.connect(socket)) {
                fresh.send(FakeGuest.hello(1, TOKEN, 1));
                fresh.await(Wire.WELCOME);
                silent.assertClosed();
            }
            assertThatThrownBy(writing::get).hasCauseInstanceOf(IOException.class);
        }
    }

    @Test
    void resumesCommandsOnTheConnectionThatTakesOver() throws Exception {
        try (FakeGuest first = FakeGuest.welcome(socket, TOKEN);
                RunningCommand command = start(first)) {
            first.output(command.id(), 0, "one ");
            assertThat(command.stdout().readNBytes(4)).isEqualTo("one ".getBytes(UTF_8));
            try (FakeGuest second = FakeGuest.welcome(socket, TOKEN)) {
                first.assertClosed();
                Wire.In subscribe = second.await(Wire.SUBSCRIBE);
                assertThat(subscribe.id).isEqualTo(command.id());
                assertThat(subscribe.u64()).isEqualTo(4);
                second.output(command.id(), 4, "two");
                second.exited(command.id(), 0, 7);
                assertThat(new String(command.stdout().readAllBytes(), UTF_8)).isEqualTo("two");
            }
        }
    }

    @Test
    void neverTakesAnIdTwiceWhateverTheGuestSaysIsFree() throws Exception {
        try (FakeGuest guest = FakeGuest.connect(socket)) {
            guest.send(FakeGuest.hello(1, TOKEN, 500));
            guest.await(Wire.WELCOME);
            assertThat(start(guest).id()).isEqualTo(500);
        }
        try (FakeGuest guest = FakeGuest.connect(socket)) {
            guest.send(FakeGuest.hello(1, TOKEN, 1));
            guest.await(Wire.WELCOME);
            assertThat(start(guest).id()).isEqualTo(501);
        }
    }

    @Test
    void closesTheConnectionAfterCommandFramesOnADialledConnection() throws Exception {
        try (FakeGuest guest = FakeGuest.welcome(socket, TOKEN)) {
            FutureTask<Connection> dialling = async(() -> link.dial(80));
            int id = guest.await(Wire.DIAL).id;
            guest.send(frame(Wire.DIALED, id));
            try (Connection connection = dialling.get(60, TimeUnit.SECONDS)) {
                // For a command of that id, which there is none of: ignored.
                guest.output(id, 0, "x");
                byte[] window = new byte[200_000];
                guest.send(frame(Wire.DATA, id).bytes(window, 0, window.length));
                guest.send(frame(Wire.DATA, id).bytes(window, 0, window.length));
                guest.assertClosed();
                assertThat(connection.input().available()).isLessThanOrEqualTo(Inflow.WINDOW);
            }
        }
        assertServesTheNext();
    }

    @Test
    void failsADialledConnectionWhoseGuestTakesMoreThanItWasGiven() throws Exception {
        try (FakeGuest guest = FakeGuest.welcome(socket, TOKEN)) {
            FutureTask<Connection> dialling = async(() -> link.dial(80));
            int id = guest.await(Wire.DIAL).id;
            guest.send(frame(Wire.DIALED, id));
            try (Connection connection = dialling.get(60, TimeUnit.SECONDS)) {
                OutputStream output = connection.output();
                output.write(1);
                guest.send(frame(Wire.DATA_TAKEN, id).u64(2));
                guest.assertClosed();
            }
        }
        assertServesTheNext();
    }

    @Test
    void readsAFullTableOfProcesses() throws Exception {
        try (FakeGuest guest = FakeGuest.welcome(socket, TOKEN)) {
            FutureTask<List<CommandInfo>> listing = async(() -> link.commands());
            guest.await(Wire.LIST);
            guest.send(listed(1).string("tag").string("sleep 1"));
            assertThat(listing.get(60, TimeUnit.SECONDS))
                    .extracting(CommandInfo::tag)
                    .containsExactly("tag");
        }
    }

    @Test
    void aThreadThatIsInterruptedDoesNotTakeTheLinkFromTheOthers() throws Exception {
        try (FakeGuest guest = FakeGuest.welcome(socket, TOKEN);
                RunningCommand command = start(guest)) {
            Thread interrupted = Thread.ofPlatform().start(() -> {
                Thread.currentThread().interrupt();
                link.sendQuietly(frame(Wire.PING, 0));
            });
            interrupted.join();
            assertThat(guest.await(Wire.PING)).isNotNull();
            guest.output(command.id(), 0, "good");
            guest.exited(command.id(), 0, 4);
            assertThat(new String(command.stdout().readAllBytes(), UTF_8)).isEqualTo("good");
        }
    }

    @Test
    void failsWhatIsOpenWhenTheLinkCloses() throws Exception {
        try (FakeGuest guest = FakeGuest.welcome(socket, TOKEN)) {
            RunningCommand command = start(guest);
            FutureTask<Exit> waiting = async(command::await);
            link.close();
            assertThatThrownBy(waiting::get).hasRootCauseInstanceOf(SandboxException.class);
            guest.assertClosed();
        }
    }

    // ---- connections that the guest accepts ---------------------------------------------------------------------

    @Test
    void aGuestIsToldThePortWheneverItConnects() throws Exception {
        link.port(PORT, false);
        for (int round = 0; round < 2; round++) {
            try (FakeGuest guest = FakeGuest.welcome(socket, TOKEN, 2)) {
                assertThat(guest.await(Wire.LISTEN).u16()).isEqualTo(PORT);
            }
        }
        try (FakeGuest guest = FakeGuest.welcome(socket, TOKEN, 2)) {
            assertThat(guest.await(Wire.LISTEN).u16()).isEqualTo(PORT);
            FutureTask<Boolean> changing = async(() -> {
                link.port(0, false);
                return true;
            });
            assertThat(guest.await(Wire.LISTEN).u16()).isZero();
            assertThat(changing.isDone()).isFalse();
            guest.listening(0, 0);
            assertThat(changing.get(60, TimeUnit.SECONDS)).isTrue();
        }
        try (FakeGuest guest = FakeGuest.welcome(socket, TOKEN, 2)) {
            assertThat(guest.await(Wire.LISTEN).u16()).isZero();
        }
    }

    @Test
    void aPortThatIsTakenInsideIsAConflictAndNotAskedForAgain() throws Exception {
        try (FakeGuest guest = FakeGuest.welcome(socket, TOKEN, 2)) {
            assertThat(guest.await(Wire.LISTEN).u16()).isZero();
            FutureTask<Boolean> changing = async(() -> {
                link.port(PORT, false);
                return true;
            });
            assertThat(guest.await(Wire.LISTEN).u16()).isEqualTo(PORT);
            guest.listening(PORT, 98);
            assertThatThrownBy(() -> changing.get(60, TimeUnit.SECONDS))
                    .hasRootCauseInstanceOf(SandboxException.class)
                    .hasStackTraceContaining("a program in the sandbox listens on port 3128");
        }
        try (FakeGuest guest = FakeGuest.welcome(socket, TOKEN, 2)) {
            assertThat(guest.await(Wire.LISTEN).u16()).isZero();
        }
    }

    @Test
    void aGuestOfAnEarlierVersionIsNeverToldOfPorts() throws Exception {
        try (FakeGuest guest = FakeGuest.welcome(socket, TOKEN, 1)) {
            assertThatThrownBy(() -> link.port(PORT, false))
                    .isInstanceOf(SandboxException.class)
                    .hasMessageContaining("stop it and wake it again");
            link.port(0, false);
            link.port(0, true);
            FutureTask<RunningCommand> starting = async(() -> link.start(command(), Set::of));
            Wire.In next = guest.receive();
            assertThat(next.type).isEqualTo(Wire.START);
            guest.started(next.id);
            starting.get(60, TimeUnit.SECONDS).close();
        }
    }

    @Test
    void anAcceptedConnectionIsTakenAndClosedOnceWhenThatIsDone() throws Exception {
        CountDownLatch finish = new CountDownLatch(1);
        LinkedBlockingQueue<String> read = new LinkedBlockingQueue<>();
        takers.add(connection -> {
            try {
                read.add(new String(connection.input().readAllBytes(), UTF_8));
                finish.await();
            } catch (IOException | InterruptedException e) {
                read.add(e.toString());
            }
        });
        try (FakeGuest guest = FakeGuest.welcome(socket, TOKEN, 2)) {
            guest.accepted(ACCEPTED);
            guest.data(ACCEPTED, "from inside");
            guest.send(frame(Wire.CLOSED, ACCEPTED).u32(0));
            assertThat(read.poll(60, TimeUnit.SECONDS)).isEqualTo("from inside");
            assertThat(link.idle()).isFalse();
            finish.countDown();
            assertThat(guest.await(Wire.CLOSE).id).isEqualTo(ACCEPTED);
            link.sendQuietly(frame(Wire.PING, 0));
            assertThat(guest.receive().type).isEqualTo(Wire.PING);
            assertThat(link.idle()).isTrue();
            guest.accepted(ACCEPTED);
            assertThat(guest.await(Wire.CLOSE).id).isEqualTo(ACCEPTED);
        }
    }

    @Test
    void acceptedConnectionsEndWithTheLinkToTheGuest() throws Exception {
        LinkedBlockingQueue<String> ends = new LinkedBlockingQueue<>();
        takers.add(connection -> readToTheEnd(connection, ends));
        takers.add(connection -> readToTheEnd(connection, ends));
        try (FakeGuest guest = FakeGuest.welcome(socket, TOKEN, 2)) {
            guest.accepted(ACCEPTED);
            // What the link has read it has dealt with, when it answers what comes after it.
            FutureTask<List<CommandInfo>> listing = async(link::commands);
            guest.await(Wire.LIST);
            guest.send(frame(Wire.PROCESSES, 0).u32(0));
            assertThat(listing.get(60, TimeUnit.SECONDS)).isEmpty();
        }
        try (FakeGuest guest = FakeGuest.welcome(socket, TOKEN, 2)) {
            assertThat(ends.poll(60, TimeUnit.SECONDS)).contains("connected anew");
            guest.accepted(ACCEPTED + 1);
            guest.data(ACCEPTED + 1, "x");
            guest.listening(0, 0);
            assertThat(ends.poll(60, TimeUnit.SECONDS)).contains("network was changed");
        }
    }

    private static void readToTheEnd(Connection connection, BlockingQueue<String> ends) {
        try {
            ends.add("read " + connection.input().readAllBytes().length);
        } catch (IOException e) {
            ends.add(e.toString());
        }
    }

    @Test
    void cuttingEndsWhatWasAcceptedAndNothingElse() throws Exception {
        LinkedBlockingQueue<String> ends = new LinkedBlockingQueue<>();
        takers.add(connection -> readToTheEnd(connection, ends));
        try (FakeGuest guest = FakeGuest.welcome(socket, TOKEN, 2);
                RunningCommand command = start(guest)) {
            guest.accepted(ACCEPTED);
            guest.output(command.id(), 0, "x");
            assertThat(command.stdout().read()).isEqualTo('x');
            link.cut();
            assertThat(guest.await(Wire.CLOSE).id).isEqualTo(ACCEPTED);
            assertThat(ends.poll(60, TimeUnit.SECONDS)).contains("network was changed");
            guest.output(command.id(), 1, "y");
            assertThat(command.stdout().read()).isEqualTo('y');
        }
    }

    @Test
    void aGuestThatAcceptsWithoutEndIsCutOff() throws Exception {
        for (int i = 0; i < 1024; i++) {
            takers.add(this::hold);
        }
        try (FakeGuest guest = FakeGuest.welcome(socket, TOKEN, 2)) {
            for (int i = 0; i < 1025; i++) {
                guest.accepted(ACCEPTED + i);
            }
            guest.assertClosed();
        }
        assertServesTheNext();
    }

    @Test
    void aFrozenGuestIsToldThePortWithoutWaitingForIt() throws Exception {
        try (FakeGuest guest = FakeGuest.welcome(socket, TOKEN, 2)) {
            assertThat(guest.await(Wire.LISTEN).u16()).isZero();
            link.port(PORT, true);
            assertThat(guest.await(Wire.LISTEN).u16()).isEqualTo(PORT);
        }
    }

    @Test
    void aGuestThatIsThawedHasThePortAsItWasToldMeanwhile() throws Exception {
        try (FakeGuest guest = FakeGuest.welcome(socket, TOKEN, 2)) {
            link.port(PORT, true);
            FutureTask<Boolean> thawing = async(() -> {
                link.thawed();
                return true;
            });
            guest.await(Wire.LIST); // which is behind whatever it was told of ports
            assertThat(thawing.isDone()).isFalse();
            guest.send(listed(1).string("tag").string("sleep 1"));
            assertThat(thawing.get(60, TimeUnit.SECONDS)).isTrue();
            link.thawed(); // there is nothing to wait for any more
            assertThat(link.connected()).isTrue();
        }
    }
}
