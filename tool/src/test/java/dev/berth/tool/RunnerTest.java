package dev.berth.tool;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.Change;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Limit;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.Session;
import dev.berth.tool.OutputStore.Stream;
import java.io.ByteArrayInputStream;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(300)
final class RunnerTest {
    private static RunFixture fixture;
    private Session session;

    @BeforeAll
    static void start() {
        fixture = new RunFixture();
    }

    @AfterAll
    static void stop() {
        fixture.close();
    }

    @BeforeEach
    void open() {
        session = fixture.newSession();
    }

    @AfterEach
    void close() {
        session.close();
    }

    private RunResult run(RunRequest request) {
        return fixture.runner().run(session, ToolSettings.DEFAULT, request);
    }

    private static void assertRefused(ErrorCode code, String sentence, ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        SandboxException.class, e -> assertThat(e.code()).isEqualTo(code))
                .hasMessageContaining(sentence);
    }

    /** How many processes have this in their command line, as the sandbox sees it. */
    private long running(String what) {
        return session.sandbox()
                .run(Command.of("ps", "-eo", "args"))
                .stdout()
                .lines()
                .filter(line -> line.contains(what) && !line.startsWith("ps "))
                .count();
    }

    @Test
    void tellsHowACommandEndedAndWhatItPrinted() {
        RunResult result = fixture.bash(session, "echo out; echo err >&2; pwd; exit 3");
        assertThat(result.ok()).isFalse();
        assertThat(result.exitCode()).isEqualTo(3);
        assertThat(result.stdout()).isEqualTo("out\n/workspace\n");
        assertThat(result.stderr()).isEqualTo("err\n");
        assertThat(result.timedOut()).isFalse();
        assertThat(result.truncated()).isFalse();
        assertThat(result.limitsHit()).isEmpty();
        assertThat(result.outputId()).isEmpty();
        assertThat(result.changes()).isEmpty();
        assertThat(result.duration()).isPositive();
    }

    @Test
    void passesArgumentsAsTheyAre() {
        RunResult result = run(RunRequest.argv(List.of("printf", "%s|", "a b", "$HOME", "'", ""), RunFixture.CWD));
        assertThat(result.stdout()).isEqualTo("a b|$HOME|'||");
    }

    @Test
    void runsACommandThatIsLongerThanAnArgumentMayBe() {
        String data = "x".repeat(300_000);
        RunResult result = fixture.bash(session, "read line; echo \"read $?\"; v='" + data + "'; echo ${#v} 'é'");
        assertThat(result.stdout()).isEqualTo("read 1\n300000 é\n");
        assertThat(result.ok()).isTrue();
    }

    @Test
    void givesACommandItsInput() {
        RunRequest request = RunRequest.bash("wc -c; echo end", RunFixture.CWD)
                .withStdin(new ByteArrayInputStream(new byte[1_000_000]));
        assertThat(run(request).stdout()).isEqualTo("1000000\nend\n");
        RunRequest ignored =
                RunRequest.bash("echo end", RunFixture.CWD).withStdin(new ByteArrayInputStream(new byte[1_000_000]));
        assertThat(run(ignored).stdout()).isEqualTo("end\n");
        assertThat(fixture.bash(session, "cat").stdout()).isEmpty();
    }

    @Test
    void putsTheSettingsVariablesBeneathTheCallsAndThePlatformsAboveBoth() {
        ToolSettings settings = new ToolSettings(
                Duration.ofSeconds(30),
                Duration.ofSeconds(60),
                65_536,
                EnumSet.allOf(Language.class),
                Map.of("A", "settings", "B", "settings", "PATH", "/nowhere", "HOME", "/nowhere"),
                false);
        RunRequest request = RunRequest.bash("echo $A $B; ls -d $HOME >/dev/null && echo home", RunFixture.CWD)
                .withEnv(Map.of("B", "call"));
        assertThat(fixture.runner().run(session, settings, request).stdout()).isEqualTo("settings call\nhome\n");
        assertRefused(
                ErrorCode.INVALID, "PATH is the platform's", () -> run(request.withEnv(Map.of("PATH", "/nowhere"))));
    }

    @Test
    void refusesWhatMakesNoSense() {
        RunRequest request = RunRequest.bash("true", RunFixture.CWD);
        assertRefused(
                ErrorCode.INVALID, "600 s is the longest", () -> run(request.withTimeout(Duration.ofSeconds(601))));
        assertRefused(ErrorCode.INVALID, "more than 0", () -> run(request.withTimeout(Duration.ZERO)));
        assertRefused(ErrorCode.INVALID, "no command", () -> RunRequest.bash(" \n", RunFixture.CWD));
        assertRefused(ErrorCode.INVALID, "working directory", () -> run(RunRequest.bash("true", "/nowhere")));
        assertRefused(ErrorCode.NOT_FOUND, "no such program", () -> run(RunRequest.argv(List.of("nope"), "/")));
        ToolSettings readOnly = new ToolSettings(
                Duration.ofSeconds(30), Duration.ofSeconds(60), 65_536, EnumSet.allOf(Language.class), Map.of(), true);
        assertRefused(ErrorCode.DENIED, "read-only", () -> fixture.runner().run(session, readOnly, request));
    }

    @Test
    void hasThePartialOutputOfACommandThatRanOutOfTime() {
        RunResult result =
                fixture.bash(session, "echo before; echo err >&2; sleep 60; echo after", Duration.ofSeconds(2));
        assertThat(result.timedOut()).isTrue();
        assertThat(result.exitCode()).isEqualTo(124);
        assertThat(result.ok()).isFalse();
        assertThat(result.stdout()).isEqualTo("before\n");
        assertThat(result.stderr()).isEqualTo("err\n");
        assertThat(result.duration()).isBetween(Duration.ofSeconds(2), Duration.ofSeconds(50));
    }

    @Test
    void leavesNothingRunningOfACommandThatRanOutOfTime() {
        RunResult result = fixture.bash(
                session,
                "sleep 1001 & setsid sleep 1002 & timeout 1003 sleep 1003 & (setsid bash -c 'sleep 1004; true' &);"
                        + " trap '' TERM INT; sleep 1005",
                Duration.ofSeconds(1));
        assertThat(result.timedOut()).isTrue();
        assertThat(running("sleep 100")).isZero();
    }

    @Test
    void doesNotWaitForWhatACommandPutIntoTheBackground() {
        RunResult result = fixture.bash(session, "sleep 2001 & echo started");
        assertThat(result.stdout()).isEqualTo("started\n");
        assertThat(result.ok()).isTrue();
        assertThat(result.duration()).isLessThan(Duration.ofSeconds(50));
        assertThat(running("sleep 2001")).isEqualTo(1);
    }

    @Test
    void doesNotWaitForABackgroundProcessThatKeepsPrinting() {
        RunResult result = fixture.bash(session, "yes noise & echo started >&2", Duration.ofSeconds(50));
        assertThat(result.timedOut()).isFalse();
        assertThat(result.stderr()).isEqualTo("started\n");
        assertThat(session.sandbox().commands()).isEmpty();
    }

    @Test
    void keepsAHugeOutputOutOfMemoryAndReadableById() {
        System.gc();
        long before = used();
        RunResult result = fixture.bash(
                session, "head -c 200000000 /dev/zero | tr '\\0' x; echo; echo end", Duration.ofSeconds(200));
        assertThat(result.ok()).isTrue();
        assertThat(result.truncated()).isTrue();
        assertThat(result.limitsHit()).containsExactly(Limit.OUTPUT);
        assertThat(result.stdout()).startsWith("xxx").endsWith("x\nend\n");
        assertThat(result.stdout().length()).isBetween(65_536, 66_000);
        String id = result.outputId().orElseThrow();
        assertThat(result.stdout())
                .contains("[199934469 bytes are left out here; the first 67108864 bytes can be read with output id "
                        + id + ", the rest was not kept]");
        OutputStore.Page page = fixture.outputs().read(session.key(), id, Stream.STDOUT, 60_000_000, 10);
        assertThat(new String(page.bytes(), UTF_8)).isEqualTo("xxxxxxxxxx");
        assertThat(page.total()).isEqualTo(67_108_864);
        System.gc();
        assertThat(used() - before).isLessThan(50_000_000);
    }

    private static long used() {
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }

    @Test
    void keepsBothStreamsWhenOneOfThemIsTooLong() {
        RunResult result = fixture.bash(session, "seq 1 100000; echo short >&2");
        String id = result.outputId().orElseThrow();
        assertThat(result.stderr()).isEqualTo("short\n");
        assertThat(result.stdout())
                .startsWith("1\n2\n")
                .endsWith("99999\n100000\n")
                .contains("all of it can be read");
        OutputStore.Page stdout = fixture.outputs().read(session.key(), id, Stream.STDOUT, 0, 1_000_000);
        String expected = String.join(
                "", IntStream.rangeClosed(1, 100_000).mapToObj(n -> n + "\n").toList());
        assertThat(new String(stdout.bytes(), UTF_8)).isEqualTo(expected);
        OutputStore.Page stderr = fixture.outputs().read(session.key(), id, Stream.STDERR, 0, 1000);
        assertThat(new String(stderr.bytes(), UTF_8)).isEqualTo("short\n");
    }

    @Test
    void keepsTheBytesOfWhatIsNotText() {
        RunResult result = fixture.bash(session, "printf 'a\\377\\0b'");
        assertThat(result.stdout()).isEqualTo("a\ufffd\0b");
        assertThat(result.truncated()).isFalse();
        OutputStore.Page page =
                fixture.outputs().read(session.key(), result.outputId().orElseThrow(), Stream.STDOUT, 0, 10);
        assertThat(page.bytes()).containsExactly('a', 0xff, 0, 'b');
    }

    @Test
    void tellsExactlyWhatChanged() {
        fixture.bash(session, "echo 1 > kept; echo 1 > changed; echo 1 > removed; mkdir dir");
        RunResult result =
                run(RunRequest.bash("echo 22 > changed; rm removed; echo 333 > dir/new; cat kept", "/workspace")
                        .withChanges());
        assertThat(result.changes().orElseThrow())
                .filteredOn(change -> change.path().startsWith("/workspace"))
                .containsExactlyInAnyOrder(
                        new Change(Change.Kind.MODIFIED, "/workspace/changed", 3),
                        new Change(Change.Kind.DELETED, "/workspace/removed", 0),
                        new Change(Change.Kind.CREATED, "/workspace/dir/new", 4));
        assertThat(run(RunRequest.bash("cat kept", "/workspace").withChanges()).changes())
                .contains(List.of());
        assertThat(fixture.testing().machine().provider().checkpoints()).isEmpty();
    }

    @Test
    void runsManyCommandsAtATime() throws Exception {
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            var results = IntStream.range(0, 20)
                    .mapToObj(n -> threads.submit(() -> fixture.bash(session, "sleep 0.2; seq 1 20000; echo " + n)))
                    .toList();
            for (int n = 0; n < 20; n++) {
                RunResult result = results.get(n).get();
                assertThat(result.stdout()).endsWith("20000\n" + n + "\n");
                assertThat(result.outputId()).isPresent();
            }
        }
    }

    @Test
    void endsWhatNobodyWaitsForAnyMore() throws Exception {
        CountDownLatch over = new CountDownLatch(1);
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread caller = Thread.ofVirtual().start(() -> {
            try {
                fixture.bash(session, "echo started > started; sleep 3001");
            } catch (SandboxException e) {
                thrown.set(e);
            }
            over.countDown();
        });
        while (running("sleep 3001") == 0) {
            Thread.sleep(20);
        }
        caller.interrupt();
        assertThat(over.await(60, TimeUnit.SECONDS)).isTrue();
        assertThat(thrown.get()).isInstanceOf(SandboxException.class);
        assertThat(running("sleep 3001")).isZero();
        assertThat(session.sandbox().commands()).isEmpty();
    }
}
