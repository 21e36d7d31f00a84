package dev.berth.session;

import static dev.berth.session.Conditions.assertFails;
import static dev.berth.session.Conditions.await;
import static dev.berth.session.TestingSessions.SPEC;
import static dev.berth.session.TestingSessions.key;
import static dev.berth.session.TestingSessions.run;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxState;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What becomes of sessions that nobody uses, and of their files. Needs root and crun. */
class IdleLadderTest {
    private static final Duration SOON = Duration.ofMillis(300);

    private static TestingSessions server;

    @BeforeAll
    static void start() {
        server = new TestingSessions(
                config -> config.withIntervals(Duration.ofMillis(50), Duration.ofMillis(100), Duration.ofMinutes(10)));
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    @Test
    void anIdleSessionIsPausedThenStoppedThenArchivedAndComesBackWithItsFiles() {
        // Each step when the one before was seen: on a busy machine nobody might look while it stands on it.
        try (Session session =
                server.sessions().resolve(key("ladder"), SPEC.withIdle(IdlePolicy.NEVER.pauseAfter(SOON)))) {
            run(session, "echo kept > ~/file; mkdir -p ~/a/b; ln -s file ~/link; rm -rf ~/.cache");
        }
        await("paused", () -> server.state("ladder") == SessionState.PAUSED);
        assertThat(server.sandbox("ladder").orElseThrow().state()).isEqualTo(SandboxState.PAUSED);
        server.sessions().idle(key("ladder"), IdlePolicy.NEVER.stopAfter(SOON));
        await("stopped", () -> server.state("ladder") == SessionState.STOPPED);
        server.sessions().idle(key("ladder"), IdlePolicy.NEVER.archiveAfter(SOON));
        await("archived", () -> server.state("ladder") == SessionState.ARCHIVED);
        SessionInfo.Archive archive = server.info("ladder").archive().orElseThrow();
        await("its sandbox removed", () -> server.sandbox("ladder").isEmpty());
        assertThat(server.archives().names()).contains(archive.name());

        try (Session session = server.resolve("ladder")) {
            assertThat(run(session, "cat ~/link; test -d ~/a/b && echo tree")).isEqualTo("kept\ntree");
            assertThat(session.loss()).isEmpty();
            assertThat(session.info().archive()).isEmpty();
        }
        assertThat(server.archives().names()).doesNotContain(archive.name());
    }

    @Test
    void anIdleSessionGoesAllTheWayDownByItself() {
        IdlePolicy quick = IdlePolicy.NEVER.pauseAfter(SOON).stopAfter(SOON).archiveAfter(SOON);
        server.sessions().resolve(key("down"), SPEC.withIdle(quick)).close();
        await("archived", () -> server.state("down") == SessionState.ARCHIVED);
        await("its sandbox removed", () -> server.sandbox("down").isEmpty());
    }

    @Test
    void aSessionThatIsHeldStaysUp() {
        IdlePolicy quick = IdlePolicy.NEVER.pauseAfter(SOON);
        try (Session session = server.sessions().resolve(key("held"), SPEC.withIdle(quick))) {
            Instant later = Instant.now().plus(SOON.multipliedBy(4));
            await("long after", () -> Instant.now().isAfter(later));
            server.sessions().sweep();
            assertThat(run(session, "echo up")).isEqualTo("up");
            assertThat(server.state("held")).isEqualTo(SessionState.ACTIVE);
        }
        await("paused once it is let go", () -> server.state("held") == SessionState.PAUSED);
    }

    @Test
    void aPinnedSessionStaysUp() {
        IdlePolicy quick = IdlePolicy.NEVER.pauseAfter(SOON);
        server.sessions().resolve(key("pinned"), SPEC).close();
        server.sessions().pin(key("pinned"), true);
        server.sessions().idle(key("pinned"), quick);
        Instant later = Instant.now().plus(SOON.multipliedBy(4));
        await("long after", () -> Instant.now().isAfter(later));
        server.sessions().sweep();
        assertThat(server.state("pinned")).isIn(SessionState.ACTIVE);
        server.sessions().pin(key("pinned"), false);
        await("paused once it is let go", () -> server.state("pinned") == SessionState.PAUSED);
    }

    @Test
    void aRunningJobHoldsItsSessionUp() {
        IdlePolicy quick = IdlePolicy.NEVER.pauseAfter(SOON);
        server.sessions().resolve(key("job"), SPEC).close();
        execute("INSERT INTO jobs (id, tenant, session, state) VALUES ('j1', 'default', 'job', 'running')");
        server.sessions().idle(key("job"), quick);
        Instant later = Instant.now().plus(SOON.multipliedBy(4));
        await("long after", () -> Instant.now().isAfter(later));
        server.sessions().sweep();
        assertThat(server.state("job")).isEqualTo(SessionState.ACTIVE);
        execute("UPDATE jobs SET state = 'completed' WHERE id = 'j1'");
        await("paused after its job", () -> server.state("job") == SessionState.PAUSED);
    }

    @Test
    void aSessionThatWasNotUsedForLongIsDeletedAndTheConversationIsToldOnce() {
        IdlePolicy quick = IdlePolicy.NEVER.deleteAfter(SOON);
        server.sessions().resolve(key("old"), SPEC.withIdle(quick)).close();
        await("deleted", () -> server.state("old") == SessionState.DESTROYED);
        assertThat(server.sandbox("old")).isEmpty();
        try (Session session = server.resolve("old")) {
            assertThat(session.loss().orElseThrow().sentence()).contains("not used for long");
            session.lossTold();
        }
        assertThat(server.info("old").loss()).isEmpty();
    }

    @Test
    void aLifetimeEndsEvenASessionInUse() {
        try (Session session =
                server.sessions().resolve(key("mortal"), SPEC.withIdle(IdlePolicy.NEVER.lifetime(SOON)))) {
            await("deleted", () -> server.state("mortal") == SessionState.DESTROYED);
            assertFails(ErrorCode.GONE, () -> run(session, "true"));
        }
    }

    @Test
    void anArchiveThatWasDamagedIsRefusedAndKept() throws IOException {
        server.run("damaged", "head -c 100000 /dev/urandom > ~/file; sha256sum ~/file > ~/sum");
        server.sessions().archive(key("damaged"));
        SessionInfo.Archive archive = server.info("damaged").archive().orElseThrow();
        Path file = server.machine().data().resolve("archives").resolve(archive.name());
        byte[] good = Files.readAllBytes(file);
        byte[] bad = good.clone();
        bad[bad.length / 2] ^= 1;
        Files.write(file, bad);

        assertFails(
                ErrorCode.UNAVAILABLE,
                () -> server.resolve("damaged"),
                e -> assertThat(e.getMessage()).contains("damaged"));
        assertThat(server.state("damaged")).isEqualTo(SessionState.ERROR);
        assertThat(server.sandbox("damaged")).isEmpty();

        Files.write(file, good, StandardOpenOption.TRUNCATE_EXISTING);
        Instant retry = server.info("damaged").retryAt().orElseThrow();
        await("time to retry", () -> Instant.now().isAfter(retry));
        assertThat(server.run("damaged", "sha256sum -c --quiet ~/sum && echo whole"))
                .isEqualTo("whole");
    }

    @Test
    void anArchiveThatNoRowNamesIsRemovedByTheSecondSettlement() throws IOException {
        server.run("archived", "true");
        server.sessions().archive(key("archived"));
        String named = server.info("archived").archive().orElseThrow().name();
        String stranger = "another-installation.x.zst";
        String orphan = named.replace(".zst", "-orphan.zst");
        Path file = server.machine().data().resolve("some-file");
        Files.writeString(file, "x");
        server.archives().put(orphan, file);
        server.archives().put(stranger, file);

        server.sessions().settle();
        assertThat(server.archives().names()).contains(orphan);
        server.sessions().settle();

        assertThat(server.archives().names()).contains(named, stranger).doesNotContain(orphan);
    }

    private static void execute(String sql) {
        server.database().query(handle -> handle.execute(sql));
    }
}
