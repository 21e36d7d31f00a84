package dev.berth.session.process;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.Signal;
import dev.berth.sandbox.local.TestMachine;
import dev.berth.sandbox.local.linux.Directories;
import dev.berth.session.Session;
import dev.berth.session.TestingDatabase;
import dev.berth.session.process.Event.Ended;
import dev.berth.session.process.Event.Output;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A server is killed with -9 while it reads processes, and the next one takes them up. Needs root and crun. */
@Timeout(300)
class ProcessKillTest {
    private static final Duration LONG = Duration.ofSeconds(60);

    @Test
    void afterAKillTheNextServerFindsReadsAndFeedsThem() throws Exception {
        Path data = Files.createTempDirectory(Path.of("/var/tmp"), "berth-");
        try (TestingDatabase database = TestingDatabase.create()) {
            List<Integer> pids = startAndKill(data, database.url());
            try (ProcessKillServer next = new ProcessKillServer(data, database.url())) {
                try (Session session = next.resolve()) {
                    check(next.processes(), session, pids);
                }
            }
        }
        TestMachine.assertNothingLeft(data);
        Directories.remove(data);
    }

    private static List<Integer> startAndKill(Path data, String database) throws IOException, InterruptedException {
        java.lang.Process server = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED",
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                        ProcessKillServer.class.getName(),
                        data.toString(),
                        database)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (BufferedReader said = server.inputReader(UTF_8)) {
            for (String line = said.readLine(); line != null; line = said.readLine()) {
                if (line.startsWith("STARTED ")) {
                    return Arrays.stream(line.substring(8).split(" "))
                            .map(Integer::valueOf)
                            .toList();
                }
            }
            throw new AssertionError("the server did not start the processes");
        } finally {
            server.destroyForcibly().waitFor();
        }
    }

    private static void check(Processes processes, Session session, List<Integer> pids) {
        // Nobody has asked for a process: that the session came up is enough for the flood to be read.
        long before = printed(session, pids.get(1));
        await(() -> printed(session, pids.get(1)) > before + (8 << 20));

        assertThat(processes.list(session)).extracting(SessionProcess::pid).containsExactlyElementsOf(pids);
        SessionProcess echo = processes.find(session, "echo").orElseThrow();
        assertThat(echo.pid()).isEqualTo(pids.getFirst());
        Follower follower = echo.follow();
        echo.input("hello\n".getBytes(UTF_8));
        assertThat(new String(output(follower).bytes(), UTF_8)).isEqualTo("hello\n");
        echo.endInput();
        assertThat(end(follower).exit().code()).isZero();

        SessionProcess terminal = processes.find(session, pids.get(2)).orElseThrow();
        Follower shell = terminal.follow();
        terminal.input("exit 9\n".getBytes(UTF_8));
        assertThat(end(shell).exit().code()).isEqualTo(9);

        SessionProcess ends = processes.find(session, "ends").orElseThrow();
        ends.input("\n".getBytes(UTF_8));
        await(() -> !ends.alive());
        assertThat(end(processes.find(session, "ends").orElseThrow().follow())
                        .exit()
                        .code())
                .isEqualTo(5);

        SessionProcess flood = processes.find(session, pids.get(1)).orElseThrow();
        Follower floods = flood.follow();
        assertThat(output(floods).bytes()).isNotEmpty();
        flood.signal(Signal.KILL);
        assertThat(end(floods).exit().signal()).isEqualTo(9);
        assertThat(processes.list(session)).isEmpty();
    }

    private static long printed(Session session, int pid) {
        return session.sandbox().commands().stream()
                .filter(command -> command.pid() == pid)
                .findFirst()
                .orElseThrow()
                .stdoutEnd();
    }

    private static Output output(Follower follower) {
        Event event = follower.next(LONG);
        assertThat(event).isInstanceOf(Output.class);
        return (Output) event;
    }

    private static Ended end(Follower follower) {
        Event event = follower.next(LONG);
        while (event instanceof Output) {
            event = follower.next(LONG);
        }
        assertThat(event).isInstanceOf(Ended.class);
        return (Ended) event;
    }

    private static void await(java.util.function.BooleanSupplier condition) {
        long deadline = System.nanoTime() + LONG.toNanos();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).as("waited in vain").isLessThan(deadline);
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
        }
    }
}
