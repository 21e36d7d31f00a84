package dev.berth.channel;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.agent.AgentConfig;
import dev.berth.agent.AgentEvent.Outcome;
import dev.berth.agent.run.Choices;
import dev.berth.agent.run.Run;
import dev.berth.agent.run.RunEvent;
import dev.berth.channel.Inbox.Answer;
import dev.berth.channel.Inbox.Received;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.Session;
import dev.berth.session.SessionEvent;
import dev.berth.session.SessionKey;
import dev.berth.session.TestingSessions;
import dev.berth.session.artifact.Artifacts;
import dev.berth.session.artifact.ArtifactsConfig;
import dev.berth.session.job.JobListener;
import dev.berth.session.job.JobRequest;
import dev.berth.session.job.Jobs;
import dev.berth.session.job.JobsConfig;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Conversations in sessions with real sandboxes and a real database; the agent does what the test says. Needs root and crun. */
@Timeout(180)
final class ConversationsTest {
    private static final ConversationsConfig CONFIG = new ConversationsConfig(
            Duration.ofSeconds(2),
            Duration.ofMillis(100),
            Duration.ofMillis(10),
            Duration.ofMillis(20),
            Duration.ofHours(1),
            1 << 20,
            "workspace");
    private static final Person ANNA = new Person("U1", "Anna");
    private static final Person BERT = new Person("U2", "Bert");

    private static TestingSessions berth;
    private static Artifacts artifacts;
    private static Jobs jobs;

    /** Of its own for each test, as all of them share a database. */
    private final String name = "chat" + UUID.randomUUID().toString().substring(0, 8);

    private final RecordingChannel channel = new RecordingChannel(name);
    private final List<Conversations> opened = new ArrayList<>();
    private final List<String> decided = new ArrayList<>();
    private final Place place = new Place(name, "T1", "C1", "17.01");
    private Rules rules = Rules.OPEN;
    private ScriptedAgents agents;

    @BeforeAll
    static void start() {
        berth = new TestingSessions();
        artifacts = Artifacts.open(
                ArtifactsConfig.in(berth.machine().data().resolve("artifacts")),
                berth.database(),
                berth.sessions().events(),
                (_, _) -> "text/plain",
                InstantSource.system(),
                new SecureRandom());
        jobs = Jobs.open(
                JobsConfig.DEFAULT, berth.sessions(), berth.machine().provider(), berth.database(), JobListener.NONE);
    }

    @AfterAll
    static void stop() {
        jobs.close();
        berth.close();
    }

    @BeforeEach
    void begin() {
        agents = new ScriptedAgents(berth.sessions());
    }

    @AfterEach
    void close() {
        channel.goOn();
        opened.forEach(Conversations::close);
    }

    private Conversations open() {
        Channels channels = new Channels();
        channels.add(channel);
        Choices choices = _ -> new Choices.Choice(
                "scripted",
                new AgentConfig(
                        "",
                        new AgentConfig.Model("p", "m", Optional.empty(), "openai-completions", Optional.empty()),
                        AgentConfig.Patience.DEFAULT),
                TestingSessions.SPEC);
        Parts parts = new Parts(
                CONFIG,
                channels,
                agents,
                choices,
                berth.sessions(),
                artifacts,
                jobs,
                berth.database(),
                "server-" + UUID.randomUUID());
        Desk desk = new Desk() {
            @Override
            public Optional<String> requester(SessionKey session, String approval) {
                return approval.equals("a1") ? Optional.of(Conversations.actor(place, ANNA)) : Optional.empty();
            }

            @Override
            public void decide(SessionKey session, String approval, String person, Answer answer) {
                if (!decided.isEmpty()) {
                    throw SandboxException.conflict("this was approved already");
                }
                decided.add(session.id() + " " + approval + " " + person + " " + answer);
            }
        };
        Conversations conversations =
                Conversations.open(parts, (_, _) -> rules, desk, InstantSource.system(), new SecureRandom());
        opened.add(conversations);
        return conversations;
    }

    private Incoming message(String id, String text, Incoming.Attachment... files) {
        return new Incoming(place, ANNA, id, text, List.of(files), "reply-" + id);
    }

