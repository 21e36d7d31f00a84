package dev.berth.session;

import static dev.berth.session.Conditions.assertFails;
import static dev.berth.session.Conditions.await;
import static dev.berth.session.TestingSessions.SPEC;
import static dev.berth.session.TestingSessions.key;
import static dev.berth.session.TestingSessions.run;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.SandboxState;
import dev.berth.sandbox.local.Mischief;
import java.io.ByteArrayInputStream;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Every row of the failure matrix, forced for real. Needs root and crun. */
class FailureMatrixTest {
    private static TestingSessions server;
    private static Mischief mischief;

    @BeforeAll
    static void start() {
        server = new TestingSessions();
        mischief = new Mischief(server.machine());
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    @Test
    void aSandboxThatIsGoneIsMadeAnewAndTheLossIsTold() {
        server.run("gone", "echo old > ~/file");
        server.sandbox("gone").orElseThrow().destroy();

        try (Session session = server.resolve("gone")) {
            assertThat(run(session, "test -e ~/file || echo nothing")).isEqualTo("nothing");
            Loss loss = session.loss().orElseThrow();
            assertThat(loss.kind()).isEqualTo(Loss.Kind.EVERYTHING);
            assertThat(loss.sentence()).contains("gone at the provider").contains("host");
            session.lossTold();
            assertThat(session.loss()).isEmpty();
        }
        assertThat(server.info("gone").loss()).isEmpty();
        assertThat(types("gone")).contains("sandbox.resolve.recreate");
    }

    @Test
    void aSandboxThatIsGoneIsMadeAgainFromItsNewestCheckpoint() {
        SessionSpec spec = SPEC.withAutoCheckpoints(5);
        try (Session session = server.sessions().resolve(key("checkpointed"), spec)) {
            session.beginTurn("test");
            run(session, "echo one > ~/file");
            session.beginTurn("test");
            session.beforeWrite();
            run(session, "echo two > ~/file");
        }
        server.sandbox("checkpointed").orElseThrow().destroy();

        try (Session session = server.resolve("checkpointed")) {
            assertThat(run(session, "cat ~/file")).isEqualTo("one");
            Loss loss = session.loss().orElseThrow();
            assertThat(loss.kind()).isEqualTo(Loss.Kind.RECENT_FILES);
            assertThat(loss.sentence()).contains("before turn 2");
        }
    }

    @Test
    void aSandboxWhoseSupervisorDiedIsStartedAgainWithItsFiles() throws Exception {
        Sandbox sandbox;
        try (Session session = server.resolve("died")) {
            run(session, "echo kept > ~/file");
            sandbox = session.sandbox();
        }
        mischief.killGuest(sandbox);
        await("stopped and noticed", () -> sandbox.state() == SandboxState.STOPPED && !sandbox.ready());

        try (Session session = server.resolve("died")) {
            assertThat(run(session, "cat ~/file")).isEqualTo("kept");
            assertThat(session.loss().orElseThrow().kind()).isEqualTo(Loss.Kind.PROCESSES);
        }
    }

    @Test
    void aSupervisorThatDoesNotAnswerIsRestarted() throws Exception {
        try (Session session = server.resolve("silent")) {
            run(session, "echo kept > ~/file");
            mischief.suspendGuest(session.sandbox());
            session.suspect();
        }
        try (Session session = server.resolve("silent")) {
            assertThat(run(session, "cat ~/file")).isEqualTo("kept");
            assertThat(session.loss().orElseThrow().reason()).contains("did not answer");
        }
        assertThat(server.meters()
                        .get("berth.session.events")
                        .tag("type", "sandbox.health.retry")
                        .counter()
                        .count())
                .isPositive();
    }

    @Test
    void aSandboxThatSomebodyFrozeIsThawed() throws Exception {
        try (Session session = server.resolve("frozen")) {
            run(session, "sleep 1000 > /dev/null 2>&1 & echo $! > ~/pid");
            mischief.freeze(session.sandbox());
            session.suspect();
        }
        try (Session session = server.resolve("frozen")) {
            assertThat(run(session, "kill -0 $(cat ~/pid) && echo alive")).isEqualTo("alive");
            assertThat(session.loss()).isEmpty();
        }
    }

    @Test
    void aSandboxWhoseDiskIsFullGoesThroughItsLifeWithAllItHas() {
        SessionSpec spec = SPEC.withLimits(Limits.DEFAULT.withDisk(16 << 20));
        try (Session session = server.sessions().resolve(key("full"), spec)) {
            run(session, "echo kept > ~/file; sync");
            var filled = session.sandbox().run(Command.shell("head -c 64M /dev/zero > ~/big; sync"));
            assertThat(filled.stderr()).containsAnyOf("quota", "space");
        }
        server.sessions().stop(key("full"));
        assertThat(server.run("full", "cat ~/file; rm ~/big; echo more > ~/other; cat ~/other"))
                .isEqualTo("kept\nmore");
    }

    @ParameterizedTest
    @CsvSource({
        "creating, RUNNING",
        "creating, STOPPED",
        "resuming, RUNNING",
        "resuming, PAUSED",
        "resuming, STOPPED",
        "pausing, RUNNING",
        "pausing, PAUSED",
        "active, PAUSED",
        "active, STOPPED",
        "paused, RUNNING",
        "error, PAUSED",
        "error, RUNNING",
        "stopped, RUNNING"
    })
    void whatADeadServerLeftHalfDoneIsTakenOver(String state, SandboxState left) {
        String id = state + "-" + left;
        server.run(id, "echo kept > ~/file");
        leave(id, state, left);

        assertThat(server.run(id, "cat ~/file")).isEqualTo("kept");
        assertThat(server.state(id)).isEqualTo(SessionState.ACTIVE);
    }

    @ParameterizedTest
    @CsvSource({
        "creating, RUNNING, ACTIVE", "creating, PAUSED, ACTIVE", "resuming, RUNNING, ACTIVE",
                "resuming, PAUSED, PAUSED",
        "resuming, STOPPED, STOPPED", "pausing, RUNNING, ACTIVE", "pausing, PAUSED, PAUSED", "pausing, STOPPED, STOPPED"
    })
    void whatADeadServerLeftHalfDoneIsSettledWithoutAnyRequest(String state, SandboxState left, SessionState settled) {
        String id = "settled-" + state + "-" + left;
        server.run(id, "echo kept > ~/file");
        leave(id, state, left);

        server.sessions().settle();

        assertThat(server.state(id)).isEqualTo(settled);
        assertThat(server.run(id, "cat ~/file")).isEqualTo("kept");
    }

    @Test
    void aDeletionThatADeadServerBeganIsFinishedBeforeAnythingElse() {
        server.run("deleting", "echo old > ~/file");
        leave("deleting", "deleting", SandboxState.RUNNING);
        assertThat(server.run("deleting", "test -e ~/file || echo nothing")).isEqualTo("nothing");

        server.run("deleting-settled", "echo old > ~/file");
        leave("deleting-settled", "deleting", SandboxState.RUNNING);
        server.sessions().settle();
        assertThat(server.state("deleting-settled")).isEqualTo(SessionState.DESTROYED);
        assertThat(server.sandbox("deleting-settled")).isEmpty();
    }

    @Test
    void aCreationThatADeadServerBeganIsMadeOrUndone() {
        for (String id : new String[] {"begun", "begun-settled"}) {
            server.run(id, "true");
            forget(id);
            server.sandbox(id).orElseThrow().destroy();
            set(id, "state = 'creating', resumed_at = NULL");
        }
        assertThat(server.run("begun", "echo made")).isEqualTo("made");
        assertThat(server.info("begun").loss()).isEmpty();

        server.sessions().settle();
        assertThat(server.state("begun-settled")).isEqualTo(SessionState.DESTROYED);
    }

    @Test
    void aSandboxThatNoRowOwnsIsRemovedAndAStrangersIsNot() {
        server.run("orphan", "true");
        forget("orphan");
        var stranger = server.machine().provider().create(SandboxSpec.of("stranger", "host"));
        server.database().query(handle -> handle.execute("DELETE FROM sessions WHERE id = 'orphan'"));

        server.sessions().settle();

        assertThat(server.sandbox("orphan")).isEmpty();
        assertThat(stranger.state()).isEqualTo(SandboxState.RUNNING);
        stranger.destroy();
    }

    @Test
    void aRowWhoseSandboxIsGoneSaysSoAndTheNextRequestMakesItAgain() {
        server.run("missing", "true");
        forget("missing");
        server.sandbox("missing").orElseThrow().destroy();

        server.sessions().settle();

        assertThat(server.state("missing")).isEqualTo(SessionState.ERROR);
        assertThat(server.info("missing").lastError().orElseThrow()).startsWith("gone:");
        assertThat(server.run("missing", "echo again")).isEqualTo("again");
        assertThat(server.info("missing").lastError()).isEmpty();
    }

    @Test
    void anUnknownTemplateIsAnErrorThatLeavesNothing() {
        SessionSpec spec = SPEC.withTemplate("no-such-template");
        assertFails(ErrorCode.NOT_FOUND, () -> server.sessions().resolve(key("unknown"), spec));
        assertThat(server.state("unknown")).isEqualTo(SessionState.DESTROYED);
        assertThat(server.run("unknown", "echo fine now")).isEqualTo("fine now");
    }

    @Test
    void aSessionOfAnotherMachineIsLeftAlone() {
        server.run("elsewhere", "true");
        forget("elsewhere");
        set("elsewhere", "location = 'local:another'");
        assertFails(
                ErrorCode.CONFLICT,
                () -> server.resolve("elsewhere"),
                e -> assertThat(e.getMessage()).contains("local:another"));
        set("elsewhere", "location = '" + server.machine().provider().location() + "'");
        assertThat(server.run("elsewhere", "echo here")).isEqualTo("here");
    }

    // ---- an agent inside -----------------------------------------------------------------------------------------

    /** A real one, if a small one: a process that listens, and conversations that are files. */
    private static final class Listener implements Resident {
        private int starts;

        @Override
        public boolean healthy(Sandbox sandbox) {
            return sandbox.run(Command.shell("kill -0 $(cat ~/agent.pid)")).code() == 0;
        }

        @Override
        public void start(Sandbox sandbox, SessionInfo session) {
            starts++;
            sandbox.start(Command.shell("echo $$ > ~/agent.pid; exec sleep 1000")
                            .withTag("agent"))
                    .close();
        }

        @Override
        public String converse(Sandbox sandbox, Optional<String> conversation) {
            if (conversation
                    .filter(id -> sandbox.files().exists("conversation-" + id))
                    .isPresent()) {
                return conversation.get();
            }
            String id = UUID.randomUUID().toString();
            sandbox.files().write("conversation-" + id, new ByteArrayInputStream(new byte[0]));
            return id;
        }
    }

    @Test
    void anAgentThatDiedIsStartedAgainAndKeepsItsConversation() {
        Listener agent = new Listener();
        server.residents(session -> session.key().id().equals("agent") ? Optional.of(agent) : Optional.empty());
        String conversation;
        try (Session session = server.resolve("agent")) {
            conversation = session.info().agentSessionId().orElseThrow();
            run(session, "kill $(cat ~/agent.pid); while kill -0 $(cat ~/agent.pid) 2> /dev/null; do :; done");
            session.suspect();
        }
        try (Session session = server.resolve("agent")) {
            assertThat(agent.starts).isEqualTo(2);
            assertThat(session.info().agentSessionId()).contains(conversation);
            run(session, "kill -0 $(cat ~/agent.pid); rm ~/conversation-*");
            session.suspect();
        }
        try (Session session = server.resolve("agent")) {
            assertThat(agent.starts).isEqualTo(2);
            assertThat(session.info().agentSessionId()).isNotEmpty().isNotEqualTo(Optional.of(conversation));
        }
        assertThat(types("agent")).contains("sandbox.session.replaced");
    }

    // ---- a provider that refuses ---------------------------------------------------------------------------------

    @Test
    void aProviderThatCannotBeReachedIsAnErrorWithBackOffAndNothingIsGivenUp() {
        try (TestingSessions shaky = new TestingSessions()) {
            shaky.run("shaky", "echo kept > ~/file");
            ShakyProvider.Switch broken = new ShakyProvider.Switch();
            shaky.restartAround(provider -> new ShakyProvider(provider, broken));
            broken.refuse(SandboxException.unavailable("the provider is on holiday"));

            assertUnavailable(() -> shaky.resolve("shaky"), "on holiday");
            SessionInfo row = shaky.info("shaky");
            assertThat(row.state()).isEqualTo(SessionState.ERROR);
            assertThat(row.lastError().orElseThrow()).contains("on holiday");
            assertThat(row.resumeFailCount()).isEqualTo(1);
            assertUnavailable(() -> shaky.resolve("shaky"), "tried again in");
            assertThat(shaky.info("shaky").resumeFailCount())
                    .as("not tried before its time")
                    .isEqualTo(1);

            broken.mend();
            await("time to retry", () -> Instant.now().isAfter(row.retryAt().orElseThrow()));
            assertThat(shaky.run("shaky", "cat ~/file")).isEqualTo("kept");
            assertThat(shaky.info("shaky").resumeFailCount()).isZero();
            assertThat(shaky.info("shaky").loss()).isEmpty();
        }
    }

    @Test
    void aDeletionThatFailsIsPutBackAndTriedAgainUntilItSucceeds() {
        try (TestingSessions shaky = new TestingSessions()) {
            shaky.run("shaky", "true");
            ShakyProvider.Switch broken = new ShakyProvider.Switch();
            shaky.restartAround(provider -> new ShakyProvider(provider, broken));
            broken.refuse(SandboxException.unavailable("the provider is on holiday"));

            assertUnavailable(() -> shaky.sessions().delete(key("shaky")), "on holiday");
            assertThat(shaky.state("shaky")).isEqualTo(SessionState.ERROR);
            assertThat(shaky.info("shaky").lastError().orElseThrow()).contains("on holiday");

            broken.mend();
            await("deleted", () -> {
                shaky.sessions().sweep();
                return shaky.state("shaky") == SessionState.DESTROYED;
            });
            assertThat(shaky.sandbox("shaky")).isEmpty();
        }
    }

    private static void assertUnavailable(ThrowingCallable call, String message) {
        assertFails(ErrorCode.UNAVAILABLE, call, e -> assertThat(e.getMessage()).contains(message));
    }

    // ---- as a dead server would leave it -------------------------------------------------------------------------

    private static void leave(String id, String state, SandboxState left) {
        forget(id);
        Sandbox sandbox = server.sandbox(id).orElseThrow();
        switch (left) {
            case RUNNING -> sandbox.wake();
            case PAUSED -> sandbox.pause();
            case STOPPED -> sandbox.stop();
            case DESTROYED -> sandbox.destroy();
        }
        set(id, "state = '" + state + "'");
    }

    /** The memory of the server that died. */
    private static void forget(String id) {
        server.forget(key(id));
    }

    private static void set(String id, String assignments) {
        server.database()
                .query(handle -> handle.createUpdate(
                                "UPDATE sessions SET version = version + 1, " + assignments + " WHERE id = :id")
                        .bind("id", id)
                        .execute());
    }

    private static List<String> types(String id) {
        return server.sessions().events().read(key(id), 0, 1000).stream()
                .map(LoggedEvent::type)
                .toList();
    }
}
