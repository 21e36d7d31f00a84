package dev.berth.session;

import static dev.berth.session.TestingSessions.key;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** Forks of sessions on the local provider. Needs root and crun. */
class ForkRaceTest {
    @Test
    void ofTwoForksIntoOneSessionOneIsRefused() throws Exception {
        try (TestingSessions server = new TestingSessions();
                ExecutorService callers = Executors.newVirtualThreadPerTaskExecutor()) {
            server.run("one", "echo one > ~/file");
            server.run("other", "echo other > ~/file");
            List<Future<String>> forks = callers.invokeAll(List.of(forking(server, "one"), forking(server, "other")));
            List<String> outcomes =
                    List.of(forks.getFirst().get(), forks.getLast().get());
            assertThat(outcomes).containsOnlyOnce("refused");
            String winner = outcomes.getFirst().equals("refused") ? "other" : "one";
            assertThat(outcomes).contains(winner);
            assertThat(server.run("target", "cat ~/file")).isEqualTo(winner);
        }
    }

    /** What the fork has in its file. */
    private static Callable<String> forking(TestingSessions server, String source) {
        return () -> {
            try (Session fork = server.sessions().fork(key(source), OptionalInt.empty(), key("target"), "test")) {
                return TestingSessions.run(fork, "cat ~/file");
            } catch (SandboxException e) {
                assertThat(e.code()).isEqualTo(ErrorCode.CONFLICT);
                return "refused";
            }
        };
    }
}
