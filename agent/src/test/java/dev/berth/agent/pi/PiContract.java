package dev.berth.agent.pi;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.agent.Agent;
import dev.berth.agent.AgentConfig;
import dev.berth.agent.AgentConfig.Model;
import dev.berth.agent.AgentConfig.Patience;
import dev.berth.agent.AgentEvent;
import dev.berth.agent.AgentEvent.Outcome;
import dev.berth.agent.Heard;
import dev.berth.agent.KeptPast;
import dev.berth.agent.Past;
import dev.berth.agent.ScriptedModel;
import dev.berth.agent.Station;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import dev.berth.sandbox.local.LocalProvider;
import dev.berth.sandbox.local.TestMachine;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** What is expected of the real pi, whatever its version, in a real sandbox and against a scripted model. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 10, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class PiContract {
    private static final String WORKSPACE = "/home/user/work";
    private static final String SESSION = "/home/user/.pi/agent/sessions/berth.jsonl";
    private static final AgentConfig CONFIG = new AgentConfig(
            "You are the agent of a test.",
            new Model("scripted", "scripted", Optional.of(ScriptedModel.URL), "openai-completions", Optional.of("KEY")),
            Patience.DEFAULT);
    /** Goes on when a file is there, so that a test decides for how long the agent is busy. */
    private static final Map<String, String> WAIT =
            Map.of("command", "until [ -e go ]; do sleep 0.02; done; echo went on");

    private final PiRuntime runtime = new PiRuntime();
    private final Map<SandboxId, ScriptedModel> models = new ConcurrentHashMap<>();
    private final AtomicInteger count = new AtomicInteger();
    private String template;
    private TestMachine machine;

    /** @return its template */
    abstract String template();

    @BeforeAll
    void open() {
        template = template();
        machine = new TestMachine(RuntimeKind.CRUN);
        serveModels(machine.provider());
    }

    @AfterAll
    void close() throws IOException {
        machine.close();
    }

    private void serveModels(LocalProvider provider) {
        provider.outlet((sandbox, connection) ->
                models.getOrDefault(sandbox.id(), new ScriptedModel()).take(sandbox, connection));
    }

    /** A computer with an agent, a model and somebody who listens. */
    private final class Place implements AutoCloseable {
        private final ScriptedModel model = new ScriptedModel();
        private Heard heard = new Heard();
        private Sandbox sandbox;
        private Optional<byte[]> transcript = Optional.empty();

        Place() {
            sandbox = machine.provider()
                    .create(SandboxSpec.of("pi-" + count.incrementAndGet(), template)
                            .withNetwork(Network.restricted(Network.Rule.to("model.test")))
                            .withEnv(ScriptedModel.PROXY));
            models.put(sandbox.id(), model);
        }

        Station station() {
            return new Station(sandbox, WORKSPACE, KeptPast.transcript(transcript), CONFIG);
        }

        Agent start() {
            return runtime.start(station(), heard);
        }

        /** One that hears from the beginning again. */
        Agent startAnew() {
            heard = new Heard();
            return start();
        }

        void letGo() {
            sandbox.files().write(WORKSPACE + "/go", new ByteArrayInputStream(new byte[0]));
        }

        byte[] session() throws IOException {
            try (InputStream in = sandbox.files().read(SESSION)) {
                return in.readAllBytes();
            }
        }

        /** One run about one message. */
        AgentEvent.Ended converse(Agent agent, String message, String answer) {
            model.says(answer);
            int runs = heard.all(AgentEvent.Ended.class).size();
            agent.say(message);
            return heard.ended(runs + 1);
        }

        @Override
        public void close() {
            sandbox.destroy();
        }
    }

    @Test
    void itsAnswerComesInPiecesAndItsRunEnds() {
        try (Place place = new Place();
                Agent agent = place.start()) {
            assertThat(agent.busy()).isFalse();
            place.model.says("Hel", "lo ", "there");

            agent.say("Say hello");

            assertThat(place.heard.ended().outcome()).isEqualTo(Outcome.DONE);
            assertThat(place.heard.text()).isEqualTo("Hello there");
            assertThat(place.heard.all(AgentEvent.Text.class)).hasSizeGreaterThan(1);
            assertThat(place.heard.first(AgentEvent.Used.class))
                    .isEqualTo(new AgentEvent.Used(11, 7, Optional.empty()));
            assertThat(place.heard.story()).containsExactly("Began", "Used", "Noted", "Ended");
            assertThat(agent.busy()).isFalse();
            assertThat(place.model.lastRequest()).contains("You are the agent of a test.", "Say hello");
        }
    }

    @Test
    void itSendsThePlaceholderOfItsKey() {
        try (Place place = new Place()) {
            place.sandbox.env(Map.of(
                    "KEY", "placeholder-of-a-key", "HTTP_PROXY", ScriptedModel.PROXY.getOrDefault("HTTP_PROXY", "")));
            try (Agent agent = place.start()) {
                place.converse(agent, "Hello", "hello");
                assertThat(place.model.heads().getFirst())
                        .containsIgnoringCase("Authorization: Bearer placeholder-of-a-key\r\n");
            }
        }
    }

    @Test
    void aModelThatItDoesNotKnowIsNotTakenForAnother() {
        try (Place place = new Place()) {
            Station station = new Station(
                    place.sandbox,
                    WORKSPACE,
                    Past.NONE,
                    new AgentConfig(
                            "",
                            new Model("nobody", "nothing", Optional.empty(), "openai-completions", Optional.empty()),
                            Patience.DEFAULT));
            assertThatThrownBy(() -> runtime.start(station, place.heard))
                    .isInstanceOfSatisfying(
                            SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.UNAVAILABLE))
                    .hasMessageContaining("nobody");
        }
    }

    @Test
    void aToolRunsWhenItIsAllowed() throws IOException {
        try (Place place = new Place();
                Agent agent = place.start()) {
            place.model
                    .calls("bash", Map.of("command", "echo made it | tee made"))
                    .says("done");

            agent.say("Make it");
            AgentEvent.Asked asked = place.heard.first(AgentEvent.Asked.class);
            assertThat(place.sandbox.files().exists(WORKSPACE + "/made"))
                    .as("made before it was allowed")
                    .isFalse();
            agent.decide(asked.question(), true);

            assertThat(place.heard.ended().outcome()).isEqualTo(Outcome.DONE);
            assertThat(asked.tool()).isEqualTo("bash");
            assertThat(asked.title()).isEqualTo("Run echo made it | tee made");
            AgentEvent.ToolStarted started = place.heard.first(AgentEvent.ToolStarted.class);
            AgentEvent.ToolEnded ended = place.heard.first(AgentEvent.ToolEnded.class);
            assertThat(started.tool()).isEqualTo("bash");
            assertThat(started.arguments()).containsEntry("command", "echo made it | tee made");
            assertThat(ended.call()).isEqualTo(started.call());
            assertThat(ended.ok()).isTrue();
            assertThat(ended.output()).contains("made it");
            assertThat(place.heard.story())
                    .containsExactly(
                            "Began", "Used", "ToolStarted", "Asked", "ToolEnded", "Noted", "Used", "Noted", "Ended");
            assertThat(place.model.lastRequest()).contains("made it");
            assertThat(place.sandbox.files().exists(WORKSPACE + "/made")).isTrue();
        }
    }

    @Test
    void aToolDoesNotRunWhenItIsNotAllowed() {
        try (Place place = new Place();
                Agent agent = place.start()) {
            place.model.calls("bash", Map.of("command", "touch made")).says("then not");

            agent.say("Make it");
            agent.decide(place.heard.first(AgentEvent.Asked.class).question(), false);

            assertThat(place.heard.ended().outcome()).isEqualTo(Outcome.DONE);
            assertThat(place.heard.first(AgentEvent.ToolEnded.class).ok()).isFalse();
            assertThat(place.sandbox.files().exists(WORKSPACE + "/made")).isFalse();
            assertThat(place.model.lastRequest()).contains("This was not allowed");
        }
    }

    @Test
    void itAsksForFilesToBeShownAndLearnsWhetherTheyWere() {
        try (Place place = new Place();
                Agent agent = place.start()) {
            place.model
                    .calls("showFile", Map.of("path", "report.txt", "title", "The report"))
                    .calls("showFile", Map.of("path", "/etc/shadow"))
                    .says("shown");

            agent.say("Show me");
            AgentEvent.Asked first = place.heard.nth(AgentEvent.Asked.class, 1);
            assertThat(first.tool()).isEqualTo(AgentEvent.SHOW_FILE);
            assertThat(first.arguments()).containsEntry("path", "report.txt").containsEntry("title", "The report");
            agent.decide(first.question(), true);
            agent.decide(place.heard.nth(AgentEvent.Asked.class, 2).question(), false);

            place.heard.ended();
            assertThat(place.heard.all(AgentEvent.ToolEnded.class))
                    .extracting(AgentEvent.ToolEnded::ok)
                    .containsExactly(true, false);
            assertThat(place.model.lastRequest()).contains("see report.txt now", "/etc/shadow could not be shown");
        }
    }

    @Test
    void aMessageInARunSteersIt() {
        try (Place place = new Place();
                Agent agent = place.start()) {
            place.model.calls("bash", WAIT).says("both done");
            agent.say("First this");
            agent.decide(place.heard.first(AgentEvent.Asked.class).question(), true);
            assertThat(agent.busy()).isTrue();

            agent.say("Also that");
            place.letGo();

            assertThat(place.heard.ended().outcome()).isEqualTo(Outcome.DONE);
            assertThat(place.model.lastRequest()).contains("First this", "went on", "Also that");
            assertThat(place.heard.all(AgentEvent.Began.class)).hasSize(1);
        }
    }

    @Test
    void whatIsQueuedIsForgottenWithAnAbort() {
        try (Place place = new Place();
                Agent agent = place.start()) {
            place.model.calls("bash", WAIT);
            agent.say("First this");
            agent.decide(place.heard.first(AgentEvent.Asked.class).question(), true);
            agent.say("Forget me");

            agent.abort();

            assertThat(place.heard.ended().outcome()).isEqualTo(Outcome.ABORTED);
            assertThat(agent.busy()).isFalse();
            if (agent.alive()) {
                place.converse(agent, "Something else", "fine");
            } else {
                try (Agent next = place.startAnew()) {
                    place.converse(next, "Something else", "fine");
                }
            }
            assertThat(place.model.lastRequest())
                    .contains("First this", "Something else")
                    .doesNotContain("Forget me");
        }
    }

    @Test
    void aQuestionEndsWithAnAbort() {
        try (Place place = new Place();
                Agent agent = place.start()) {
            place.model.calls("bash", Map.of("command", "touch made"));
            agent.say("Make it");
            place.heard.first(AgentEvent.Asked.class);

            agent.abort();

            assertThat(place.heard.ended().outcome()).isEqualTo(Outcome.ABORTED);
            assertThat(agent.alive()).isTrue();
            assertThat(place.converse(agent, "Go on", "fine").outcome()).isEqualTo(Outcome.DONE);
            assertThat(place.sandbox.files().exists(WORKSPACE + "/made")).isFalse();
        }
    }

    @Test
    void aModelThatIsStreamingIsCutOffByAnAbort() {
        CountDownLatch never = new CountDownLatch(1);
        try (Place place = new Place();
                Agent agent = place.start()) {
            place.model.pauses("I will", never, "not end");
            agent.say("Talk");
            place.heard.first(AgentEvent.Text.class);

            agent.abort();

            assertThat(place.heard.ended().outcome()).isEqualTo(Outcome.ABORTED);
        } finally {
            never.countDown();
        }
    }

    @Test
    void aModelThatFailsAndComesBackIsOneRun() {
        try (Place place = new Place();
                Agent agent = place.start()) {
            place.model.fails(500, "overloaded").says("here I am");

            agent.say("Are you there?");

            assertThat(place.heard.ended().outcome()).isEqualTo(Outcome.DONE);
            assertThat(place.heard.all(AgentEvent.Began.class)).hasSize(1);
            assertThat(place.heard.first(AgentEvent.Status.class).text()).startsWith("Trying again (1 of 3)");
            assertThat(place.heard.text()).isEqualTo("here I am");
            assertThat(place.model.requests()).hasSize(2);
        }
    }

    @Test
    void aModelThatRefusesIsAFailureAndTheNextMessageWorks() {
        try (Place place = new Place();
                Agent agent = place.start()) {
            place.model.fails(401, "this key is not known here");
            agent.say("Hello?");

            AgentEvent.Ended ended = place.heard.ended();
            assertThat(ended.outcome()).isEqualTo(Outcome.FAILED);
            assertThat(ended.message()).get().asString().contains("this key is not known here");
            assertThat(place.converse(agent, "And now?", "yes").outcome()).isEqualTo(Outcome.DONE);
        }
    }

    @Test
    void aModelThatBreaksOffOrTalksNonsenseDoesNotStopTheConversation() {
        try (Place place = new Place();
                Agent agent = place.start()) {
            place.model.breaksOffAfter("I was going to").says("as I said");
            agent.say("Go on");
            assertThat(place.heard.ended(1).outcome()).isEqualTo(Outcome.DONE);
            assertThat(place.heard.text()).endsWith("as I said");

            place.model.saysGarbage();
            agent.say("Say something");
            place.heard.ended(2);
            assertThat(place.converse(agent, "And now?", "better").outcome()).isEqualTo(Outcome.DONE);
        }
    }

    @Test
    void theConversationGoesOnAfterItsProcessWasKilled() throws IOException {
        try (Place place = new Place()) {
            try (Agent agent = place.start()) {
                place.converse(agent, "My name is Ada", "Hello Ada");
                int pid = place.sandbox.commands().getFirst().pid();
                place.sandbox.run(Command.of("kill", "-KILL", "--", "-" + pid));
                assertThat(place.heard.awaitLost().code()).isEqualTo(ErrorCode.UNAVAILABLE);
                assertThat(agent.alive()).isFalse();
                assertThatThrownBy(() -> agent.say("Are you there?")).hasMessageContaining("gone");
            }
            try (Agent agent = place.startAnew()) {
                place.converse(agent, "Who am I?", "Ada");
                assertThat(place.model.lastRequest()).contains("My name is Ada", "Hello Ada", "Who am I?");
            }
        }
    }

    @Test
    void aTornEndOfItsFileIsCutAndNothingElseIsLost() throws IOException {
        try (Place place = new Place()) {
            try (Agent agent = place.start()) {
                place.converse(agent, "My name is Ada", "Hello Ada");
                agent.end();
                place.heard.awaitLost();
            }
            place.sandbox
                    .files()
                    .append(SESSION, new ByteArrayInputStream("{\"type\":\"message\",\"id\":\"12".getBytes(UTF_8)));
            try (Agent agent = place.startAnew()) {
                place.converse(agent, "Who am I?", "Ada");
                agent.end();
                place.heard.awaitLost();
            }
            try (Agent agent = place.startAnew()) {
                place.converse(agent, "Still?", "Still");
                assertThat(place.model.lastRequest()).contains("My name is Ada", "Who am I?", "Still?");
            }
            assertThat(new String(place.session(), UTF_8)).doesNotContain("\"id\":\"12{");
        }
    }

    @Test
    void aDamagedFileIsSetAsideAndWhatWasKeptTakesItsPlace() throws IOException {
        try (Place place = new Place()) {
            try (Agent agent = place.start()) {
                place.converse(agent, "My name is Ada", "Hello Ada");
                agent.end();
                place.heard.awaitLost();
            }
            byte[] kept = place.session();
            byte[] damaged = "\0\0\0\0 not a header\n{}\n".getBytes(UTF_8);
            place.sandbox.files().write(SESSION, new ByteArrayInputStream(damaged));
            place.transcript = Optional.of(kept);
            try (Agent agent = place.startAnew()) {
                place.converse(agent, "Who am I?", "Ada");
                assertThat(place.model.lastRequest()).contains("My name is Ada");
            }
            try (InputStream in = place.sandbox.files().read(SESSION + ".damaged")) {
                assertThat(in.readAllBytes()).isEqualTo(damaged);
            }
        }
    }

    @Test
    void aConversationIsRebuiltInAnotherSandbox() throws IOException {
        byte[] kept;
        try (Place lost = new Place();
                Agent agent = lost.start()) {
            lost.converse(agent, "My name is Ada", "Hello Ada");
            kept = lost.session();
        }
        try (Place place = new Place()) {
            place.transcript = Optional.of(kept);
            try (Agent agent = place.start()) {
                place.converse(agent, "Who am I?", "Ada");
                assertThat(place.model.lastRequest()).contains("My name is Ada", "Hello Ada", "Who am I?");
            }
        }
    }

    @Test
    void aSecondOneIsRefused() {
        try (Place place = new Place();
                Agent agent = place.start()) {
            assertThatThrownBy(() -> runtime.start(place.station(), new Heard()))
                    .isInstanceOfSatisfying(
                            SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CONFLICT));
            assertThat(place.converse(agent, "Still there?", "yes").outcome()).isEqualTo(Outcome.DONE);
        }
    }

    @Test
    void oneThatNobodyKnowsOfIsFoundByItsLock() {
        try (Place place = new Place()) {
            place.sandbox.files().makeDirectory("/home/user/.pi/agent/sessions");
            try (RunningCommand _ = place.sandbox.start(Command.of("flock", SESSION + ".lock", "sleep", "600"))) {
                place.sandbox.run(Command.shell("until ! flock -n " + SESSION + ".lock true; do sleep 0.02; done"));
                assertThatThrownBy(place::start)
                        .isInstanceOfSatisfying(
                                SandboxException.class,
                                e -> assertThat(e.code()).isEqualTo(ErrorCode.CONFLICT));
            }
        }
    }

    @Test
    void aProgramThatItLeftBehindDoesNotHoldItsLock() {
        try (Place place = new Place()) {
            try (Agent agent = place.start()) {
                place.model
                        .calls("bash", Map.of("command", "setsid sleep 600 >/dev/null 2>&1 & echo started"))
                        .says("it runs");
                agent.say("Start it");
                agent.decide(place.heard.first(AgentEvent.Asked.class).question(), true);
                place.heard.ended();
                agent.end();
                place.heard.awaitLost();
            }
            assertThat(place.sandbox.run(Command.of("pgrep", "-x", "sleep")).code())
                    .isZero();
            try (Agent agent = place.startAnew()) {
                assertThat(place.converse(agent, "Still there?", "yes").outcome())
                        .isEqualTo(Outcome.DONE);
            }
        }
    }

    @Test
    void aRunGoesOnWhileTheServerIsAwayAndNothingIsHeardTwice() {
        try (Place place = new Place()) {
            try (Agent agent = place.start()) {
                place.model.says("before");
                agent.say("Warm up");
                place.heard.ended(1);
                place.model
                        .calls("bash", WAIT)
                        .calls("bash", Map.of("command", "echo second"))
                        .says("all", " done");
                agent.say("Work");
                agent.decide(place.heard.first(AgentEvent.Asked.class).question(), true);
                place.heard.first(AgentEvent.ToolUpdated.class);
            }
            assertThat(place.heard.busy()).isTrue();
            place.letGo();
            serveModels(machine.reopen());
            place.sandbox = machine.provider().find(place.sandbox.id()).orElseThrow();

            try (Agent agent = runtime.attach(place.station(), place.heard.position(), place.heard.busy(), place.heard)
                    .orElseThrow()) {
                agent.decide(place.heard.nth(AgentEvent.Asked.class, 2).question(), true);
                assertThat(place.heard.ended(2).outcome()).isEqualTo(Outcome.DONE);

                assertThat(place.heard.text()).isEqualTo("beforeall done");
                assertThat(place.heard.story().subList(4, place.heard.story().size()))
                        .containsExactly(
                                "Began",
                                "Used",
                                "ToolStarted",
                                "Asked",
                                "ToolEnded",
                                "Noted",
                                "Used",
                                "ToolStarted",
                                "Asked",
                                "ToolEnded",
                                "Noted",
                                "Used",
                                "Noted",
                                "Ended");
                assertThat(place.converse(agent, "And now?", "more").outcome()).isEqualTo(Outcome.DONE);
            }
        }
    }

    @Test
    void aRunThatEndedWhileTheServerWasAwayIsHeardOf() {
        try (Place place = new Place()) {
            try (Agent agent = place.start()) {
                place.model.calls("read", Map.of("path", "nothing-here")).says("over");
                agent.say("Work");
                place.heard.first(AgentEvent.Began.class);
            }
            // Two that come and go: what the first hears the second does not.
            for (int i = 0; i < 20 && place.heard.busy(); i++) {
                try (Agent agent = runtime.attach(
                                place.station(), place.heard.position(), place.heard.busy(), place.heard)
                        .orElseThrow()) {
                    if (i == 19) {
                        place.heard.ended();
                    }
                    assertThat(agent.alive()).isTrue();
                }
            }
            place.heard.ended();
            assertThat(place.heard.text()).isEqualTo("over");
            assertThat(place.heard.story())
                    .containsExactly("Began", "Used", "ToolStarted", "ToolEnded", "Noted", "Used", "Noted", "Ended");
        }
    }

    @Test
    void longMessagesAndOddCharactersArriveAsTheyAre() {
        try (Place place = new Place();
                Agent agent = place.start()) {
            String odd =
                    "nul \0 bell \7 esc \u001b[31m tab \t line \n separators \u2028\u2029 quote \" \\ face \ud83d\ude00";
            String big = "x".repeat(200_000) + "the end";
            assertThat(place.converse(agent, odd, "fine").outcome()).isEqualTo(Outcome.DONE);
            assertThat(lastMessage(place)).contains(odd);
            assertThat(place.converse(agent, big, "fine").outcome()).isEqualTo(Outcome.DONE);
            assertThat(lastMessage(place)).contains(big);
        }
    }

    private static String lastMessage(Place place) {
        var content = place.model
                .requests()
                .getLast()
                .path("messages")
                .valueStream()
                .toList()
                .getLast()
                .path("content");
        return content.isString()
                ? content.asString()
                : content.path(0).path("text").asString();
    }

    @Test
    void aMessageThatLooksLikeACommandIsAMessage() {
        try (Place place = new Place();
                Agent agent = place.start()) {
            for (String message : List.of("/quit", "/compact", "!ls", "/nonsense")) {
                assertThat(place.converse(agent, message, "fine").outcome()).isEqualTo(Outcome.DONE);
                assertThat(lastMessage(place)).isEqualTo(message);
            }
        }
    }
}
