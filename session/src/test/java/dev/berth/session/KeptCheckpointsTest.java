package dev.berth.session;

import static dev.berth.session.Conditions.assertFails;
import static dev.berth.session.TestingSessions.SPEC;
import static dev.berth.session.TestingSessions.key;
import static dev.berth.session.TestingSessions.run;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.Checkpoint;
import dev.berth.sandbox.CheckpointId;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Checkpoints that outlive their session, and forks of many. Needs root and crun. */
class KeptCheckpointsTest {
    private static final String TENANT = SessionKey.DEFAULT_TENANT;

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
    void aKeptCheckpointOutlivesItsSessionAndStartsOthers() {
        server.run("source", "echo kept > ~/file");
        KeptCheckpoint kept = checkpoints().keep(key("source"), Optional.of("before-lunch"), "me");
        server.run("source", "echo later > ~/file");
        server.sessions().delete(key("source"));
        server.sessions().settle();

        assertThat(kept.id()).matches("[a-z0-9]{20}");
        assertThat(checkpoints().find(TENANT, "before-lunch")).contains(kept);
        assertThat(checkpoints().find(TENANT, kept.id())).contains(kept);
        assertThat(checkpoints().find("other", kept.id())).isEmpty();
        try (Session session = server.sessions().create(key("started"), kept.over(SPEC), kept)) {
            assertThat(run(session, "cat ~/file")).isEqualTo("kept");
            assertThat(checkpoints().delete(TENANT, kept.id())).isTrue();
            assertThat(run(session, "cat ~/file; echo more >> ~/file; wc -l < ~/file"))
                    .isEqualTo("kept\n2");
        }
        server.sessions().stop(key("started"));
        assertThat(server.run("started", "wc -l < ~/file")).isEqualTo("2");
        assertThat(checkpoints().delete(TENANT, kept.id())).isFalse();
        assertThat(atProvider("source")).isEmpty();
        assertFails(ErrorCode.NOT_FOUND, () -> server.sessions().create(key("too-late"), SPEC, kept));
    }

    @Test
    void pausedAndStoppedAndArchivedSessionsCanBeKeptToo() {
        server.run("asleep", "echo one > ~/file");
        server.sessions().pause(key("asleep"));
        KeptCheckpoint paused = checkpoints().keep(key("asleep"), Optional.empty(), "me");
        assertThat(server.state("asleep")).isEqualTo(SessionState.PAUSED);
        server.run("asleep", "echo two > ~/file");
        server.sessions().stop(key("asleep"));
        KeptCheckpoint stopped = checkpoints().keep(key("asleep"), Optional.empty(), "me");
        assertThat(server.state("asleep")).isEqualTo(SessionState.STOPPED);
        server.run("asleep", "echo three > ~/file");
        server.sessions().archive(key("asleep"));
        KeptCheckpoint archived = checkpoints().keep(key("asleep"), Optional.empty(), "me");

        assertThat(fileOf(paused, "from-paused")).isEqualTo("one");
        assertThat(fileOf(stopped, "from-stopped")).isEqualTo("two");
        assertThat(fileOf(archived, "from-archived")).isEqualTo("three");
        assertFails(ErrorCode.NOT_FOUND, () -> checkpoints().keep(key("nobody"), Optional.empty(), "me"));
    }

    @Test
    void aNameIsGivenOnceUntilItsCheckpointIsDeleted() {
        server.run("named", "true");
        KeptCheckpoint first = checkpoints().keep(key("named"), Optional.of("name"), "me");
        assertFails(ErrorCode.CONFLICT, () -> checkpoints().keep(key("named"), Optional.of("name"), "me"));
        assertFails(ErrorCode.INVALID, () -> checkpoints().keep(key("named"), Optional.of("a\nb"), "me"));
        assertThat(checkpoints().delete(TENANT, first.id())).isTrue();
        assertThat(checkpoints().keep(key("named"), Optional.of("name"), "me").id())
                .isNotEqualTo(first.id());
    }

    @Test
    void aNameGoesOverToANewCheckpointWhenThatIsThereAndNotBefore() {
        server.run("renewed", "echo first > ~/file");
        KeptCheckpoint first = checkpoints().replace(key("renewed"), "renewed", "me");
        server.run("renewed", "echo second > ~/file");
        KeptCheckpoint second = checkpoints().replace(key("renewed"), "renewed", "me");

        assertThat(checkpoints().find(TENANT, "renewed")).contains(second);
        assertThat(second.name()).contains("renewed");
        assertThat(checkpoints().find(TENANT, first.id())).isEmpty();
        assertThat(atProvider("renewed")).containsExactly(second.checkpoint());
        assertThat(rows("renewed")).isEqualTo(1);

        server.run("lost", "true");
        server.machine()
                .provider()
                .find(server.sessions().find(key("lost")).orElseThrow().sandboxId())
                .orElseThrow()
                .destroy();
        assertFails(ErrorCode.GONE, () -> checkpoints().replace(key("lost"), "renewed", "me"));
        assertThat(checkpoints().find(TENANT, "renewed")).contains(second);
    }

