package dev.berth.session.process;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.fail;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Exit;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.Signal;
import dev.berth.sandbox.TerminalSize;
import dev.berth.session.Session;
import dev.berth.session.TestingSessions;
import dev.berth.session.process.Event.Ended;
import dev.berth.session.process.Event.Lost;
import dev.berth.session.process.Event.Nothing;
import dev.berth.session.process.Event.Output;
import dev.berth.session.process.Event.Stream;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Processes in real sandboxes. Needs root and crun. */
@Timeout(300)
class ProcessesTest {
    private static final Duration LONG = Duration.ofSeconds(60);

    private final TestingSessions berth = new TestingSessions();
    private Processes processes = Processes.open(berth.sessions());

    @AfterEach
    void close() {
        processes.close();
        berth.close();
    }

    private SessionProcess start(Command command) {
        try (Session session = berth.resolve("one")) {
            return processes.start(session, command);
        }
    }

    private SessionProcess start(String line) {
        return start(Command.shell(line));
    }

    private List<SessionProcess> list() {
        try (Session session = berth.resolve("one")) {
            return processes.list(session);
        }
    }

    private Optional<SessionProcess> find(int pid) {
        try (Session session = berth.resolve("one")) {
            return processes.find(session, pid);
        }
    }

    private Optional<SessionProcess> find(String tag) {
        try (Session session = berth.resolve("one")) {
            return processes.find(session, tag);
        }
    }

    /** Reads to the end. */
    private static Told read(Follower follower) {
        return readUntil(follower, _ -> false);
    }

    private static Told readUntil(Follower follower, Predicate<Told> enough) {
        Told told = new Told();
        while (told.end == null && !enough.test(told)) {
            switch (follower.next(LONG)) {
                case Output output -> told.add(output);
                case Nothing _ -> throw new AssertionError("nothing came; so far: " + told);
                case Event end -> told.end = end;
            }
        }
        return told;
    }

    private static final class Told {
        final StringBuilder stdout = new StringBuilder();
        final StringBuilder stderr = new StringBuilder();

        @Nullable
        Event end;

        void add(Output output) {
            (output.stream() == Stream.STDERR ? stderr : stdout).append(new String(output.bytes(), UTF_8));
        }

        Exit exit() {
            return end instanceof Ended(Exit exit) ? exit : fail("it did not end: " + this);
        }

        int code() {
            return exit().code();
        }

        @Override
        public String toString() {
            return "stdout " + stdout + ", stderr " + stderr + ", end " + end;
        }
    }

