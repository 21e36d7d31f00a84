package dev.berth.agent.chat;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.agent.Agent;
import dev.berth.agent.AgentConfig;
import dev.berth.agent.AgentEvent;
import dev.berth.agent.AgentEvent.Asked;
import dev.berth.agent.AgentEvent.Began;
import dev.berth.agent.AgentEvent.Ended;
import dev.berth.agent.AgentEvent.Outcome;
import dev.berth.agent.AgentEvent.Status;
import dev.berth.agent.AgentEvent.Text;
import dev.berth.agent.AgentEvent.ToolEnded;
import dev.berth.agent.AgentEvent.ToolStarted;
import dev.berth.agent.Heard;
import dev.berth.agent.KeptPast;
import dev.berth.agent.Past;
import dev.berth.agent.Past.Said;
import dev.berth.agent.ScriptedModel;
import dev.berth.agent.ScriptedModelServer;
import dev.berth.agent.Station;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import java.io.ByteArrayOutputStream;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;

/** What comes of a conversation with a model that has a coding agent, whatever either of them does. */
@Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ChatAgentTest {
    private static final Duration LONG = Duration.ofSeconds(60);
    private static final AgentConfig CONFIG = new AgentConfig(
            "You are the agent of a test.",
            new AgentConfig.Model("scripted", "scripted", Optional.empty(), "openai-completions", Optional.empty()),
            AgentConfig.Patience.DEFAULT);
    private static final Sandbox SANDBOX = (Sandbox) Proxy.newProxyInstance(
            ChatAgentTest.class.getClassLoader(), new Class<?>[] {Sandbox.class}, (_, method, _) -> {
                throw new AssertionError("nobody has to use the sandbox: " + method);
            });

    private final ScriptedModelServer server = new ScriptedModelServer();
    private final ScriptedModel model = server.model();
    private final ModelClient client = new ModelClient(new ModelConfig(
            server.url(),
            "scripted",
            Optional::empty,
            new ModelConfig.Patience(LONG, LONG, LONG, Duration.ofMillis(5))));
    private final FakeRuntime fake = new FakeRuntime();
    private final ChatRuntime runtime =
            new ChatRuntime(fake, client, new ChatConfig("You talk.", 4, 1000, ChatConfig.LEAST_HISTORY));
    private Heard heard = new Heard();

    @AfterEach
    void close() {
        client.close();
        server.close();
    }

    private static Station station(Optional<byte[]> transcript) {
        return new Station(SANDBOX, "/home/user/work", KeptPast.transcript(transcript), CONFIG);
    }

    private Agent start() {
        return runtime.start(station(Optional.empty()), heard);
    }

    private static byte[] transcript(Agent agent) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] piece = agent.transcript(0); piece.length > 0; piece = agent.transcript(all.size())) {
            all.writeBytes(piece);
        }
        return all.toByteArray();
    }

    private ScriptedModel delegates(String task) {
        return model.calls("sandbox", Map.of("task", task));
    }

    /** What the model was told last by a tool. */
    private String lastResult() {
        JsonNode last = model.requests()
                .getLast()
                .path("messages")
                .valueStream()
                .toList()
                .getLast();
        assertThat(last.path("role").asString()).isEqualTo("tool");
        return last.path("content").asString();
    }

    private void assertThatItWorksOn(Agent agent, int run) {
        model.says("at your service");
        agent.say("and now?");
        assertThat(heard.ended(run).outcome()).isEqualTo(Outcome.DONE);
        assertThat(heard.text()).endsWith("at your service");
    }

    @Test
    void itAnswersByItselfWithoutStartingAnything() {
        model.says("Good ", "morning");
        try (Agent agent = start()) {
            agent.say("hello");
            assertThat(heard.ended()).isEqualTo(new Ended(Outcome.DONE, Optional.empty()));
            assertThat(heard.text()).isEqualTo("Good morning");
            assertThat(heard.story()).containsExactly("Began", "Noted", "Used", "Noted", "Ended");
            assertThat(agent.busy()).isFalse();
            assertThat(fake.starts()).isEmpty();
            assertThatItWorksOn(agent, 2);
            assertThat(model.lastRequest()).contains("hello", "Good morning", "and now?");
        }
    }

    @Test
    void whatNeedsDoingIsDoneByTheCodingAgentAndItsReportGoesBackToTheModel() {
        delegates("count the files");
        fake.reports("there are 3");
        model.says("You have 3 files.");
        try (Agent agent = start()) {
            agent.say("how many files have I?");
            assertThat(heard.ended().outcome()).isEqualTo(Outcome.DONE);
            assertThat(fake.process().told()).containsExactly("count the files");
            assertThat(lastResult()).isEqualTo("there are 3");
            List<ToolStarted> steps = heard.all(ToolStarted.class);
            assertThat(steps).extracting(ToolStarted::tool).containsExactly("sandbox", "bash");
            assertThat(steps.getFirst().title()).isEqualTo("count the files");
            assertThat(steps.getLast().call()).isEqualTo(steps.getFirst().call() + "/1");
            assertThat(heard.all(ToolEnded.class)).extracting(ToolEnded::ok).containsExactly(true, true);
            assertThat(heard.all(ToolEnded.class).getLast().output()).isEqualTo("there are 3");
            assertThat(heard.text()).isEqualTo("You have 3 files.");
        }
    }

    @Test
    void theCodingAgentIsKeptForTheNextTask() {
        delegates("one").says("did one");
        delegates("two").says("did two");
        fake.reports("first").reports("second");
        try (Agent agent = start()) {
            agent.say("one");
            heard.ended(1);
            agent.say("two");
            heard.ended(2);
            assertThat(fake.starts()).hasSize(1);
            assertThat(fake.process().told()).containsExactly("one", "two");
        }
    }

    @Test
    void itsQuestionsArePassedOnAndSoAreTheAnswers() {
        delegates("remove it").says("removed");
        CountDownLatch decided = new CountDownLatch(1);
        fake.then((process, _) -> {
            process.emit(new Began());
            process.emit(new Asked("q1", "bash", "Run rm", Map.of()));
            process.await(decided);
            process.emit(new Text("gone"));
            process.emit(new Ended(Outcome.DONE, Optional.empty()));
        });
        try (Agent agent = start()) {
            agent.say("remove it");
            Asked asked = heard.first(Asked.class);
            agent.decide(asked.question(), true);
            assertThat(fake.process().decisions()).containsExactly("q1=true");
            decided.countDown();
            assertThat(heard.ended().outcome()).isEqualTo(Outcome.DONE);
        }
    }

    @Test
    void aFileIsShownByAskingForIt() {
        model.calls("show_file", Map.of("path", "plot.png", "title", "A plot")).says("there it is");
        model.calls("show_file", Map.of("path", "../secret")).says("I could not");
        try (Agent agent = start()) {
            agent.say("show me");
            Asked asked = heard.first(Asked.class);
            assertThat(asked.tool()).isEqualTo(AgentEvent.SHOW_FILE);
            assertThat(asked.arguments()).isEqualTo(Map.of("path", "plot.png", "title", "A plot"));
            agent.decide(asked.question(), true);
            heard.ended(1);
            assertThat(lastResult()).contains("see plot.png now");
            agent.say("show me more");
            agent.decide(heard.nth(Asked.class, 2).question(), false);
            heard.ended(2);
            assertThat(lastResult()).startsWith("error:").contains("could not be shown");
            assertThat(fake.starts()).isEmpty();
        }
    }

    @Test
    void aMessageInARunIsTakenUpBeforeTheModelIsAskedAgain() {
        delegates("work").says("as you wish");
        CountDownLatch go = new CountDownLatch(1);
        fake.then((process, _) -> {
            process.emit(new Began());
            process.use("1");
            process.await(go);
            process.emit(new Text("worked"));
            process.emit(new Ended(Outcome.DONE, Optional.empty()));
        });
        try (Agent agent = start()) {
            agent.say("begin");
            heard.first(ToolStarted.class);
            agent.say("but in blue");
            go.countDown();
            heard.ended();
            List<String> roles = model.requests().getLast().path("messages").findValuesAsString("role");
            assertThat(roles).containsExactly("system", "user", "assistant", "tool", "user");
            assertThat(heard.all(Began.class)).hasSize(1);
        }
    }

    @Test
    void aMessageWhileTheModelAnswersIsAnsweredInTheSameRun() {
        CountDownLatch go = new CountDownLatch(1);
        model.pauses("first", go, " answer").says("second answer");
        try (Agent agent = start()) {
            agent.say("one");
            heard.first(Text.class);
            agent.say("two");
            go.countDown();
            heard.ended();
            assertThat(heard.text()).isEqualTo("first answer\n\nsecond answer");
            assertThat(heard.all(Began.class)).hasSize(1);
        }
    }

    @Test
    void abortStopsTheModelAndForgetsWhatWaits() {
        CountDownLatch go = new CountDownLatch(1);
        model.pauses("well", go, "never heard");
        try (Agent agent = start()) {
            agent.say("one");
            heard.first(Text.class);
            agent.say("forgotten");
            agent.abort();
            assertThat(heard.ended().outcome()).isEqualTo(Outcome.ABORTED);
            assertThat(agent.busy()).isFalse();
            go.countDown();
            assertThatItWorksOn(agent, 2);
            assertThat(model.lastRequest()).contains("well").doesNotContain("forgotten");
        }
    }

    @Test
    void abortReachesTheCodingAgentWhichIsKept() {
        delegates("work for ever");
        fake.worksUntilStopped();
        try (Agent agent = start()) {
            agent.say("one");
            heard.nth(ToolEnded.class, 1);
            agent.abort();
            assertThat(heard.ended().outcome()).isEqualTo(Outcome.ABORTED);
            assertThat(fake.running()).isTrue();
            assertThatItWorksOn(agent, 2);
            assertThat(model.lastRequest()).contains("a person stopped this");
        }
    }

    @Test
    void abortOfNothingDoesNothing() {
        try (Agent agent = start()) {
            agent.abort();
            assertThatItWorksOn(agent, 1);
        }
    }

    @Test
    void aCodingAgentThatIsLostEarlyIsStartedAgainWithItsTask() {
        delegates("work").says("done");
        fake.then((process, _) -> {
            process.emit(new Began());
            process.use("1");
            process.die();
        });
        fake.reports("worked");
        try (Agent agent = start()) {
            agent.say("one");
            assertThat(heard.ended().outcome()).isEqualTo(Outcome.DONE);
            assertThat(lastResult()).isEqualTo("worked");
            assertThat(fake.starts()).hasSize(2);
            assertThat(fake.starts().getLast().past().conversation()).contains("conversation of the fake");
            assertThat(heard.all(Status.class)).extracting(Status::text).anyMatch(text -> text.contains("was lost"));
        }
    }

    @Test
    void aCodingAgentThatIsLostAfterItHasActedIsNotGivenItsTaskTwice() {
        delegates("work").says("it was lost");
        fake.then((process, _) -> {
            process.emit(new Began());
            process.use("1");
            process.use("2");
            process.die();
        });
        try (Agent agent = start()) {
            agent.say("one");
            assertThat(heard.ended().outcome()).isEqualTo(Outcome.DONE);
            assertThat(lastResult()).startsWith("error: the coding agent was lost");
            assertThat(fake.starts()).hasSize(1);
        }
    }

    @Test
    void aCodingAgentThatIsLostTwiceIsAnErrorForTheModel() {
        delegates("work").says("it does not work");
        fake.then((process, _) -> process.die()).then((process, _) -> process.die());
        try (Agent agent = start()) {
            agent.say("one");
            assertThat(heard.ended().outcome()).isEqualTo(Outcome.DONE);
            assertThat(lastResult()).startsWith("error:");
            assertThatItWorksOn(agent, 2);
        }
    }

    @Test
    void aCodingAgentThatFailsOrDoesNotStartIsAnErrorForTheModel() {
        delegates("one").says("no");
        fake.doesNotStart(SandboxException.unsupported("the template lacks the program"));
        delegates("two").says("no again");
        fake.then((process, _) -> {
            process.emit(new Began());
            process.emit(new Ended(Outcome.FAILED, Optional.of("no credit")));
        });
        try (Agent agent = start()) {
            agent.say("one");
            heard.ended(1);
            assertThat(lastResult()).contains("the template lacks the program");
            agent.say("two");
            heard.ended(2);
            assertThat(lastResult()).contains("no credit");
            assertThat(heard.all(ToolEnded.class)).extracting(ToolEnded::ok).containsOnly(false);
        }
    }

    @Test
    void aComputerThatIsGoneIsAMatterForWhoeverStartedTheAgent() {
        delegates("one");
        fake.doesNotStart(SandboxException.gone("the sandbox is gone"));
        try (Agent agent = start()) {
            agent.say("one");
            assertThat(heard.awaitLost().code()).isEqualTo(ErrorCode.GONE);
            assertThat(agent.alive()).isFalse();
            assertThatThrownBy(() -> agent.say("two")).isInstanceOf(SandboxException.class);
        }
    }

    @Test
    void withAnIdleCodingAgentThisIsLostToo() {
        delegates("one").says("done");
        fake.reports("worked");
        try (Agent agent = start()) {
            agent.say("one");
            heard.ended();
            fake.process().die();
            assertThat(heard.awaitLost()).hasMessageContaining("status 9");
            assertThat(agent.alive()).isFalse();
        }
    }

    @Test
    void aReportThatIsTooLongIsCut() {
        delegates("one").says("done");
        fake.reports("begin" + "x".repeat(100_000) + "end");
        try (Agent agent = start()) {
            agent.say("one");
            heard.ended();
            assertThat(lastResult())
                    .startsWith("begin")
                    .endsWith("end")
                    .contains("left out here")
                    .hasSizeLessThan(1100);
        }
    }

    // ---- nonsense ------------------------------------------------------------------------------------------------

    @Test
    void toolsThatDoNotExistAndArgumentsThatAreNoneAreErrorsForTheModel() {
        model.calls("launch_missiles", Map.of()).calls("sandbox", Map.of()).says("sorry");
        model.answers(
                200,
                "text/event-stream",
                "",
                "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"x\",\"function\":{\"name\":"
                        + "\"sandbox\",\"arguments\":\"{task\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n");
        model.says("sorry again");
        try (Agent agent = start()) {
            agent.say("one");
            assertThat(heard.ended(1).outcome()).isEqualTo(Outcome.DONE);
            assertThat(model.lastRequest()).contains("there is no tool 'launch_missiles'", "'task' is missing");
            agent.say("two");
            assertThat(heard.ended(2).outcome()).isEqualTo(Outcome.DONE);
            assertThat(lastResult()).contains("have to be a JSON object");
            assertThat(fake.starts()).isEmpty();
        }
    }

    @Test
    void aModelThatUsesTheSameIdAgainAndAgainIsUnderstood() {
        for (String task : List.of("one", "two")) {
            model.answers(
                    200,
                    "text/event-stream",
                    "",
                    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"x\",\"function\":{\"name\":"
                            + "\"sandbox\",\"arguments\":\"{\\\"task\\\":\\\"" + task
                            + "\\\"}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n");
        }
        model.says("done");
        fake.reports("first").reports("second");
        try (Agent agent = start()) {
            agent.say("both");
            assertThat(heard.ended().outcome()).isEqualTo(Outcome.DONE);
            assertThat(fake.process().told()).containsExactly("one", "two");
            assertThat(model.lastRequest()).contains("first", "second");
            assertThat(heard.all(ToolStarted.class))
                    .extracting(ToolStarted::call)
                    .doesNotHaveDuplicates();
        }
    }

    @Test
    void anEndlessLoopOfToolsIsStopped() {
        for (int i = 0; i < 4; i++) {
            model.calls("nothing", Map.of());
        }
        try (Agent agent = start()) {
            agent.say("one");
            Ended ended = heard.ended();
            assertThat(ended.outcome()).isEqualTo(Outcome.FAILED);
            assertThat(ended.message().orElseThrow()).contains("4 times");
            assertThat(model.requests()).hasSize(4);
            assertThatItWorksOn(agent, 2);
        }
    }

    @Test
    void anEmptyAnswerIsAFailureAndTheNextMessageWorks() {
        model.says("");
        try (Agent agent = start()) {
            agent.say("one");
            assertThat(heard.ended()).satisfies(ended -> {
                assertThat(ended.outcome()).isEqualTo(Outcome.FAILED);
                assertThat(ended.message().orElseThrow()).contains("empty answer");
            });
            assertThatItWorksOn(agent, 2);
        }
    }

    @Test
    void aWebPageAndGarbageAreFailuresAndTheNextMessageWorks() {
        model.answers(200, "text/html", "", "<html>sign in</html>").saysGarbage();
        try (Agent agent = start()) {
            agent.say("one");
            assertThat(heard.ended(1).message().orElseThrow()).contains("text/html");
            agent.say("two");
            assertThat(heard.ended(2).outcome()).isEqualTo(Outcome.FAILED);
            assertThatItWorksOn(agent, 3);
        }
    }

    @Test
    void aMessageThatTheModelRefusesIsNotSaidToItAgain() {
        model.fails(400, "I do not like this");
        try (Agent agent = start()) {
            agent.say("something bad");
            assertThat(heard.ended().message().orElseThrow()).contains("I do not like this");
            assertThatItWorksOn(agent, 2);
            assertThat(model.lastRequest()).doesNotContain("something bad");
        }
    }

    @Test
    void aHistoryThatIsTooLongForTheModelIsMadeShorter() {
        for (int i = 0; i < 3; i++) {
            model.says("a".repeat(1500));
        }
        model.fails(400, "maximum context length exceeded").says("fine");
        try (Agent agent = start()) {
            for (int i = 1; i <= 3; i++) {
                agent.say("question " + i + "q".repeat(1500));
                heard.ended(i);
            }
            agent.say("short");
            assertThat(heard.ended(4).outcome()).isEqualTo(Outcome.DONE);
            assertThat(heard.all(Status.class))
                    .extracting(Status::text)
                    .contains("Making the history of the conversation shorter");
            assertThat(model.lastRequest()).doesNotContain("question 1").contains("short");
        }
    }

    @Test
    void aConnectionThatIsCutIsToldAndTheAnswerBeginsAnew() {
        model.breaksOffAfter("Hel").says("Hello");
        try (Agent agent = start()) {
            agent.say("one");
            assertThat(heard.ended().outcome()).isEqualTo(Outcome.DONE);
            assertThat(heard.text()).isEqualTo("Hel\n\nHello");
            assertThat(heard.all(Status.class)).hasSize(1);
        }
    }

    // ---- servers that go away ------------------------------------------------------------------------------------

    @Test
    void theConversationIsKnownAfterAStartFromItsTranscript() {
        delegates("one").says("done");
        fake.reports("worked");
        byte[] kept;
        try (Agent agent = start()) {
            agent.say("my name is Ada");
            heard.ended();
            kept = transcript(agent);
        }
        heard = new Heard();
        try (Agent agent = runtime.start(station(Optional.of(kept)), heard)) {
            assertThatItWorksOn(agent, 1);
            assertThat(model.lastRequest()).contains("my name is Ada", "worked", "done");
            assertThat(transcript(agent)).startsWith(kept).hasSizeGreaterThan(kept.length);
            delegates("two").says("done too");
            fake.reports("worked again");
            agent.say("more");
            heard.ended(2);
            assertThat(fake.starts()).as("the idle one is taken up").hasSize(1);
            assertThat(lastResult()).isEqualTo("worked again");
        }
    }

    @Test
    void aTaskThatGoesOnIsWaitedForByTheNextServer() {
        delegates("work").says("It worked.");
        CountDownLatch go = new CountDownLatch(1);
        fake.then((process, _) -> {
            process.emit(new Began());
            process.use("1");
            process.emit(new Text("all "));
            process.await(go);
            process.emit(new Text("is well"));
            process.emit(new Ended(Outcome.DONE, Optional.empty()));
        });
        Agent first = start();
        first.say("one");
        heard.nth(ToolEnded.class, 1);
        first.close();
        byte[] kept = transcript(first);
        long position = heard.position();
        heard = new Heard();
        try (Agent next = runtime.attach(station(Optional.of(kept)), position, true, heard)
                .orElseThrow()) {
            assertThat(next.busy()).isTrue();
            go.countDown();
            assertThat(heard.ended().outcome()).isEqualTo(Outcome.DONE);
            assertThat(lastResult()).isEqualTo("all is well");
            assertThat(heard.text()).isEqualTo("It worked.");
            assertThat(heard.all(Began.class)).isEmpty();
            assertThat(fake.process().told()).containsExactly("work");
            assertThatItWorksOn(next, 2);
        }
    }

    @Test
    void aTaskWhoseAgentWentAwayWithTheServerIsToldToBeInterrupted() {
        delegates("work").says("I will look.");
        fake.worksUntilStopped();
        Agent first = start();
        first.say("one");
        heard.nth(ToolEnded.class, 1);
        first.close();
        fake.process().die();
        byte[] kept = transcript(first);
        long position = heard.position();
        heard = new Heard();
        try (Agent next = runtime.attach(station(Optional.of(kept)), position, true, heard)
                .orElseThrow()) {
            assertThat(heard.ended().outcome()).isEqualTo(Outcome.DONE);
            assertThat(lastResult()).contains("server was restarted");
            assertThat(next.alive()).isTrue();
        }
    }

    @Test
    void theReportOfAnEarlierTaskIsNeverTakenForThatOfTheOneThatWasInterrupted() {
        delegates("one").says("done");
        fake.reports("the first report");
        byte[] before;
        long position;
        try (Agent agent = start()) {
            agent.say("one");
            heard.ended();
            before = transcript(agent);
            position = heard.position();
        }
        byte[] more =
                ("{\"role\":\"user\",\"content\":\"two\"}\n{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":"
                                + "\"z\",\"function\":{\"name\":\"sandbox\",\"arguments\":\"{\\\"task\\\":\\\"t\\\"}\"}}]}\n")
                        .getBytes(UTF_8);
        ByteArrayOutputStream kept = new ByteArrayOutputStream();
        kept.writeBytes(before);
        kept.writeBytes(more);
        heard = new Heard();
        model.says("I do not know.");
        try (Agent next = runtime.attach(station(Optional.of(kept.toByteArray())), position, true, heard)
                .orElseThrow()) {
            assertThat(heard.ended().outcome()).isEqualTo(Outcome.DONE);
            assertThat(lastResult()).contains("server was restarted");
            assertThat(next.alive()).isTrue();
        }
    }

    @Test
    void aModelThatWasAskedWhenTheServerWentAwayIsAskedAgain() {
        CountDownLatch never = new CountDownLatch(1);
        model.pauses("half an", never, "answer").says("a whole answer");
        Agent first = start();
        first.say("one");
        heard.first(Text.class);
        first.close();
        byte[] kept = transcript(first);
        long position = heard.position();
        heard = new Heard();
        try (Agent next = runtime.attach(station(Optional.of(kept)), position, true, heard)
                .orElseThrow()) {
            assertThat(heard.ended().outcome()).isEqualTo(Outcome.DONE);
            assertThat(heard.text()).isEqualTo("a whole answer");
            assertThat(next.busy()).isFalse();
        }
        never.countDown();
    }

    @Test
    void aRunOfWhichNothingWasKeptLeavesNobodyAtWork() {
        delegates("work");
        fake.worksUntilStopped();
        Agent first = start();
        first.say("one");
        heard.nth(ToolEnded.class, 1);
        first.close();
        assertThat(runtime.attach(station(Optional.empty()), heard.position(), true, heard))
                .isEmpty();
        assertThat(fake.running()).isFalse();
    }

    @Test
    void aStartAfterAnInterruptedTaskRepairsTheConversationAndEndsWhoeverIsAtWork() {
        delegates("work");
        fake.worksUntilStopped();
        Agent first = start();
        first.say("one");
        heard.nth(ToolEnded.class, 1);
        first.close();
        byte[] kept = transcript(first);
        heard = new Heard();
        try (Agent next = runtime.start(station(Optional.of(kept)), heard)) {
            assertThat(fake.running()).isFalse();
            assertThatItWorksOn(next, 1);
            assertThat(model.lastRequest()).contains("server was restarted");
        }
    }

    @Test
    void aConversationThatIsKnownOnlyInWordsGoesOnToo() {
        Past said = new KeptPast(
                Optional.empty(),
                Optional.empty(),
                List.of(new Said(false, "my name is Ada"), new Said(true, "Hello Ada"), new Said(false, "unanswered")));
        try (Agent agent = runtime.start(new Station(SANDBOX, "/home/user/work", said, CONFIG), heard)) {
            assertThatItWorksOn(agent, 1);
            assertThat(model.lastRequest()).contains("my name is Ada", "Hello Ada", "unanswered");
            assertThat(new String(transcript(agent), UTF_8)).startsWith("{\"role\":\"user\"");
        }
    }

    @Test
    void anAgentThatRemembersAForgottenConversationIsNotTakenUp() {
        delegates("one").says("done");
        fake.reports("worked");
        try (Agent agent = start()) {
            agent.say("one");
            heard.ended();
        }
        heard = new Heard();
        delegates("two").says("done too");
        fake.reports("worked again");
        try (Agent agent = start()) {
            agent.say("two");
            assertThat(heard.ended().outcome()).isEqualTo(Outcome.DONE);
            assertThat(fake.starts()).hasSize(2);
            assertThat(fake.process().told()).containsExactly("two");
        }
    }

    @Test
    void nothingIsAttachedToWhereNoRunGoesOn() {
        assertThat(runtime.attach(station(Optional.empty()), 0, false, heard)).isEmpty();
    }

    @Test
    void endingItEndsTheCodingAgentToo() {
        delegates("work");
        fake.worksUntilStopped();
        Agent agent = start();
        agent.say("one");
        heard.nth(ToolEnded.class, 1);
        agent.end();
        assertThat(fake.running()).isFalse();
        assertThat(heard.awaitLost()).hasMessageContaining("was ended");
        assertThat(heard.all(Ended.class)).isEmpty();
        agent.close();
    }

    @Test
    void endingItEndsACodingAgentThatIsStillComingUp() throws InterruptedException {
        delegates("work");
        CountDownLatch mayStart = new CountDownLatch(1);
        fake.startsWhen(mayStart);
        Agent agent = start();
        agent.say("one");
        assertThat(fake.starting.await(60, TimeUnit.SECONDS)).isTrue();
        agent.end();
        assertThat(heard.awaitLost()).hasMessageContaining("was ended");
        mayStart.countDown();
        assertThat(fake.comeUp().dead.await(60, TimeUnit.SECONDS)).isTrue();
        agent.close();
    }
}