    @Test
    void checkpointsAreListedPageByPageTheNewestFirst() {
        server.run("listed", "true");
        KeptCheckpoint a = checkpoints().keep(key("listed"), Optional.of("a"), "me");
        KeptCheckpoint b = checkpoints().keep(key("listed"), Optional.of("b"), "me");
        KeptCheckpoint c = checkpoints().keep(key("listed"), Optional.empty(), "me");
        Optional<String> session = Optional.of("listed");
        List<KeptCheckpoint> first = checkpoints().list(TENANT, session, Optional.empty(), Optional.empty(), 2);
        assertThat(first).containsExactly(c, b);
        Optional<SessionQuery.Cursor> after = Optional.of(new SessionQuery.Cursor(b.createdAt(), b.id()));
        assertThat(checkpoints().list(TENANT, session, Optional.empty(), after, 2))
                .containsExactly(a);
        assertThat(checkpoints().list(TENANT, Optional.empty(), Optional.of("b"), Optional.empty(), 2))
                .containsExactly(b);
        assertThat(checkpoints().list("other", Optional.empty(), Optional.empty(), Optional.empty(), 2))
                .isEmpty();
    }

    @Test
    void aCheckpointThatADeadServerDidNotFinishIsRemovedWithItsRow() {
        server.run("half-made", "true");
        SessionInfo row = server.info("half-made");
        server.database().query(handle -> {
            KeptTable.begin(handle, "abcdefghij0123456789", row, Optional.of("half"));
            return row;
        });
        CheckpointId taken = server.sandbox("half-made")
                .orElseThrow()
                .checkpoint(KeptTable.nameAtProvider("abcdefghij0123456789"))
                .id();
        assertThat(checkpoints().find(TENANT, "half")).isEmpty();
        server.sessions().settle();
        assertThat(atProvider("half-made")).doesNotContain(taken);
        assertThat(rows("half-made")).isZero();
        assertThat(checkpoints()
                        .keep(key("half-made"), Optional.of("half"), "me")
                        .name())
                .contains("half");
    }

    @Test
    void aRemovalThatADeadServerDidNotFinishIsFinishedThoughItsSessionIsGone() {
        server.run("half-removed", "true");
        KeptCheckpoint kept = checkpoints().keep(key("half-removed"), Optional.empty(), "me");
        server.sessions().delete(key("half-removed"));
        server.database().query(handle -> KeptTable.beginRemoval(handle, kept.id()));
        assertThat(atProvider("half-removed")).containsExactly(kept.checkpoint());
        server.sessions().settle();
        assertThat(atProvider("half-removed")).isEmpty();
        assertThat(rows("half-removed")).isZero();
    }

    @Test
    void aCheckpointThatIsGoneAtTheProviderIsForgottenAndOneThatIsThereIsNot() {
        server.run("gone", "true");
        KeptCheckpoint gone = checkpoints().keep(key("gone"), Optional.empty(), "me");
        KeptCheckpoint there = checkpoints().keep(key("gone"), Optional.empty(), "me");
        server.machine().provider().deleteCheckpoint(gone.checkpoint());
        server.sessions().settle();
        assertThat(checkpoints().find(TENANT, gone.id())).isEmpty();
        assertThat(checkpoints().find(TENANT, there.id())).contains(there);
        assertThat(atProvider("gone")).containsExactly(there.checkpoint());
    }

