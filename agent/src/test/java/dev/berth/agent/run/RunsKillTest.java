package dev.berth.agent.run;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.agent.run.Run.State;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.local.LocalProvider;
import dev.berth.sandbox.local.TestMachine;
import dev.berth.session.EventFollower;
import dev.berth.session.LoggedEvent;
import dev.berth.session.TestingDatabase;
import dev.berth.session.TestingPostgres;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Servers that are killed with -9 while an agent works. Needs root and crun. */
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RunsKillTest {
    @Test
    void aRunOutlivesTheServersThatAreKilledUnderItAndEveryEventIsThereOnce() throws Exception {
        Path data = Files.createTempDirectory(Path.of("/var/tmp"), "berth-");
        try (TestingDatabase database = TestingDatabase.create()) {
            String id = killed(data, database, "say");
            killed(data, database, "go on");
            killed(data, database, "hear");
            try (RunServer last = new RunServer(data, database.url())) {
                last.write("go", "");
                Run run = last.runs().await(id, Duration.ofSeconds(90));
                assertThat(run.state()).as("%s", run).isEqualTo(State.DONE);
                assertThat(run.attempt()).isEqualTo(1);
                assertThat(run.answer()).isEqualTo("You said hello. And I went on.");
                List<RunEvent> events = events(last, run);
                assertThat(events.stream()
                                .filter(RunEvent.Text.class::isInstance)
                                .map(event -> ((RunEvent.Text) event).text())
                                .collect(Collectors.joining()))
                        .isEqualTo(run.answer());
                assertThat(events.stream().filter(RunEvent.Began.class::isInstance))
                        .hasSize(1);
                assertThat(events.stream().filter(RunEvent.Ended.class::isInstance))
                        .hasSize(1);
            }
        } finally {
            clearAway(data);
        }
    }

    /** Starts a server and kills it when it has said something. Returns what it said. */
    private static String killed(Path data, TestingDatabase database, String what)
            throws IOException, InterruptedException {
        String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        Process server = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED",
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-cp",
                        classPath,
                        RunServer.class.getName(),
                        data.toString(),
                        database.url(),
                        what)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        try (BufferedReader out = server.inputReader(UTF_8)) {
            Optional<String> said = out.lines()
                    .filter(line -> line.startsWith("run_") || line.equals("ready"))
                    .findFirst();
            assertThat(said).as("the server started").isPresent();
            return said.get();
        } finally {
            server.toHandle().destroyForcibly();
            server.waitFor();
        }
    }

    private static List<RunEvent> events(RunServer server, Run run) throws InterruptedException {
        List<RunEvent> events = new ArrayList<>();
        try (EventFollower follower = server.sessions().events().follow(run.session(), run.firstEvent() - 1)) {
            for (List<LoggedEvent> some = follower.next(Duration.ZERO);
                    !some.isEmpty();
                    some = follower.next(Duration.ZERO)) {
                some.forEach(event -> RunEvent.of(event).ifPresent(events::add));
            }
        }
        return events;
    }

    private static void clearAway(Path data) throws IOException {
        LocalProvider provider = LocalProvider.open(RunServer.config(data));
        provider.list().forEach(Sandbox::destroy);
        provider.closeAndUnmount();
        TestMachine.assertNothingLeft(data);
        TestingPostgres.remove(data);
    }
}