    private static void await(String what, BooleanSupplier condition) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).as("waited in vain: " + what).isLessThan(deadline);
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
        }
    }

    private static <T> FutureTask<T> async(Callable<T> work) {
        FutureTask<T> task = new FutureTask<>(work);
        Thread.ofVirtual().start(task);
        return task;
    }

    @Test
    void whoStartedItIsToldAllFromTheFirstByteToTheEnd() {
        SessionProcess process = start("echo out; echo err >&2; exit 3");
        await("its end", () -> !process.alive());
        try (Follower follower = process.follow()) {
            Told told = read(follower);
            assertThat(told.stdout).hasToString("out\n");
            assertThat(told.stderr).hasToString("err\n");
            assertThat(told.code()).isEqualTo(3);
            assertThat(follower.next(LONG)).isEqualTo(told.end);
        }
        assertThat(process.exit())
                .get()
                .satisfies(exit -> assertThat(exit.timedOut()).isFalse());
    }

    @Test
    void anyNumberFollowAndOneWhoLeavesChangesNothing() {
        SessionProcess process = start(Command.of("cat").withStdin().withTag("mine"));
        Follower first = process.follow();
        process.input("one\n".getBytes(UTF_8));
        assertThat(readUntil(first, told -> told.stdout.length() == 4).stdout).hasToString("one\n");
        Follower second = find(process.pid()).orElseThrow().follow();
        Follower third = find("mine").orElseThrow().follow();
        process.input("two\n".getBytes(UTF_8));
        assertThat(readUntil(first, told -> told.stdout.length() == 4).stdout).hasToString("two\n");
        first.close();
        find("mine").orElseThrow().input("three\n".getBytes(UTF_8));
        process.endInput();
        for (Follower follower : List.of(second, third)) {
            Told told = read(follower);
            assertThat(told.stdout).hasToString("two\nthree\n");
            assertThat(told.code()).isZero();
            follower.close();
        }
    }

    @Test
    void withNobodyWhoFollowsItNeverWaits() {
        SessionProcess process = start("head -c 200000000 /dev/zero; head -c 20000000 /dev/zero >&2");
        process.follow().close();
        await("its end", () -> !process.alive());
        assertThat(process.exit())
                .get()
                .satisfies(exit -> assertThat(exit.code()).isZero());
    }

    @Test
    void aSlowFollowerLosesNoByteOfAHundredMegabytes() throws Exception {
        SessionProcess process = start(
                Command.shell("read x; seq 1 12600000 | head -c 100000000").withStdin());
        Follower slow = process.follow();
        Follower other = process.follow();
        process.input("\n".getBytes(UTF_8));
        FutureTask<String> fast = async(() -> hash(other, 0));
        String slowly = hash(slow, 2_000_000);
        MessageDigest all = MessageDigest.getInstance("SHA-256");
        StringBuilder text = new StringBuilder();
        long size = 0;
        for (int number = 1; size < 100_000_000; number++) {
            text.setLength(0);
            byte[] line = text.append(number).append('\n').toString().getBytes(UTF_8);
            int length = (int) Math.min(line.length, 100_000_000 - size);
            all.update(line, 0, length);
            size += length;
        }
        assertThat(slowly).isEqualTo(HexFormat.of().formatHex(all.digest()));
        assertThat(fast.get()).isEqualTo(slowly);
    }

    private static String hash(Follower follower, long pauseNanos) throws Exception {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        while (true) {
            switch (follower.next(LONG)) {
                case Output output -> {
                    assertThat(output.bytes().length).isLessThanOrEqualTo(32 << 10);
                    digest.update(output.bytes());
                    LockSupport.parkNanos(pauseNanos);
                }
                case Ended(var exit) -> {
                    assertThat(exit.code()).isZero();
                    return HexFormat.of().formatHex(digest.digest());
                }
                case Event other -> throw new AssertionError("unexpected: " + other);
            }
        }
    }

    @Test
    void oneWhoTakesNothingIsCutOffAndTheOthersGoOn() {
        processes.close();
        processes =
                Processes.open(berth.sessions(), new Processes.Times(Duration.ofSeconds(5), Duration.ofSeconds(30)));
        SessionProcess process = start("head -c 20000000 /dev/zero | tr '\\0' x");
        Follower dead = process.follow();
        Follower living = process.follow();
        Told told = read(living);
        assertThat(told.code()).isZero();
        assertThat(dead.next(LONG))
                .isInstanceOfSatisfying(
                        Lost.class, lost -> assertThat(lost.why().code()).isEqualTo(ErrorCode.LIMIT));
    }

    @Test
    void oneThatEndedIsFoundForAWhileAndNotListed() {
        processes.close();
        processes = Processes.open(berth.sessions(), new Processes.Times(LONG, Duration.ofSeconds(5)));
        SessionProcess running = start(Command.of("sleep", "1000").withTag("a"));
        SessionProcess ended = start(Command.shell("exit 7").withTag("b"));
        assertThat(read(ended.follow()).code()).isEqualTo(7);
        SessionProcess found = find(ended.pid()).orElseThrow();
        assertThat(found.alive()).isFalse();
        assertThat(read(found.follow()).code()).isEqualTo(7);
        assertThat(find("b")).isPresent();
        assertThat(list()).extracting(SessionProcess::pid).containsExactly(running.pid());
        await("it to be forgotten", () -> find(ended.pid()).isEmpty());
        assertThat(find("b")).isEmpty();
        assertThat(find("a")).isPresent();
        assertThat(list().getFirst().command().argv()).containsExactly("sleep", "1000");
    }

    @Test
    void inputIsRefusedWhereThereIsNoneToTakeIt() {
        SessionProcess without = start("sleep 1000");
        assertConflict(() -> without.input(new byte[] {1}));
        assertConflict(without::endInput);
        assertConflict(() -> without.resize(new TerminalSize(10, 10)));
        SessionProcess ended = start(Command.of("true").withStdin());
        await("its end", () -> !ended.alive());
        assertConflict(() -> ended.input(new byte[] {1}));
        assertConflict(ended::endInput);
        SessionProcess closed = start(Command.shell("cat; sleep 1000").withStdin());
        closed.endInput();
        assertConflict(() -> closed.input(new byte[] {1}));
        ended.signal(Signal.KILL); // which is nothing to an ended one
    }

    private static void assertConflict(ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CONFLICT));
    }

    @Test
    void aTerminalIsTypedIntoAndResized() {
        SessionProcess process = start(Command.of("bash", "--norc", "-i").withTerminal(new TerminalSize(24, 80)));
        Follower follower = process.follow();
        process.resize(new TerminalSize(33, 99));
        assertConflict(process::endInput);
        process.input("stty size; exit\n".getBytes(UTF_8));
        Told told = new Told();
        while (told.end == null) {
            switch (follower.next(LONG)) {
                case Output output -> {
                    assertThat(output.stream()).isEqualTo(Stream.TERMINAL);
                    told.add(output);
                }
                case Event end -> told.end = end;
            }
        }
        assertThat(told.stdout.toString()).contains("33 99");
        assertThat(told.code()).isZero();
    }

    @Test
    void theEndTellsOfTheTimeoutAndOfSignals() {
        SessionProcess late = start(Command.shell("echo begun; sleep 1000").withTimeout(Duration.ofSeconds(5)));
        Told told = read(late.follow());
        assertThat(told.stdout).hasToString("begun\n");
        assertThat(told.exit().timedOut()).isTrue();
        SessionProcess killed = start("sleep 1000");
        killed.signal(Signal.KILL);
        assertThat(read(killed.follow()).exit()).satisfies(exit -> {
            assertThat(exit.signal()).isEqualTo(9);
            assertThat(exit.timedOut()).isFalse();
        });
    }

    @Test
    void aPauseLosesNothingAndAStopTellsTheFollowers() {
        SessionProcess process = start("i=0; while true; do echo $((i++)); sleep 0.01; done");
        Follower follower = process.follow();
        Told before = readUntil(follower, told -> told.stdout.length() > 100);
        berth.sessions().pause(TestingSessions.key("one"));
        assertThat(find(process.pid())).isPresent(); // which wakes it
        Told after = readUntil(follower, told -> told.stdout.length() > 100);
        List<Integer> numbers = new ArrayList<>();
        (before.stdout.toString() + after.stdout).lines().map(Integer::valueOf).forEach(numbers::add);
        for (int i = 0; i < numbers.size() - 1; i++) { // the last may be half a line
            assertThat(numbers.get(i)).isEqualTo(i);
        }
        berth.sessions().stop(TestingSessions.key("one"));
        Told end = read(follower);
        assertThat(end.end)
                .isInstanceOfSatisfying(
                        Lost.class, lost -> assertThat(lost.why().code()).isEqualTo(ErrorCode.GONE));
        await("it to be forgotten", () -> find(process.pid()).isEmpty());
        assertThat(list()).isEmpty();
        assertThat(read(start("echo again").follow()).stdout).hasToString("again\n");
    }

    @Test
    void theNextServerFindsListsAndReadsThem() {
        SessionProcess process = start(Command.of("cat").withStdin().withTag("kept"));
        SessionProcess terminal = start(Command.of("bash", "--norc", "-i").withTerminal(new TerminalSize(24, 80)));
        SessionProcess flood = start("exec yes");
        process.input("before\n".getBytes(UTF_8));
        Follower follower = process.follow();
        assertThat(readUntil(follower, told -> told.stdout.length() == 7).stdout)
                .hasToString("before\n");
        processes.close();
        assertThat(read(follower).end).isInstanceOf(Lost.class);
        berth.restart();
        processes = Processes.open(berth.sessions());
        assertThat(list()).extracting(SessionProcess::pid).containsExactly(process.pid(), terminal.pid(), flood.pid());
        SessionProcess found = find("kept").orElseThrow();
        assertThat(found.command().argv()).containsExactly("cat");
        assertThat(found.tag()).isEqualTo("kept");
        Follower again = found.follow();
        found.input("after\n".getBytes(UTF_8));
        found.endInput();
        Told told = read(again);
        assertThat(told.stdout).hasToString("after\n");
        assertThat(told.code()).isZero();
        assertThat(find(terminal.pid()).orElseThrow().terminal()).isTrue();
        assertConflict(() -> find(flood.pid()).orElseThrow().input(new byte[1]));
        find(flood.pid()).orElseThrow().signal(Signal.TERM);
        await("its end", () -> !find(flood.pid()).orElseThrow().alive());
    }

    @Test
    void twoHundredAtATimeAreOrdinary() {
        List<Follower> followers = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            SessionProcess process =
                    start(Command.shell("read x; echo $x; exit " + i % 100).withStdin());
            followers.add(process.follow());
        }
        List<SessionProcess> all = list();
        assertThat(all).hasSize(200);
        for (int i = 0; i < 200; i++) {
            all.get(i).input(("line " + i + "\n").getBytes(UTF_8));
        }
        for (int i = 0; i < 200; i++) {
            Told told = read(followers.get(i));
            assertThat(told.stdout).hasToString("line " + i + "\n");
            assertThat(told.code()).isEqualTo(i % 100);
        }
        assertThat(list()).isEmpty();
    }
}