    @Test
    void aSessionIsForkedIntoManyAtOnceAndEachHasItsOwnOutcome() {
        Expiry expiry = new Expiry(Duration.ofMinutes(5), Expiry.Then.PAUSE, false);
        try (Session session = server.sessions()
                .create(key("many"), SPEC.withMetadata(Map.of("a", "1")).withExpiry(expiry))) {
            run(session, "echo same > ~/file");
        }
        server.resolve("taken").close();
        List<SessionKey> targets = List.of(key("fork1"), key("taken"), key("fork2"), key("fork3"));
        Expiry other = new Expiry(Duration.ofMinutes(1), Expiry.Then.DELETE, false);

        List<Forked> forks = server.sessions().fork(key("many"), targets, (_, spec) -> spec.withExpiry(other), "me");

        assertThat(forks).extracting(Forked::key).containsExactlyElementsOf(targets);
        for (Forked fork : forks) {
            switch (fork) {
                case Forked.Made(SessionKey key, Session made) -> {
                    try (made) {
                        assertThat(key.id()).startsWith("fork");
                        assertThat(run(made, "cat ~/file")).isEqualTo("same");
                        assertThat(made.info().metadata()).containsEntry("a", "1");
                        assertThat(made.info().expiry()).contains(other);
                    }
                }
                case Forked.Failed(SessionKey key, var why) -> {
                    assertThat(key).isEqualTo(key("taken"));
                    assertThat(why.code()).isEqualTo(ErrorCode.CONFLICT);
                }
            }
        }
        assertThat(atProvider("many")).isEmpty();
        assertThat(server.info("many").expiry()).contains(expiry);
        assertFails(
                ErrorCode.NOT_FOUND, () -> server.sessions().fork(key("no-such"), targets, (_, spec) -> spec, "me"));
    }

    @Test
    void forksThatWereMadeAreNotLostWhenTheirCheckpointCannotBeDeleted() {
        server.run("undeletable", "echo same > ~/file");
        server.restartAround(real -> CuttingProvider.before(real, "deleteCheckpoint", () -> {
            throw SandboxException.unavailable("no");
        }));
        try {
            List<Forked> forks =
                    server.sessions().fork(key("undeletable"), List.of(key("made")), (_, spec) -> spec, "me");
            assertThat(forks).hasSize(1).first().isInstanceOfSatisfying(Forked.Made.class, made -> {
                try (Session session = made.session()) {
                    assertThat(run(session, "cat ~/file")).isEqualTo("same");
                }
            });
            try (Session session =
                    server.sessions().fork(key("undeletable"), OptionalInt.empty(), key("made-too"), "me")) {
                assertThat(run(session, "cat ~/file")).isEqualTo("same");
            }
        } finally {
            server.restartAround(real -> real);
        }
    }

    @Test
    void noForkIsMadeIfOneOfThemCannotBeSaid() {
        server.run("unsaid", "true");
        List<SessionKey> targets = List.of(key("unsaid1"), key("unsaid2"));
        assertFails(
                ErrorCode.INVALID,
                () -> server.sessions()
                        .fork(
                                key("unsaid"),
                                targets,
                                (target, spec) -> target.equals(targets.getLast())
                                        ? spec.withMetadata(Map.of("k", "x".repeat(100_000)))
                                        : spec,
                                "me"));
        targets.forEach(target -> assertThat(server.sessions().find(target)).isEmpty());
    }

    @Test
    void aSessionThatIsJustBeingRemovedIsNotMadeAnewToBeForkedOrKept() {
        server.run("removed", "true");
        server.sessions().archive(key("removed"));
        // As if the removal came between the look at the session and what brings it up.
        server.sessions().delete(key("removed"));
        assertFails(ErrorCode.NOT_FOUND, () -> bringUpExisting("removed"));
        assertFails(ErrorCode.NOT_FOUND, () -> bringUpExisting("never-there"));
        assertFails(
                ErrorCode.NOT_FOUND,
                () -> server.sessions().fork(key("removed"), OptionalInt.empty(), key("removed-fork"), "me"));
        assertFails(ErrorCode.NOT_FOUND, () -> server.sessions().rollback(key("removed"), 0, "me"));
        assertThat(server.state("removed")).isEqualTo(SessionState.DESTROYED);
        assertThat(server.sessions().find(key("never-there"))).isEmpty();
    }

    private static void bringUpExisting(String id) {
        server.sessions().resolveExisting(key(id)).close();
    }

    private static Checkpoints checkpoints() {
        return server.sessions().checkpoints();
    }

    private static String fileOf(KeptCheckpoint kept, String id) {
        try (Session session = server.sessions().create(key(id), SPEC, kept)) {
            return run(session, "cat ~/file");
        }
    }

    private static List<CheckpointId> atProvider(String id) {
        return server.machine().provider().checkpoints().stream()
                .filter(point -> point.sandbox().equals(key(id).sandboxId()))
                .map(Checkpoint::id)
                .toList();
    }

    private static long rows(String id) {
        return server.database()
                .query(handle -> handle.createQuery("SELECT count(*) FROM kept_checkpoints WHERE session = :id")
                        .bind("id", id)
                        .mapTo(Long.class)
                        .one());
    }
}
