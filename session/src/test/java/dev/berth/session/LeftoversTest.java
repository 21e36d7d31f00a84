package dev.berth.session;

import static dev.berth.session.TestingSessions.key;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.CheckpointTable.Entry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.OptionalInt;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What a server leaves that was killed at one certain point, which {@link KillTest} meets by chance. */
class LeftoversTest {
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
    void anUnpackingThatWasCutShortLeavesNoSandboxInTheBooks() {
        server.run("unpacking", "echo kept > ~/file");
        server.sessions().archive(key("unpacking"));
        assertThat(openSandboxes("unpacking")).isZero();
        server.database().query(handle -> {
            SessionInfo row = SessionTable.find(handle, key("unpacking")).orElseThrow();
            SessionEvent event = SessionEvent.of("sandbox.resume");
            SandboxTable.begin(handle, row, "archive");
            return SessionTable.update(handle, row, SessionState.RESUMING, RowChange.none(), event, true);
        });
        server.sessions().settle();
        assertThat(server.state("unpacking")).isEqualTo(SessionState.ARCHIVED);
        assertThat(openSandboxes("unpacking")).isZero();
        assertThat(server.run("unpacking", "cat ~/file")).isEqualTo("kept");
    }

    @Test
    void aSpoolFileThatNobodyWritesAnyMoreIsRemoved() throws IOException {
        Path spool = Files.createDirectories(server.machine().data().resolve("spool"));
        Path old = Files.createFile(spool.resolve("old.spool"));
        Path young = Files.createFile(spool.resolve("young.spool"));
        Files.setLastModifiedTime(old, FileTime.from(Instant.now().minus(Duration.ofDays(1))));
        server.sessions().settle();
        assertThat(old).doesNotExist();
        assertThat(young).exists();
        Files.delete(young);
    }

    @Test
    void aCheckpointOfASessionThatWasDeletedMeanwhileIsRefusedAndLeavesNoRow() {
        try (Session session = server.resolve("deleted")) {
            int turn = session.beginTurn("test");
            server.sessions().delete(key("deleted"));
            assertThatThrownBy(() -> server.sessions().turns().checkpoint(session))
                    .isInstanceOfSatisfying(
                            SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CONFLICT));
            List<Entry> left = server.database().query(handle -> CheckpointTable.list(handle, key("deleted")));
            assertThat(left).as("checkpoints, of turn " + turn).isEmpty();
        }
    }

    @Test
    void aRollbackDoesNotStartASessionThatWasStoppedMeanwhile() {
        try (Session session = server.resolve("stopped")) {
            session.beginTurn("test");
            server.sessions().turns().checkpoint(session);
            server.sessions().stop(key("stopped"));
            assertThatThrownBy(() -> server.sessions().turns().rollback(session.live(), 1, "test"))
                    .isInstanceOf(SandboxException.class);
        }
        assertThat(server.sandbox("stopped").orElseThrow().ready()).isFalse();
    }

    @Test
    void aCheckpointForAForkThatWasCutShortIsRemovedInTheEnd() {
        try (Session session = server.resolve("forked")) {
            Turns.Point point = server.sessions().turns().point(session, OptionalInt.empty());
            server.sessions().settle();
            assertThat(server.machine().provider().checkpoints())
                    .as("while the fork may still be under way")
                    .anyMatch(kept -> kept.id().equals(point.id()));
            server.database()
                    .query(handle -> handle.execute("UPDATE checkpoints SET created_at = now() - interval '2 hours'"));
            server.sessions().settle();
            assertThat(server.machine().provider().checkpoints())
                    .noneMatch(kept -> kept.id().equals(point.id()));
        }
    }

    private static long openSandboxes(String id) {
        return server.database()
                .query(handle -> handle.createQuery(
                                "SELECT count(*) FROM sandboxes WHERE session = :id AND destroyed_at IS NULL")
                        .bind("id", id)
                        .mapTo(Long.class)
                        .one());
    }
}