    private record Bytes(String name, long size, int really) implements Incoming.Attachment {
        @Override
        public InputStream open() throws IOException {
            if (really < 0) {
                throw new IOException("https://token@secret.example did not answer");
            }
            return new ByteArrayInputStream("x".repeat(really).getBytes(UTF_8));
        }
    }

    private static void await(String what, BooleanSupplier condition) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).as("waited in vain: " + what).isLessThan(deadline);
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
        }
    }

    private Run said(int number) {
        await("message " + number + " is said", () -> agents.said(place).size() >= number);
        return agents.said(place).get(number - 1).run();
    }

    private void awaitBoard(String what, Predicate<Board> condition) {
        await(what, () -> channel.board(place).filter(condition).isPresent());
    }

    private Board awaitEnd() {
        await("the end is shown", () -> !channel.ends(place).isEmpty());
        return channel.ends(place).getFirst();
    }

    private SessionKey key() {
        return SessionKey.of(SessionKey.DEFAULT_TENANT, place.session());
    }

    private long count(String table) {
        return berth.database()
                .query(handle -> handle.createQuery("SELECT count(*) FROM " + table
                                + " t JOIN channel_places p ON p.number = t.place WHERE p.channel = :channel")
                        .bind("channel", name)
                        .mapTo(Long.class)
                        .one());
    }

    private String memo() {
        return berth.database()
                .query(handle -> handle.createQuery("""
                                SELECT d.memo FROM channel_deliveries d JOIN channel_places p ON p.number = d.place
                                WHERE p.channel = :channel""")
                        .bind("channel", name)
                        .mapTo(String.class)
                        .one());
    }

    // ---- messages ------------------------------------------------------------------------------------------------

    @Test
    void aMessageBecomesARunThatIsShownToItsEnd() {
        Conversations conversations = open();
        assertThat(conversations.knows(place)).isFalse();
        assertThat(conversations.message(message("1", "Count the\0 files"))).isEqualTo(Received.BEGUN);
        assertThat(conversations.knows(place)).isTrue();
        Run run = said(1);
        assertThat(agents.said(place).getFirst().message().text()).isEqualTo("Count the files");
        assertThat(agents.said(place).getFirst().message().person()).contains("Anna");
        awaitBoard("it is thinking", board -> board.status().equals(BoardBuilder.THINKING));
        agents.log(run, new RunEvent.ToolStarted(run.id(), "c", "bash", "ls | wc -l", Map.of()));
        agents.log(run, new RunEvent.ToolEnded(run.id(), "c", true, "7"));
        agents.log(run, new RunEvent.Text(run.id(), "There are 7."));
        awaitBoard("the text is there", board -> board.text().equals("There are 7."));
        agents.end(run, Outcome.DONE, Optional.empty());
        Board end = awaitEnd();
        assertThat(end.end()).contains(new Board.End(true, Optional.empty()));
        assertThat(end.requester()).isEqualTo(ANNA);
        assertThat(end.steps()).containsExactly(new Board.Step("c", "ls | wc -l", Board.Step.State.DONE, "7"));
        List<RecordingChannel.Shown> shown = channel.shown();
        assertThat(shown).allMatch(one -> one.reply().equals("reply-1"));
        for (int i = 1; i < shown.size(); i++) {
            assertThat(shown.get(i).memo()).isEqualTo("memo-" + i);
        }
    }

    @Test
    void aMessageThatComesTwiceIsSaidOnce() {
        Conversations conversations = open();
        conversations.message(message("1", "one"));
        assertThat(conversations.message(message("1", "one"))).isEqualTo(Received.KNOWN);
        Run run = said(1);
        assertThat(conversations.message(message("1", "edited"))).isEqualTo(Received.KNOWN);
        agents.end(run, Outcome.DONE, Optional.empty());
        awaitEnd();
        assertThat(open().message(message("1", "one"))).isEqualTo(Received.KNOWN);
        assertThat(agents.said(place)).hasSize(1);
    }

    @Test
    void messagesDuringARunSteerItAndItIsShownOnce() {
        Conversations conversations = open();
        conversations.message(message("1", "one"));
        Run run = said(1);
        assertThat(conversations.message(message("2", "two"))).isEqualTo(Received.STEERED);
        assertThat(conversations.message(message("3", "three"))).isEqualTo(Received.STEERED);
        said(3);
        assertThat(agents.said(place).stream().map(said -> said.message().text()))
                .containsExactly("one", "two", "three");
        agents.end(run, Outcome.DONE, Optional.empty());
        awaitEnd();
        assertThat(count("channel_deliveries")).isEqualTo(1);
        await(
                "the delivery is closed",
                () -> conversations
                        .overview(name, "T1", ANNA)
                        .getFirst()
                        .state()
                        .equals("active"));
        assertThat(conversations.message(message("4", "four"))).isEqualTo(Received.BEGUN);
    }

    @Test
    void filesComeIntoTheWorkspaceUnderSafeNamesAndBadOnesAreTold() {
        Conversations conversations = open();
        conversations.message(message(
                "1",
                "look",
                new Bytes("../../etc/passwd", 3, 3),
                new Bytes("passwd", 4, 4),
                new Bytes("liar.zip", 10, 2 << 20),
                new Bytes("gone.txt", 1, -1)));
        said(1);
        var words = agents.said(place).getFirst().message();
        assertThat(words.files()).containsExactly("uploads/passwd", "uploads/passwd (2)");
        assertThat(words.text()).contains("liar.zip", "larger than the 1 MB", "gone.txt", "could not be fetched");
        try (Session session = berth.sessions().resolve(key())) {
            var result = session.sandbox().run(Command.shell("cd ~/workspace/uploads && wc -c *"));
            assertThat(result.stdout()).contains("3 passwd\n", "4 passwd (2)\n").doesNotContain("liar");
        }
        await("the person is told", () -> !channel.said().isEmpty());
        assertThat(channel.said().getFirst().text())
                .contains("liar.zip", "gone.txt")
                .doesNotContain("secret.example");
    }

    @Test
    void whoeverIsNotOnTheListIsNotListenedTo() {
        rules = new Rules("default", Set.of("C1"), Set.of("U1"), Set.of(), new Rules.Rate(5, 5));
        Conversations conversations = open();
        assertThat(conversations.message(new Incoming(place, BERT, "1", "hello", List.of(), "")))
                .isEqualTo(Received.NOT_ALLOWED);
        Place other = new Place(name, "T1", "C2", "");
        assertThat(conversations.message(new Incoming(other, ANNA, "1", "hello", List.of(), "")))
                .isEqualTo(Received.NOT_ALLOWED);
        assertThat(conversations.knows(place)).isFalse();
        assertThat(conversations.message(message("1", "hello"))).isEqualTo(Received.BEGUN);
        said(1);
        assertThat(conversations.stop(place, BERT)).isFalse();
        assertThat(conversations.command(place, BERT, "stop")).contains("may not");
        assertThat(agents.done()).isEmpty();
    }

    @Test
    void whoeverAsksTooMuchHasToWait() {
        rules = new Rules("default", Set.of(), Set.of(), Set.of(), new Rules.Rate(2, 1));
        Conversations conversations = open();
        assertThat(conversations.message(message("1", "a"))).isEqualTo(Received.BEGUN);
        assertThat(conversations.message(message("2", "b"))).isEqualTo(Received.STEERED);
        assertThat(conversations.message(message("2", "b"))).isEqualTo(Received.KNOWN);
        assertThat(conversations.message(message("3", "c"))).isEqualTo(Received.TOO_MANY);
        assertThat(conversations.message(new Incoming(place, BERT, "4", "d", List.of(), "")))
                .isEqualTo(Received.STEERED);
    }

    @Test
    void aMessageThatIsRefusedSaysWhyWhereItWasWritten() {
        agents.refuseWith(SandboxException.unsupported("this template has no agent; choose the template 'agent'"));
        open().message(message("1", "hello"));
        assertThat(awaitEnd().end().orElseThrow().note().orElseThrow())
                .contains("not taken", "this template has no agent");
        agents.refuseWith(null);
        open().message(message("2", "again"));
        said(1);
    }

    @Test
    void aMessageIsSaidWhenTheAgentCanBeReachedAgain() {
        agents.refuseWith(SandboxException.unavailable("the database cannot be used right now"));
        Conversations conversations = open();
        conversations.message(message("1", "hello"));
        agents.refuseWith(null);
        said(1);
    }

    // ---- servers that die ----------------------------------------------------------------------------------------

    @Test
    void anotherServerGoesOnWithARunAndShowsItsEndOnce() {
        Conversations first = open();
        first.message(message("1", "hello"));
        Run run = said(1);
        agents.log(run, new RunEvent.Text(run.id(), "It is "));
        awaitBoard("the text is there", board -> board.text().equals("It is "));
        int before = channel.shown().size();
        await("what the channel said is kept", () -> memo().equals("memo-" + before));
        first.halt(Duration.ZERO);
        agents.log(run, new RunEvent.Text(run.id(), "done."));
        agents.end(run, Outcome.DONE, Optional.empty());
        open();
        open();
        assertThat(awaitEnd().text()).isEqualTo("It is done.");
        assertThat(channel.shown().get(before).memo()).isEqualTo("memo-" + before);
        assertThat(channel.shown().subList(before, channel.shown().size()))
                .as("nothing of what was there is taken back")
                .allMatch(one -> one.board().text().startsWith("It is "));
        await(
                "nothing is left to do",
                () -> berth.database()
                        .query(handle -> handle.createQuery("""
                                SELECT NOT EXISTS (SELECT FROM channel_deliveries d JOIN channel_places p ON p.number = d.place
                                WHERE p.channel = :channel AND d.state = 'open')""")
                                .bind("channel", name)
                                .mapTo(Boolean.class)
                                .one()));
        assertThat(channel.ends(place)).hasSize(1);
    }

    @Test
    void aMessageThatAServerDiedOverIsSaidOnceByAnother() {
        Conversations first = open();
        agents.whenSaid(() -> {
            agents.whenSaid(null);
            first.halt(Duration.ZERO);
            throw new IllegalStateException("killed");
        });
        first.message(message("1", "hello"));
        Run run = said(1);
        agents.end(run, Outcome.DONE, Optional.empty());
        open();
        awaitEnd();
        assertThat(agents.said(place)).hasSize(1);
    }

    @Test
    void aMessageThatWasOnlyWrittenDownIsSaidByAnotherServerWithoutItsFiles() {
        Conversations first = open();
        first.halt(Duration.ZERO);
        first.message(message("1", "hello", new Bytes("a.txt", 1, 1)));
        open();
        said(1);
        var words = agents.said(place).getFirst().message();
        assertThat(words.files()).isEmpty();
        assertThat(words.text()).startsWith("hello").contains("a.txt", "send it again");
    }

    @Test
    void aRunWhoseLastEventWasLostEndsAllTheSame() {
        open().message(message("1", "hello"));
        Run run = said(1);
        awaitBoard("it is shown", _ -> true);
        agents.endSilently(run, Outcome.DONE, Optional.empty());
        assertThat(awaitEnd().text()).isEqualTo("what it said");
    }

    // ---- services that fail --------------------------------------------------------------------------------------

    @Test
    void whatAServiceDoesNotTakeIsShownAgain() {
        Conversations conversations = open();
        channel.failWith(
                new ChannelException("busy", Duration.ofMillis(30)), new ChannelException("down", new IOException()));
        conversations.message(message("1", "hello"));
        Run run = said(1);
        agents.end(run, Outcome.DONE, Optional.empty());
        awaitEnd();
        assertThat(channel.ends(place)).hasSize(1);
    }

    @Test
    void aServiceThatDoesNotWantItIsNotAskedAgain() {
        Conversations conversations = open();
        channel.failWith(new ChannelException("the room was removed", true));
        conversations.message(message("1", "hello"));
        said(1);
        await(
                "it is given up",
                () -> berth.database()
                        .query(handle -> handle.createQuery("""
                                SELECT EXISTS (SELECT FROM channel_deliveries d JOIN channel_places p ON p.number = d.place
                                WHERE p.channel = :channel AND d.state = 'given_up')""")
                                .bind("channel", name)
                                .mapTo(Boolean.class)
                                .one()));
        assertThat(channel.shown()).isEmpty();
    }

    @Test
    void aSlowServiceSeesFewerBoardsAndTheWholeEnd() {
        Conversations conversations = open();
        channel.hold();
        conversations.message(message("1", "hello"));
        Run run = said(1);
        for (int i = 0; i < 300; i++) {
            agents.log(run, new RunEvent.Text(run.id(), "x"));
        }
        agents.end(run, Outcome.DONE, Optional.empty());
        await(
                "all is in the log",
                () -> !berth.sessions()
                        .events()
                        .read(key(), run.firstEvent() + 300, 1)
                        .isEmpty());
        channel.goOn();
        assertThat(awaitEnd().text()).hasSize(300);
        assertThat(channel.shown()).hasSizeLessThan(20);
    }

    // ---- what belongs to no run ----------------------------------------------------------------------------------

    private SessionEvent file(String id, Optional<Run> run) {
        SessionEvent event = SessionEvent.of("artifact.made")
                .with("artifact_id", id)
                .with("name", id + ".csv")
                .with("mime_type", "text/csv")
                .with("size", 7);
        return run.map(of -> event.with("run_id", of.id())).orElse(event);
    }

    private List<String> toldFiles() {
        return channel.said().stream()
                .flatMap(said -> said.files().stream())
                .map(Board.Shown::artifact)
                .toList();
    }

    @Test
    void filesOfARunAreOnItsBoardAndLateOnesAreToldOnce() {
        Conversations first = open();
        first.message(message("1", "hello"));
        Run run = said(1);
        berth.sessions().events().append(key(), file("early", Optional.of(run)));
        agents.end(run, Outcome.DONE, Optional.empty());
        assertThat(awaitEnd().files())
                .containsExactly(new Board.Shown("early", "early.csv", "early.csv", "text/csv", 7));
        berth.sessions().events().append(key(), file("late", Optional.of(run)));
        await("the late one is told", () -> !toldFiles().isEmpty());
        first.close();
        berth.sessions().events().append(key(), file("alone", Optional.empty()));
        open();
        open();
        await("the other one is told", () -> toldFiles().size() >= 2);
        assertThat(toldFiles()).containsExactly("late", "alone");
    }

    @Test
    void theEndOfAJobIsToldWhereItsSessionTalks() {
        Conversations conversations = open();
        conversations.message(message("1", "hello"));
        Run run = said(1);
        agents.end(run, Outcome.DONE, Optional.empty());
        channel.failWith(new ChannelException("busy", Duration.ofMillis(10)));
        try (Session session = berth.sessions().resolve(key())) {
            String command = "echo `; exit 3";
            jobs.start(session, new JobRequest(command, Command.shell("exit 3"), "test", Optional.empty()));
        }
        await("it is told", () -> !channel.said().isEmpty());
        assertThat(channel.said().getFirst().place()).isEqualTo(place);
        assertThat(channel.said().getFirst().text())
                .isEqualTo("The job `echo '; exit 3` failed: it ended with exit code 3.");
        assertThat(conversations.command(place, ANNA, "jobs")).contains("exit 3", "failed");
    }

    // ---- what people decide and ask for --------------------------------------------------------------------------

    @Test
    void onlyWhoeverAskedOrAnApproverDecides() {
        rules = new Rules("default", Set.of(), Set.of(), Set.of("U3"), new Rules.Rate(5, 5));
        Conversations conversations = open();
        conversations.message(message("1", "hello"));
        said(1);
        assertThat(conversations.decide(place, "a1", BERT, Answer.ONCE)).contains("Only whoever asked");
        assertThat(conversations.decide(place, "a2", ANNA, Answer.ONCE)).contains("not wait");
        Place elsewhere = new Place(name, "T1", "C9", "");
        assertThat(conversations.decide(elsewhere, "a1", ANNA, Answer.ONCE)).contains("may not");
        assertThat(decided).isEmpty();
        assertThat(conversations.decide(place, "a1", new Person("U3", "Chief\n"), Answer.ALWAYS))
                .isEmpty();
        assertThat(decided).containsExactly(place.session() + " a1 Chief ALWAYS");
        assertThat(conversations.decide(place, "a1", ANNA, Answer.DENY)).contains("quicker");
    }

    @Test
    void stoppingEndsTheRunAndSaysSo() {
        Conversations conversations = open();
        assertThat(conversations.stop(place, ANNA)).isFalse();
        conversations.message(message("1", "hello"));
        said(1);
        assertThat(conversations.stop(place, BERT)).isTrue();
        assertThat(agents.done()).containsExactly("abort " + place.session() + " by " + name + ":T1:U2");
        assertThat(awaitEnd().end().orElseThrow().note().orElseThrow()).startsWith("Stopped.");
        assertThat(conversations.stop(place, BERT)).isFalse();
    }

    @Test
    void commandsLookAtTheSessionAndChangeIt() {
        Conversations conversations = open();
        assertThat(conversations.command(place, ANNA, "status")).contains("No conversation");
        conversations.message(message("1", "hello there"));
        Run run = said(1);
        assertThat(conversations.command(place, ANNA, "status")).contains("active", "running: `hello there`");
        assertThat(conversations.command(place, ANNA, "rollback 1")).contains("`stop` it first");
        agents.end(run, Outcome.DONE, Optional.empty());
        assertThat(conversations.command(place, ANNA, "status")).contains("Agent: idle", place.session());
        assertThat(conversations.command(place, ANNA, "files")).contains("No files");
        assertThat(conversations.command(place, ANNA, "rollback")).contains("nothing to go back to");
        try (Session session = berth.sessions().resolve(key())) {
            session.sandbox().run(Command.shell("mkdir -p workspace/output && echo 1 >workspace/output/n.csv"));
            artifacts.collect(session, "test", Optional.empty());
            int turn = session.beginTurn("test");
            berth.sessions().turns().checkpoint(session);
            session.sandbox().run(Command.shell("rm workspace/output/n.csv"));
            assertThat(conversations.command(place, ANNA, "files")).contains("`output/n.csv`, 2 bytes");
            assertThat(conversations.command(place, ANNA, "rollback x")).contains("`rollback " + turn + "`");
        }
        assertThat(conversations.command(place, ANNA, "  ROLLBACK   1 ")).contains("before turn 1");
        try (Session session = berth.sessions().resolve(key())) {
            assertThat(session.sandbox().files().exists("workspace/output/n.csv"))
                    .isTrue();
        }
        String forked = conversations.command(place, ANNA, "fork");
        String target = forked.replaceAll("(?s).*session `([^`]*)`.*", "$1");
        try (Session session = berth.sessions().resolve(SessionKey.of("default", target))) {
            assertThat(session.sandbox().files().exists("workspace/output/n.csv"))
                    .isTrue();
        }
        assertThat(conversations.command(place, ANNA, "rollback 99")).startsWith("That did not work");
        assertThat(conversations.command(place, ANNA, "reset")).contains("forgotten");
        assertThat(conversations.command(place, ANNA, "stop")).contains("Nothing goes on");
        assertThat(conversations.command(place, ANNA, "`dance`")).contains("no command `'dance'`", "rollback N");
        assertThat(conversations.command(place, ANNA, "")).isEqualTo(Commands.HELP);
    }

    @Test
    void aCommandOutsideOfThreadsIsAboutTheLastConversationOfTheRoom() {
        Conversations conversations = open();
        conversations.message(message("1", "hello there"));
        said(1);
        Place room = new Place(name, "T1", "C1", "");
        assertThat(conversations.command(room, ANNA, "status")).contains(place.session());
        assertThat(conversations.command(new Place(name, "T1", "C2", ""), ANNA, "status"))
                .contains("No conversation");
    }

    @Test
    void aPersonSeesTheConversationsTheyTookPartIn() {
        Conversations conversations = open();
        conversations.message(message("1", "the first\nquestion"));
        Run run = said(1);
        Place direct = new Place(name, "T1", "D1", "");
        conversations.message(new Incoming(direct, BERT, "2", "", List.of(new Bytes("a", 1, 1)), ""));
        await("the second is said", () -> agents.said(direct).size() == 1);
        conversations.message(new Incoming(place, BERT, "3", "me too", List.of(), ""));
        said(2);
        assertThat(conversations.overview(name, "T1", ANNA).stream().map(Inbox.Overview::title))
                .containsExactly("the first question");
        assertThat(conversations.overview(name, "T1", BERT).stream().map(Inbox.Overview::title))
                .containsExactly("the first question", "Files from Bert");
        assertThat(conversations.overview(name, "T2", BERT)).isEmpty();
        assertThat(conversations.overview(name, "T1", ANNA).getFirst().state()).isEqualTo("working");
        agents.end(run, Outcome.DONE, Optional.empty());
        await(
                "it is over",
                () -> conversations
                        .overview(name, "T1", ANNA)
                        .getFirst()
                        .state()
                        .equals("active"));
    }
}
