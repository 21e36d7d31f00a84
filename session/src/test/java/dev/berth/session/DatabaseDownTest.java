package dev.berth.session;

import static dev.berth.session.Conditions.assertFails;
import static dev.berth.session.Conditions.await;
import static dev.berth.session.TestingSessions.key;
import static dev.berth.session.TestingSessions.run;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** A PostgreSQL that is stopped and started again under a server. Needs root and crun. */
class DatabaseDownTest {
    @Test
    void liveSessionsGoOnAndTheRestFailsWithATypedErrorUntilItIsBack() throws Exception {
        try (TestingPostgres postgres = TestingPostgres.start();
                TestingSessions server = new TestingSessions(config -> config, postgres.url())) {
            server.run("paused", "echo kept > ~/file");
            server.sessions().pause(key("paused"));
            try (Session live = server.resolve("live")) {
                run(live, "echo before > ~/file");

                postgres.stop();

                assertThat(run(live, "cat ~/file")).isEqualTo("before");
                try (Session again = server.resolve("live")) {
                    run(again, "echo meanwhile > ~/file");
                    again.record(new Session.Run("ann", "bash", Optional.empty(), OptionalInt.of(0), Duration.ZERO));
                }
                atOnce(
                        () -> assertFails(
                                ErrorCode.UNAVAILABLE,
                                () -> server.resolve("paused"),
                                e -> assertThat(e.getMessage()).contains("database")),
                        () -> assertFails(ErrorCode.UNAVAILABLE, () -> server.resolve("new")),
                        () -> assertFails(
                                ErrorCode.UNAVAILABLE, () -> server.sessions().pause(key("live"))),
                        () -> assertFails(
                                ErrorCode.UNAVAILABLE, () -> server.sessions().delete(key("live"))));
                assertThat(run(live, "cat ~/file")).isEqualTo("meanwhile");

                postgres.startAgain();

                await("reachable again", () -> server.database().reachable());
                assertThat(server.run("paused", "cat ~/file")).isEqualTo("kept");
                assertThat(server.run("new", "echo made")).isEqualTo("made");
                await(
                        "what happened meanwhile is written down",
                        () -> server.sessions().events().read(key("live"), 0, 100).stream()
                                .anyMatch(event -> event.type().equals("tool.run")));
            }
            server.sessions().pause(key("live"));
            assertThat(server.sandbox("live").orElseThrow().state()).isEqualTo(SandboxState.PAUSED);
            assertThat(server.run("live", "cat ~/file")).isEqualTo("meanwhile");
        }
    }

    /** Each waits for a connection, so not one after the other. */
    private static void atOnce(Runnable... calls) throws Exception {
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<?>> all = new ArrayList<>();
            for (Runnable call : calls) {
                all.add(threads.submit(call));
            }
            for (Future<?> each : all) {
                each.get();
            }
        }
    }

    @Test
    void aTransitionThatLosesTheDatabaseInTheMiddleIsTakenUpAfterwards() {
        try (TestingPostgres postgres = TestingPostgres.start();
                TestingSessions server = new TestingSessions(config -> config, postgres.url())) {
            server.run("cut", "echo kept > ~/file");
            // The sandbox is paused and the row cannot be told.
            Sessions cutting = server.restartAround(provider -> CuttingProvider.around(provider, postgres::stop));
            assertFails(ErrorCode.UNAVAILABLE, () -> cutting.pause(key("cut")));
            postgres.startAgain();
            await("reachable again", () -> server.database().reachable());
            assertThat(server.state("cut")).isEqualTo(SessionState.PAUSING);

            assertThat(server.run("cut", "cat ~/file")).isEqualTo("kept");
            assertThat(server.state("cut")).isEqualTo(SessionState.ACTIVE);
        }
    }
}
