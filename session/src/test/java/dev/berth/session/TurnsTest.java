package dev.berth.session;

import static dev.berth.session.Conditions.assertFails;
import static dev.berth.session.TestingSessions.SPEC;
import static dev.berth.session.TestingSessions.key;
import static dev.berth.session.TestingSessions.run;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.ErrorCode;
import java.util.OptionalInt;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Turns of a conversation, and going back to before one of them. Needs root and crun. */
class TurnsTest {
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
    void goesBackToBeforeATurn() {
        try (Session session = conversation("back", 10)) {
            turnThatWrites(session, "one");
            turnThatWrites(session, "two");
            turnThatReads(session);
            turnThatWrites(session, "four");
            server.sessions().rollback(key("back"), 4, "me");
            assertThat(run(session, "cat ~/file")).isEqualTo("two");
            server.sessions().rollback(key("back"), 2, "me");
            assertThat(run(session, "cat ~/file")).isEqualTo("one");
            assertThat(session.info().turn()).isEqualTo(4);
        }
        assertThat(server.sessions().turns().kept(key("back")))
                .extracting(Turns.Kept::turn)
                .containsExactly(4, 2, 1);
    }

    @Test
    void aTurnThatWroteNothingIsTheSameAsTheNextThatDid() {
        try (Session session = conversation("quiet", 10)) {
            turnThatWrites(session, "one");
            turnThatReads(session);
            turnThatWrites(session, "three");
            turnThatReads(session);
            server.sessions().rollback(key("quiet"), 4, "me");
            assertThat(run(session, "cat ~/file"))
                    .as("nothing was written since")
                    .isEqualTo("three");
            server.sessions().rollback(key("quiet"), 2, "me");
            assertThat(run(session, "cat ~/file")).isEqualTo("one");
        }
    }

    @Test
    void onlyTheFirstWriteOfATurnIsKept() {
        try (Session session = conversation("first", 10)) {
            turnThatWrites(session, "one");
            session.beforeWrite();
            run(session, "echo more >> ~/file");
            server.sessions().rollback(key("first"), 1, "me");
            assertThat(run(session, "test -e ~/file || echo nothing")).isEqualTo("nothing");
        }
        assertThat(server.machine().provider().checkpoints())
                .filteredOn(point -> point.sandbox().equals(key("first").sandboxId()))
                .hasSize(1);
    }

    @Test
    void keepsTheLastTurnsOnlyAndSaysWhichOnes() {
        try (Session session = conversation("few", 2)) {
            for (String text : new String[] {"one", "two", "three", "four"}) {
                turnThatWrites(session, text);
            }
            assertThat(server.sessions().turns().kept(key("few")))
                    .extracting(Turns.Kept::turn)
                    .containsExactly(4, 3);
            assertFails(
                    ErrorCode.NOT_FOUND,
                    () -> server.sessions().rollback(key("few"), 1, "me"),
                    e -> assertThat(e.getMessage()).contains("[4, 3]"));
            assertFails(ErrorCode.INVALID, () -> server.sessions().rollback(key("few"), 9, "me"));
        }
        assertThat(server.machine().provider().checkpoints())
                .filteredOn(point -> point.sandbox().equals(key("few").sandboxId()))
                .hasSize(2);
    }

    @Test
    void aSecondConversationStartsFromATurnOfTheFirst() {
        try (Session session = conversation("origin", 10)) {
            turnThatWrites(session, "one");
            turnThatWrites(session, "two");
            try (Session fork = server.sessions().fork(key("origin"), OptionalInt.of(2), key("fork"), "me")) {
                assertThat(run(fork, "cat ~/file")).isEqualTo("one");
                run(fork, "echo mine > ~/file");
                assertThat(run(session, "cat ~/file")).isEqualTo("two");
            }
            assertFails(
                    ErrorCode.CONFLICT,
                    () -> server.sessions().fork(key("origin"), OptionalInt.of(2), key("fork"), "me"));
            try (Session now = server.sessions().fork(key("origin"), OptionalInt.empty(), key("fork-now"), "me")) {
                assertThat(run(now, "cat ~/file")).isEqualTo("two");
            }
        }
        assertThat(server.sessions().turns().kept(key("origin")))
                .extracting(Turns.Kept::turn)
                .containsExactly(2, 1);
        assertThat(server.info("fork").turn()).isZero();
    }

    @Test
    void checkpointsThatNoTurnKnowsAreRemovedAndTurnsWhoseCheckpointIsGoneForgotten() {
        try (Session session = conversation("settled", 10)) {
            turnThatWrites(session, "one");
            turnThatWrites(session, "two");
            session.sandbox().checkpoint("left by a dead server");
            server.machine().provider().checkpoints().stream()
                    .filter(point -> point.sandbox().equals(key("settled").sandboxId())
                            && point.name().equals("turn-1"))
                    .forEach(point -> server.machine().provider().deleteCheckpoint(point.id()));
        }
        server.sessions().settle();
        assertThat(server.sessions().turns().kept(key("settled")))
                .extracting(Turns.Kept::turn)
                .containsExactly(2);
        assertFails(ErrorCode.NOT_FOUND, () -> server.sessions().rollback(key("settled"), 1, "me"));
        assertThat(server.machine().provider().checkpoints())
                .filteredOn(point -> point.sandbox().equals(key("settled").sandboxId()))
                .singleElement()
                .satisfies(point -> assertThat(point.name()).isEqualTo("turn-2"));
    }

    @Test
    void aDeletedSessionLeavesNoCheckpoint() {
        try (Session session = conversation("removed", 10)) {
            turnThatWrites(session, "one");
        }
        server.sessions().delete(key("removed"));
        assertThat(server.machine().provider().checkpoints())
                .noneMatch(point -> point.sandbox().equals(key("removed").sandboxId()));
    }

    private static Session conversation(String id, int keep) {
        return server.sessions().resolve(key(id), SPEC.withAutoCheckpoints(keep));
    }

    private static void turnThatWrites(Session session, String text) {
        session.beginTurn("me");
        session.beforeWrite();
        run(session, "echo " + text + " > ~/file");
    }

    private static void turnThatReads(Session session) {
        session.beginTurn("me");
        run(session, "cat ~/file");
    }
}
