package dev.berth.session;

import static dev.berth.session.TestingSessions.key;
import static dev.berth.session.TestingSessions.run;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.SandboxState;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The life of a session on the local provider. Needs root and crun. */
class SessionsTest {
    private static TestingSessions server;

    @BeforeAll
    static void start() {
        server = new TestingSessions();
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    @Test
    void theSameKeyIsTheSameComputer() {
        try (Session first = server.resolve("same")) {
            run(first, "echo hello > ~/file");
            try (Session second = server.resolve("same")) {
                assertThat(run(second, "cat ~/file")).isEqualTo("hello");
                assertThat(second.sandbox()).isSameAs(first.sandbox());
            }
        }
        assertThat(server.state("same")).isEqualTo(SessionState.ACTIVE);
    }

    @Test
    void aPausedSessionGoesOnWithItsProcesses() {
        server.run("paused", "sleep 1000 > /dev/null 2>&1 & echo $! > ~/pid");
        server.sessions().pause(key("paused"));
        assertThat(server.state("paused")).isEqualTo(SessionState.PAUSED);
        assertThat(server.sandbox("paused").orElseThrow().state()).isEqualTo(SandboxState.PAUSED);
        assertThat(server.run("paused", "kill -0 $(cat ~/pid) && echo alive")).isEqualTo("alive");
        assertThat(server.state("paused")).isEqualTo(SessionState.ACTIVE);
    }

    @Test
    void aStoppedSessionGoesOnWithItsFiles() {
        server.run("stopped", "echo kept > ~/file");
        server.sessions().stop(key("stopped"));
        assertThat(server.state("stopped")).isEqualTo(SessionState.STOPPED);
        assertThat(server.run("stopped", "cat ~/file")).isEqualTo("kept");
        assertThat(server.info("stopped").loss()).isEmpty();
    }

    @Test
    void aDeletedSessionIsGoneAndTheNextMessageStartsAnew() {
        server.run("deleted", "echo old > ~/file");
        server.sessions().delete(key("deleted"));
        assertThat(server.state("deleted")).isEqualTo(SessionState.DESTROYED);
        assertThat(server.sandbox("deleted")).isEmpty();
        assertThat(server.run("deleted", "test -e ~/file || echo nothing")).isEqualTo("nothing");
    }
}
