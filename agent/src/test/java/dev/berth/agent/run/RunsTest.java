package dev.berth.agent.run;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.agent.AgentConfig;
import dev.berth.agent.AgentConfig.Model;
import dev.berth.agent.AgentEvent.Asked;
import dev.berth.agent.AgentEvent.Began;
import dev.berth.agent.AgentEvent.Ended;
import dev.berth.agent.AgentEvent.Outcome;
import dev.berth.agent.AgentEvent.ToolEnded;
import dev.berth.agent.AgentEvent.ToolStarted;
import dev.berth.agent.AgentEvent.ToolUpdated;
import dev.berth.agent.Past;
import dev.berth.agent.Past.Said;
import dev.berth.agent.run.FakeRuntime.Work;
import dev.berth.agent.run.Run.State;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.LoggedEvent;
import dev.berth.session.Session;
import dev.berth.session.SessionKey;
import dev.berth.session.TestingSessions;
import java.io.ByteArrayInputStream;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** Runs of agents that do anything, in real sandboxes and on a real database. Needs root and crun. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RunsTest {
    private final FakeRuntime agents = new FakeRuntime();
    private TestingRuns berth;

    @BeforeAll
    void open() {
        berth = new TestingRuns(agents, TestingSessions.SPEC);
    }

    @AfterAll
    void close() {
        berth.close();
    }

    private SessionKey will(Work... work) {
        SessionKey key = berth.key();
        agents.will(key.sandboxId(), work);
        return key;
    }

    private FakeRuntime.Life life(SessionKey key) {
        return agents.life(key.sandboxId()).orElseThrow();
    }

    private int starts(SessionKey key) {
        return agents.starts(key.sandboxId()).size();
    }

    // ---- what goes well ------------------------------------------------------------------------------------------

    @Test
    void aMessageIsAnsweredAndEverythingIsInTheLog() throws InterruptedException {
        SessionKey key = will((_, agent) ->
                agent.does(new Began()).says("Let me ").says("see. ").uses("ls").says("It is empty."));

        Run said = berth.say(key, "What is here?");
        assertThat(said.state()).isEqualTo(State.STARTING);
        Run run = berth.ended(said);

        assertThat(run.state()).isEqualTo(State.DONE);
        assertThat(run.answer()).isEqualTo("It is empty.");
        assertThat(run.acted()).isEqualTo(1);
        assertThat(run.endedAt()).isPresent();
        assertThat(berth.story(run)).containsExactly("Began", "ToolStarted", "ToolEnded", "Ended");
        assertThat(berth.text(run)).isEqualTo("Let me see. It is empty.");
        assertThat(berth.events(run).getFirst()).isEqualTo(new RunEvent.Began(run.id(), "fake"));
        assertThat(berth.log(key).get((int) run.firstEvent() - 1).type()).isEqualTo("run.begin");
        assertThat(berth.events(run, RunEvent.Status.class)).contains(new RunEvent.Status(run.id(), "Starting fake"));
        assertThat(berth.runs().current(key)).isEmpty();
        assertThat(berth.runs().find(run.id())).contains(run);
        assertThat(berth.meters().counter("berth.runs", "outcome", "done").count())
                .isPositive();
    }

    @Test
    void theAgentIsKeptForTheNextMessage() throws InterruptedException {
        SessionKey key = will();
        Run first = berth.ask(key, "one");
        Run second = berth.ask(key, "two");

        assertThat(starts(key)).isEqualTo(1);
        assertThat(second.answer()).isEqualTo("You said: two");
        assertThat(berth.runs().list(key, Optional.empty(), 10))
                .extracting(Run::id)
                .containsExactly(second.id(), first.id());
        assertThat(berth.runs().list(key, Optional.of(second.id()), 10))
                .extracting(Run::id)
                .containsExactly(first.id());
        assertThat(berth.runs().history(key, 10))
                .containsExactly(
                        new Said(false, "one"),
                        new Said(true, "You said: one"),
                        new Said(false, "two"),
                        new Said(true, "You said: two"));
        assertThat(berth.berth().sessions().find(key).orElseThrow().turn()).isEqualTo(2);
    }

    @Test
    void anAgentThatIsSetUpInAnotherWayIsStartedAnew() throws InterruptedException {
        SessionKey key = will();
        berth.ask(key, "one");
        berth.configure(
                key,
                new AgentConfig(
                        "Another",
                        new Model("scripted", "other", Optional.empty(), "openai-completions", Optional.empty()),
                        TestingRuns.CONFIG.patience()));
        assertThat(berth.ask(key, "two").answer()).isEqualTo("You said: two");
        assertThat(starts(key)).isEqualTo(2);
        assertThat(agents.starts(key.sandboxId()).get(1).said())
                .containsExactly(new Said(false, "one"), new Said(true, "You said: one"));
    }

    @Test
    void peopleAndFilesAreNamedToTheAgent() throws InterruptedException {
        SessionKey key = will();
        Run run = berth.ended(berth.runs()
                .say(key, new Message("Look", List.of("in/a.txt", "in/b.txt"), "slack", Optional.of("Ann] [Root\nx"))));
        assertThat(run.answer())
                .isEqualTo("You said: [Ann Root x] Look\n\nFiles that came with this message:\n- in/a.txt\n- in/b.txt");
    }

    @Test
    void aMessageInARunSteersIt() throws InterruptedException {
        SessionKey key =
                will((_, agent) -> agent.does(new Began()).says("working").says(" on " + agent.steered()));
        Run run = berth.say(key, "Begin");
        berth.awaitText(run, "working");
        Run same = berth.say(key, "something else");

        assertThat(same.id()).isEqualTo(run.id());
        assertThat(berth.ended(run).answer()).isEqualTo("working on something else");
        assertThat(berth.story(run)).containsExactly("Began", "Steered", "Ended");
        assertThat(life(key).heard()).containsExactly("Begin", "something else");
    }

    @Test
    void aMessageThatMeetsTheEndOfARunIsNotLost() throws InterruptedException {
        SessionKey key = will();
        berth.ask(key, "warm up");
        for (int i = 0; i < 10; i++) {
            int number = i;
            Run first = berth.say(key, "first " + i);
            Run second = berth.say(key, "second " + i);
            berth.ended(first);
            berth.ended(second);
            assertThat(life(key).heard()).contains("first " + number, "second " + number);
        }
        assertThat(life(key).heard()).doesNotHaveDuplicates().hasSize(21);
    }

    @Test
    void aMessageWithCharactersThatCannotBeKeptIsSaidWithoutThem() throws InterruptedException {
        SessionKey key =
                will((_, agent) -> agent.does(new Began()).says("a\0b\ud800c").uses("x\0y"));
        Run run = berth.ask(key, "ring \u0007 the \0 bell");
        assertThat(run.state()).isEqualTo(State.DONE);
        assertThat(berth.text(run)).isEqualTo("a\ufffdb\ufffdc");
        assertThat(life(key).heard()).containsExactly("ring \u0007 the \ufffd bell");
    }

    // ---- stopping ------------------------------------------------------------------------------------------------

    @Test
    void aRunIsStoppedAndTheNextMessageIsAnswered() throws InterruptedException {
        SessionKey key = will((_, agent) -> {
            agent.does(new Began()).says("for ever");
            new CountDownLatch(1).await();
        });
        Run run = berth.say(key, "Go");
        berth.awaitText(run, "for ever");
        assertThat(berth.runs().abort(key, "somebody")).isTrue();
        Run next = berth.say(key, "Instead");

        assertThat(berth.ended(run).state()).isEqualTo(State.ABORTED);
        assertThat(next.id()).isNotEqualTo(run.id());
        assertThat(berth.ended(next).answer()).isEqualTo("You said: Instead");
        assertThat(starts(key)).isEqualTo(1);
        assertThat(berth.runs().abort(key, "somebody")).isFalse();
        assertThat(berth.log(key))
                .filteredOn(event -> event.type().equals("run.end"))
                .first()
                .extracting(LoggedEvent::actor)
                .isEqualTo("somebody");
    }

    @Test
    void anAgentThatDoesNotStopIsEnded() throws InterruptedException {
        SessionKey key = will((_, agent) -> {
            agent.ignoresAborts();
            agent.does(new Began()).says("never");
            new CountDownLatch(1).await();
        });
        berth.patience(key, Duration.ofMillis(200), TestingRuns.LONG, TestingRuns.LONG);
        Run run = berth.say(key, "Go");
        berth.awaitText(run, "never");
        berth.runs().abort(key, "somebody");
        assertThat(berth.ended(run).state()).isEqualTo(State.ABORTED);
        assertThat(berth.ask(key, "Hello?").answer()).isEqualTo("You said: Hello?");
        assertThat(starts(key)).isEqualTo(2);
    }

    @Test
    void aSilentAgentAndOneThatNeverEndsAreStoppedWithAReason() throws InterruptedException {
        Work nothing = (_, _) -> new CountDownLatch(1).await();
        SessionKey silent = will(nothing);
        berth.patience(silent, Duration.ofSeconds(5), TestingRuns.LONG, Duration.ofMillis(300));
        Run first = berth.say(silent, "Go");
        SessionKey endless = will((_, agent) -> {
            agent.does(new Began());
            while (true) {
                agent.says("on and ");
                Thread.sleep(20);
            }
        });
        berth.patience(endless, Duration.ofSeconds(5), Duration.ofSeconds(2), Duration.ofSeconds(30));
        Run second = berth.say(endless, "Go");

        assertThat(berth.ended(first).error().orElseThrow()).contains("nothing was heard", "ask it to go on");
        assertThat(berth.ended(second).error().orElseThrow()).contains("longer than 2 seconds", "workspace");
        assertThat(berth.ended(second).state()).isEqualTo(State.FAILED);
        berth.configure(silent, TestingRuns.CONFIG);
        assertThat(berth.ask(silent, "Hello?").answer()).isEqualTo("You said: Hello?");
    }

    // ---- dying ---------------------------------------------------------------------------------------------------

    @Test
    void anAgentThatDoesNotStartIsTriedOnceMore() throws InterruptedException {
        SessionKey key = will();
        agents.failsToStart(key.sandboxId(), SandboxException.timeout("no answer"));
        Run run = berth.ask(key, "Hello");
        assertThat(run.answer()).isEqualTo("You said: Hello");
        assertThat(run.attempt()).isEqualTo(2);
    }

    @Test
    void anAgentThatNeverStartsFailsTheRunAndNotTheNext() throws InterruptedException {
        SessionKey key = will();
        SandboxException no = SandboxException.timeout("no answer");
        agents.failsToStart(key.sandboxId(), no, no);
        Run run = berth.ask(key, "Hello");
        assertThat(run.state()).isEqualTo(State.FAILED);
        assertThat(run.error()).contains("the agent could not be started: no answer");
        assertThat(berth.ask(key, "Again").answer()).isEqualTo("You said: Again");
    }

    @Test
    void whatCannotGetBetterIsNotTriedAgain() throws InterruptedException {
        SessionKey key = will();
        agents.failsToStart(key.sandboxId(), SandboxException.unsupported("the template lacks it"));
        assertThat(berth.ask(key, "Hello").attempt()).isEqualTo(1);
    }

    @Test
    void anAgentThatDiesBeforeItsFirstWordIsTriedOnceMoreAndTold() throws InterruptedException {
        SessionKey key = will((_, agent) -> agent.dies());
        Run run = berth.ask(key, "Hello");
        assertThat(run.state()).isEqualTo(State.DONE);
        assertThat(run.answer())
                .startsWith("You said: Note from Berth: the attempt before")
                .endsWith("Hello");
        assertThat(run.attempt()).isEqualTo(2);
        assertThat(berth.story(run)).containsExactly("Began", "Ended");
    }

    @Test
    void anAgentThatDiesInItsTextOrInItsFirstToolIsTriedOnceMore() throws InterruptedException {
        SessionKey inText =
                will((_, agent) -> agent.does(new Began()).says("I am").dies());
        SessionKey inTool = will((_, agent) -> {
            agent.does(new Began()).does(new ToolStarted("1", "bash", "ls", Map.of()));
            agent.dies();
        });
        assertThat(berth.ask(inText, "Hello").state()).isEqualTo(State.DONE);
        Run tool = berth.ask(inTool, "Hello");
        assertThat(tool.state()).isEqualTo(State.DONE);
        assertThat(tool.answer()).endsWith("Hello");
    }

    @Test
    void anAgentThatHasActedTwiceIsNotTriedAgain() throws InterruptedException {
        SessionKey key = will((_, agent) -> {
            agent.does(new Began()).uses("one").uses("two");
            agent.dies();
        });
        Run run = berth.ask(key, "Hello");
        assertThat(run.state()).isEqualTo(State.FAILED);
        assertThat(run.error().orElseThrow()).contains("lost after 2 steps", "ask it to go on");
        assertThat(berth.ask(key, "Go on").answer()).isEqualTo("You said: Go on");
    }

    @Test
    void anAgentThatDiesTwiceFailsTheRun() throws InterruptedException {
        Work dies = (_, agent) -> agent.does(new Began()).dies();
        SessionKey key = will(dies, dies);
        assertThat(berth.ask(key, "Hello").state()).isEqualTo(State.FAILED);
        assertThat(berth.ask(key, "Again").answer()).isEqualTo("You said: Again");
    }

    @Test
    void anAgentThatDiesAfterTheEndHasAnsweredAndIsStartedForTheNext() throws InterruptedException {
        SessionKey key = will((_, agent) -> {
            agent.does(new Began()).says("done").does(new Ended(Outcome.DONE, Optional.empty()));
            agent.dies();
        });
        Run run = berth.ask(key, "Hello");
        assertThat(run.state()).isEqualTo(State.DONE);
        assertThat(run.answer()).isEqualTo("done");
        assertThat(berth.ask(key, "Again").answer()).isEqualTo("You said: Again");
        assertThat(starts(key)).isEqualTo(2);
    }

    @Test
    void anAgentThatFailsSaysWhy() throws InterruptedException {
        SessionKey key = will((_, agent) -> agent.does(new Began()).fails("the model is away"));
        Run run = berth.ask(key, "Hello");
        assertThat(run.state()).isEqualTo(State.FAILED);
        assertThat(run.error()).contains("the model is away");
    }

    @Test
    void aSandboxThatIsGoneIsMadeAgainWithTheConversationAndTheAgentIsTold() throws InterruptedException {
        SessionKey key = will((_, agent) -> {
            agent.does(new Began()).says("first");
            agent.writes("line one\n");
        });
        berth.ask(key, "Hello");
        berth.berth().machine().provider().find(key.sandboxId()).orElseThrow().destroy();
        life(key).dies();

        Run run = berth.ask(key, "Still there?");

        assertThat(run.answer())
                .startsWith("You said: Note from Berth: The sandbox was lost")
                .endsWith("Still there?");
        Past past = agents.starts(key.sandboxId()).get(1);
        assertThat(past.conversation()).isPresent();
        assertThat(past.transcript().map(bytes -> new String(bytes, UTF_8))).contains("line one\n");
        assertThat(past.said()).containsExactly(new Said(false, "Hello"), new Said(true, "first"));
        assertThat(berth.ask(key, "And now?").answer()).as("told once").isEqualTo("You said: And now?");
    }

    // ---- too much ------------------------------------------------------------------------------------------------

    @Test
    void aFloodOfTextIsGatheredAndBounded() throws InterruptedException {
        String piece = "x".repeat(999) + "\n";
        SessionKey key = will((_, agent) -> {
            agent.does(new Began());
            for (int i = 0; i < 8_000; i++) {
                agent.says(piece);
            }
        });
        Run run = berth.ask(key, "Flood");
        assertThat(run.state()).isEqualTo(State.DONE);
        assertThat(berth.text(run)).hasSizeBetween(4_000_000, 4 << 20);
        assertThat(berth.events(run)).hasSizeLessThan(2000);
        assertThat(berth.events(run, RunEvent.Status.class))
                .filteredOn(status -> status.text().contains("more than is kept"))
                .hasSize(1);
    }

    @Test
    void aFloodOfToolUpdatesIsThinnedAndItsEndIsThere() throws InterruptedException {
        SessionKey key = will((_, agent) -> {
            agent.does(new Began())
                    .does(new ToolStarted("1", "bash", "t".repeat(9999), Map.of("a", "b".repeat(99_999))));
            for (int i = 0; i < 100_000; i++) {
                agent.does(new ToolUpdated("1", "line " + i));
            }
            agent.does(new ToolEnded("1", true, "o".repeat(1 << 20)));
        });
        Run run = berth.ask(key, "Flood");
        assertThat(run.state()).isEqualTo(State.DONE);
        assertThat(berth.events(run, RunEvent.ToolUpdated.class)).hasSizeLessThan(100);
        assertThat(berth.events(run, RunEvent.ToolEnded.class).getFirst().output())
                .hasSizeBetween(10_000, 17_000)
                .contains("characters left out");
        RunEvent.ToolStarted started =
                berth.events(run, RunEvent.ToolStarted.class).getFirst();
        assertThat(started.title()).hasSize(200);
        assertThat(String.valueOf(started.arguments().get("a"))).hasSize(2048);
    }

    // ---- asking --------------------------------------------------------------------------------------------------

    private static Asked asked(String id, String tool, Map<String, Object> arguments) {
        return new Asked(id, tool, "wants " + tool, arguments);
    }

    @Test
    void aToolIsUsedIfItIsAllowed() throws InterruptedException {
        SessionKey key = will((_, agent) -> {
            agent.does(new Began()).does(asked("q1", "bash", Map.of("command", "rm -rf /")));
            agent.does(asked("q2", "bash", Map.of("command", "ls")));
            agent.says(agent.decision("q1") + " and " + agent.decision("q2"));
        });
        berth.permissions(key, (session, run, actor, question) -> {
            assertThat(session).isEqualTo(key);
            assertThat(actor).isEqualTo("tester");
            return String.valueOf(question.arguments().get("command")).equals("ls");
        });
        assertThat(berth.ask(key, "Clean up").answer()).isEqualTo("false and true");
    }

    @Test
    void stoppingDeniesWhatIsAsked() throws InterruptedException {
        CountDownLatch asked = new CountDownLatch(1);
        SessionKey key = will((_, agent) -> {
            agent.ignoresAborts();
            agent.does(new Began()).does(asked("q", "bash", Map.of()));
            agent.says("it was " + agent.decision("q"));
        });
        berth.permissions(key, (_, _, _, _) -> {
            asked.countDown();
            new CountDownLatch(1).await();
            return true;
        });
        Run run = berth.say(key, "Go");
        assertThat(asked.await(60, TimeUnit.SECONDS)).isTrue();
        berth.runs().abort(key, "somebody");
        assertThat(berth.ended(run).answer()).isEqualTo("it was false");
    }

    @Test
    void aFileIsShownAndTheAgentLearnsWhetherItWorked() throws InterruptedException {
        SessionKey key = will((_, agent) -> {
            agent.does(new Began());
            agent.does(asked("yes", "showFile", Map.of("path", "chart.txt", "title", "A chart")));
            agent.does(asked("no", "showFile", Map.of("path", "none.txt", "title", "")));
            agent.does(asked("link", "showFile", Map.of("path", "/home/user/workspace/link", "title", "")));
            agent.says(agent.decision("yes") + " " + agent.decision("no") + " " + agent.decision("link"));
        });
        try (Session session = berth.berth().sessions().resolve(key, TestingSessions.SPEC)) {
            session.sandbox().files().write("workspace/chart.txt", new ByteArrayInputStream("1 2 3".getBytes(UTF_8)));
            session.sandbox().run(dev.berth.sandbox.Command.of("ln", "-s", "/etc/passwd", "/home/user/workspace/link"));
        }
        Run run = berth.ask(key, "Draw");
        assertThat(run.answer()).isEqualTo("true false false");
        assertThat(berth.events(run, RunEvent.Shown.class)).singleElement().satisfies(shown -> {
            assertThat(shown.title()).isEqualTo("A chart");
            assertThat(shown.name()).isEqualTo("chart.txt");
            assertThat(shown.size()).isEqualTo(5);
            assertThat(berth.artifacts().find(shown.artifact())).isPresent();
        });
    }

    @Test
    void filesInTheOutputFolderBelongToTheRunThatMadeThem() throws InterruptedException {
        SessionKey key = will((_, agent) -> {
            agent.does(new Began());
            agent.uses("write");
        });
        try (Session session = berth.berth().sessions().resolve(key, TestingSessions.SPEC)) {
            session.sandbox()
                    .files()
                    .write("workspace/output/display/a.txt", new ByteArrayInputStream("a".getBytes(UTF_8)));
        }
        Run run = berth.ask(key, "Make");
        assertThat(berth.story(run)).containsSubsequence("ToolEnded", "Shown", "Ended");
    }

    // ---- servers that come and go --------------------------------------------------------------------------------

    @Test
    void aServerThatStopsLeavesTheRunToTheNextAndEveryEventIsThereOnce() throws InterruptedException {
        CountDownLatch on = new CountDownLatch(1);
        CountDownLatch asked = new CountDownLatch(2);
        AtomicInteger questions = new AtomicInteger();
        SessionKey key = will((_, agent) -> {
            agent.does(new Began()).uses("one").says("before ");
            agent.does(asked("q", "bash", Map.of("command", "ls")));
            on.await();
            agent.says("between ");
            agent.says(agent.decision("q") ? "allowed " : "denied ").uses("two").says("after");
        });
        berth.permissions(key, (_, _, _, question) -> {
            assertThat(question.arguments()).containsEntry("command", "ls");
            asked.countDown();
            if (questions.incrementAndGet() == 1) {
                new CountDownLatch(1).await();
            }
            return true;
        });
        Run run = berth.say(key, "Go");
        berth.awaitText(run, "before ");
        try (Runs second = berth.open()) {
            berth.restart();
            assertThat(asked.await(60, TimeUnit.SECONDS)).as("asked again").isTrue();
            on.countDown();
            Run ended = berth.ended(run);
            assertThat(ended.state()).isEqualTo(State.DONE);
            assertThat(ended.answer()).isEqualTo("after");
            assertThat(ended.attempt()).isEqualTo(1);
            assertThat(second.find(run.id())).contains(ended);
        }
        assertThat(berth.text(run)).isEqualTo("before between allowed after");
        assertThat(berth.story(run))
                .containsExactly("Began", "ToolStarted", "ToolEnded", "ToolStarted", "ToolEnded", "Ended");
        assertThat(starts(key)).isEqualTo(1);
        assertThat(life(key).heard()).containsExactly("Go");
    }

    @Test
    void aRunWhoseAgentIsGoneWhenTheNextServerComesIsTriedOnceMore() throws InterruptedException {
        SessionKey key = will((_, agent) -> {
            agent.does(new Began()).says("I am on it");
            new CountDownLatch(1).await();
        });
        Run run;
        try (Runs first = berth.open()) {
            run = first.say(key, Message.of("Go", "tester"));
            berth.awaitText(run, "I am on it");
            life(key).ignoresAborts();
        }
        agents.life(key.sandboxId()).ifPresent(FakeRuntime.Life::dies);
        Run ended = berth.ended(run);
        assertThat(ended.state()).as(String.valueOf(ended.error())).isEqualTo(State.DONE);
        assertThat(ended.answer()).endsWith("Go");
        assertThat(berth.story(run)).endsWith("Ended").containsOnlyOnce("Ended");
    }

    // ---- forgetting ----------------------------------------------------------------------------------------------

    @Test
    void aResetForgetsTheConversation() throws InterruptedException {
        SessionKey key = will();
        berth.ask(key, "A secret");
        life(key).writes("secret\n");
        berth.runs().reset(key, "somebody");

        assertThat(berth.runs().history(key, 10)).isEmpty();
        assertThat(agents.life(key.sandboxId())).as("the agent").isEmpty();
        berth.ask(key, "What do you know?");
        Past past = agents.starts(key.sandboxId()).get(1);
        assertThat(past.conversation()).isEmpty();
        assertThat(past.transcript()).isEmpty();
        assertThat(past.said()).isEmpty();
        assertThat(berth.log(key)).anyMatch(event -> event.type().equals("run.reset"));
        assertThat(berth.runs().list(key, Optional.empty(), 10)).hasSize(2);
    }

    @Test
    void aComputerThatSleepsForgetsWhenItWakes() throws InterruptedException {
        SessionKey key = will();
        berth.ask(key, "A secret");
        berth.berth().sessions().pause(key);
        berth.runs().reset(key, "somebody");
        berth.ask(key, "What do you know?");
        assertThat(starts(key)).isEqualTo(2);
        assertThat(agents.starts(key.sandboxId()).get(1).said()).isEmpty();
    }

    @Test
    void aSessionThatCannotBeMadeIsSaidAtOnce() {
        SessionKey key = SessionKey.of("nobody", "x");
        assertThatThrownBy(() -> berth.say(key, "Hello")).isInstanceOf(SandboxException.class);
        assertThat(berth.runs().current(key)).isEmpty();
    }
}
