package dev.berth.agent.acp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.agent.Agent;
import dev.berth.agent.AgentConfig;
import dev.berth.agent.AgentConfig.Model;
import dev.berth.agent.AgentConfig.Patience;
import dev.berth.agent.AgentEvent;
import dev.berth.agent.AgentEvent.Outcome;
import dev.berth.agent.AgentRuntime;
import dev.berth.agent.Heard;
import dev.berth.agent.KeptPast;
import dev.berth.agent.Past;
import dev.berth.agent.Past.Said;
import dev.berth.agent.ScriptedModel;
import dev.berth.agent.Station;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import dev.berth.sandbox.local.LocalProvider;
import dev.berth.sandbox.local.TestMachine;
import dev.berth.sandbox.local.template.TestingTemplates;
import java.io.ByteArrayInputStream;
import java.io.IOException;
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
import tools.jackson.databind.JsonNode;

/**
 * What is expected of the real OpenCode, whatever it is spoken to through, in a real sandbox and against a scripted model.
 * It takes seconds to start, so a test has more in it than one usually would.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 10, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
public abstract class OpencodeContract {
    private static final String WORKSPACE = "/home/user/work";
    private static final AgentConfig CONFIG = config("scripted");
    /** Goes on when a file is there, so that a test decides for how long the agent is busy. */
    private static final Map<String, String> WAIT =
            bash("echo waiting; until [ -e go ]; do sleep 0.02; done; echo went on");

    private AgentRuntime runtime;
    private final Map<SandboxId, ScriptedModel> models = new ConcurrentHashMap<>();
    private final AtomicInteger count = new AtomicInteger();
    private String template;
    private TestMachine machine;

    protected abstract AgentRuntime runtime();

    @BeforeAll
    void open() {
        runtime = runtime();
        template = TestingTemplates.agent().id();
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

    private static AgentConfig config(String provider) {
        return new AgentConfig(
                "You are the agent of a test.",
                new Model(
                        provider,
                        "scripted",
                        provider.equals("scripted") ? Optional.of(ScriptedModel.URL) : Optional.empty(),
                        "openai-completions",
                        Optional.of("KEY")),
                Patience.DEFAULT);
    }

    private static Map<String, String> bash(String command) {
        return Map.of("command", command, "description", "what a test wants");
    }

    /** A computer with an agent, a model and somebody who listens. */
    private final class Place implements AutoCloseable {
        private final ScriptedModel model = new ScriptedModel();
        private Heard heard = new Heard();
        private Past past = Past.NONE;
        private Sandbox sandbox;

        Place() {
            Map<String, String> variables = new ConcurrentHashMap<>(ScriptedModel.PROXY);
            variables.put("KEY", "placeholder-of-a-key");
            sandbox = machine.provider()
                    .create(SandboxSpec.of(runtime.name() + "-" + count.incrementAndGet(), template)
                            .withLimits(Limits.DEFAULT.withMemory(2L << 30))
                            .withNetwork(Network.restricted(Network.Rule.to("model.test")))
                            .withEnv(variables));
            models.put(sandbox.id(), model);
        }

        Station station() {
            return new Station(sandbox, WORKSPACE, past, CONFIG);
        }

        Agent start() {
            return runtime.start(station(), heard);
        }

        /** One that hears from the beginning again. */
        Agent startAnew() {
            heard = new Heard();
            return start();
        }

        Agent attach() {
            return runtime.attach(station(), heard.position(), heard.busy(), heard)
                    .orElseThrow();
        }

        void letGo() {
            sandbox.files().write(WORKSPACE + "/go", new ByteArrayInputStream(new byte[0]));
        }

        boolean has(String file) {
            return sandbox.files().exists(WORKSPACE + "/" + file);
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
    void itTalksAndUsesToolsAsItIsAllowed() {
        try (Place place = new Place();
                Agent agent = place.start()) {
            assertThat(agent.busy()).isFalse();
            place.model.says("Hel", "lo ", "there");
            agent.say("Say hello");
            assertThat(place.heard.ended(1).outcome()).isEqualTo(Outcome.DONE);
            assertThat(place.heard.text()).isEqualTo("Hello there");
            assertThat(place.heard.first(AgentEvent.Used.class))
                    .isEqualTo(new AgentEvent.Used(11, 7, Optional.empty()));
            assertThat(place.heard.story()).containsExactly("Began", "Used", "Ended");
            assertThat(place.model.lastRequest()).contains("You are the agent of a test.", "Say hello");
            assertThat(place.model.requests()).as("nothing but what was said").hasSize(1);
            assertThat(place.model.heads().getFirst())
                    .containsIgnoringCase("Authorization: Bearer placeholder-of-a-key\r\n");

            place.model.calls("bash", bash("echo made it | tee made")).says("done");
            agent.say("Make it");
            AgentEvent.Asked asked = place.heard.nth(AgentEvent.Asked.class, 1);
            assertThat(place.has("made")).as("made before it was allowed").isFalse();
            agent.decide(asked.question(), true);
            assertThat(place.heard.ended(2).outcome()).isEqualTo(Outcome.DONE);
            assertThat(asked.tool()).isEqualTo("bash");
            assertThat(asked.title()).isEqualTo("Run echo made it | tee made");
            AgentEvent.ToolStarted started = place.heard.first(AgentEvent.ToolStarted.class);
            AgentEvent.ToolEnded ended = place.heard.first(AgentEvent.ToolEnded.class);
            assertThat(started.tool()).isEqualTo("bash");
            assertThat(started.title()).isEqualTo("Run echo made it | tee made");
            assertThat(started.arguments()).containsEntry("command", "echo made it | tee made");
            assertThat(ended.call()).isEqualTo(started.call());
            assertThat(ended.ok()).isTrue();
            assertThat(ended.output()).contains("made it");
            assertThat(place.heard.story().subList(3, 9))
                    .containsExactly("Began", "ToolStarted", "Asked", "ToolEnded", "Used", "Ended");
            assertThat(place.has("made")).isTrue();

            place.model
                    .calls("write", Map.of("filePath", WORKSPACE + "/secret", "content", "x"))
                    .says("then not");
            agent.say("Write it");
            AgentEvent.Asked write = place.heard.nth(AgentEvent.Asked.class, 2);
            assertThat(write.tool()).isEqualTo("write");
            agent.decide(write.question(), false);
            assertThat(place.heard.ended(3).outcome()).isEqualTo(Outcome.DONE);
            assertThat(place.heard.nth(AgentEvent.ToolEnded.class, 2).ok()).isFalse();
            assertThat(place.has("secret")).isFalse();
            assertThat(place.heard.text()).endsWith("then not");

            place.model
                    .calls(AgentEvent.SHOW_FILE, Map.of("path", "report.txt", "title", "The report"))
                    .calls(AgentEvent.SHOW_FILE, Map.of("path", "/etc/shadow", "title", "No"))
                    .says("shown");
            agent.say("Show me");
            AgentEvent.Asked show = place.heard.nth(AgentEvent.Asked.class, 3);
            assertThat(show.tool()).isEqualTo(AgentEvent.SHOW_FILE);
            assertThat(show.arguments()).containsEntry("path", "report.txt").containsEntry("title", "The report");
            agent.decide(show.question(), true);
            agent.decide(place.heard.nth(AgentEvent.Asked.class, 4).question(), false);
            place.heard.ended(4);
            assertThat(place.model.lastRequest()).contains("see report.txt now", "/etc/shadow could not be shown");
        }
    }

    @Test
    void messagesInARunAreTakenUpInItAndForgottenWithAnAbort() {
        CountDownLatch never = new CountDownLatch(1);
        try (Place place = new Place();
                Agent agent = place.start()) {
            place.model.calls("bash", WAIT).says("the first").says("the others");
            agent.say("First this");
            agent.decide(place.heard.nth(AgentEvent.Asked.class, 1).question(), true);
            assertThat(agent.busy()).isTrue();
            agent.say("Also that");
            agent.say("And those");
            place.letGo();
            assertThat(place.heard.ended(1).outcome()).isEqualTo(Outcome.DONE);
            assertThat(place.heard.text()).isEqualTo("the firstthe others");
            assertThat(place.heard.all(AgentEvent.Began.class)).hasSize(1);
            assertThat(place.model.lastRequest()).contains("First this", "went on", "Also that", "And those");

            place.model.calls("bash", bash("touch made"));
            agent.say("Make it");
            place.heard.nth(AgentEvent.Asked.class, 2);
            agent.say("Forget me");
            agent.abort();
            assertThat(place.heard.ended(2).outcome()).isEqualTo(Outcome.ABORTED);
            assertThat(agent.busy()).isFalse();
            assertThat(agent.alive()).isTrue();
            assertThat(place.has("made")).isFalse();

            place.model.pauses("I will", never, "not end");
            agent.say("Talk");
            place.heard.nth(AgentEvent.Text.class, 3);
            agent.abort();
            assertThat(place.heard.ended(3).outcome()).isEqualTo(Outcome.ABORTED);

            assertThat(place.converse(agent, "Something else", "fine").outcome())
                    .isEqualTo(Outcome.DONE);
            assertThat(place.model.lastRequest())
                    .contains("First this", "Something else")
                    .doesNotContain("Forget me");
        } finally {
            never.countDown();
        }
    }

    @Test
    void failingModelsAndOddMessagesDoNotStopTheConversation() {
        try (Place place = new Place();
                Agent agent = place.start()) {
            place.model.fails(401, "this key is not known here");
            agent.say("Hello?");
            AgentEvent.Ended ended = place.heard.ended(1);
            assertThat(ended.outcome()).isEqualTo(Outcome.FAILED);
            assertThat(ended.message()).contains("this key is not known here");

            for (String command : List.of("/nonsense", " /init", "/review all")) {
                assertThat(place.converse(agent, command, "fine").outcome()).isEqualTo(Outcome.DONE);
                assertThat(place.model.lastRequest()).contains(command);
            }
            String odd =
                    "nul \0 bell \7 esc \u001b[31m tab \t line \n separators \u2028\u2029 quote \" \\ face \ud83d\ude00";
            assertThat(place.converse(agent, odd, "fine").outcome()).isEqualTo(Outcome.DONE);
            assertThat(lastMessage(place)).contains(odd);
            String big = "x".repeat(200_000) + "the end";
            assertThat(place.converse(agent, big, "fine").outcome()).isEqualTo(Outcome.DONE);
            assertThat(place.model.lastRequest()).contains(big);
        }
    }

    private static String lastMessage(Place place) {
        JsonNode content = place.model
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
    void theConversationGoesOnAfterItsProcessWasKilledAndInAnotherSandbox() {
        String conversation;
        try (Place place = new Place()) {
            try (Agent agent = place.start()) {
                conversation = agent.conversation();
                place.converse(agent, "My name is Ada", "Hello Ada");
                assertThat(agent.transcript(0)).isEmpty();
                int pid = place.sandbox.commands().getFirst().pid();
                place.sandbox.run(Command.of("kill", "-KILL", "--", "-" + pid));
                assertThat(place.heard.awaitLost().code()).isEqualTo(ErrorCode.UNAVAILABLE);
                assertThat(agent.alive()).isFalse();
                assertThatThrownBy(() -> agent.say("Are you there?")).hasMessageContaining("gone");
            }
            place.past = new KeptPast(Optional.of(conversation), Optional.empty(), List.of());
            try (Agent agent = place.startAnew()) {
                assertThat(agent.conversation()).isEqualTo(conversation);
                place.converse(agent, "Who am I?", "Ada");
                assertThat(place.heard.story())
                        .as("nothing of what was before")
                        .containsExactly("Began", "Used", "Ended");
                assertThat(place.heard.text()).isEqualTo("Ada");
                assertThat(place.model.lastRequest()).contains("My name is Ada", "Hello Ada", "Who am I?");
            }
        }
        try (Place place = new Place()) {
            place.past = new KeptPast(
                    Optional.of(conversation),
                    Optional.empty(),
                    List.of(new Said(false, "My name is Ada"), new Said(true, "Hello Ada")));
            try (Agent agent = place.start()) {
                assertThat(agent.conversation()).isNotEqualTo(conversation);
                place.converse(agent, "Who am I?", "Ada");
                assertThat(place.model.lastRequest()).contains("They: My name is Ada", "You: Hello Ada", "Who am I?");
            }
        }
    }

    @Test
    void aRunGoesOnWhileTheServerIsAwayAndNothingIsHeardTwice() {
        try (Place place = new Place()) {
            try (Agent agent = place.start()) {
                place.converse(agent, "Warm up", "before ");
                assertThatThrownBy(() -> runtime.start(place.station(), new Heard()))
                        .isInstanceOfSatisfying(
                                SandboxException.class,
                                e -> assertThat(e.code()).isEqualTo(ErrorCode.CONFLICT));
                place.model
                        .calls("bash", WAIT)
                        .calls("bash", bash("echo second"))
                        .says("all", " done")
                        .says(" and that");
                agent.say("Work");
                agent.decide(place.heard.nth(AgentEvent.Asked.class, 1).question(), true);
                place.heard.first(AgentEvent.ToolUpdated.class);
                agent.say("Then that");
            }
            assertThat(place.heard.busy()).isTrue();
            place.letGo();
            serveModels(machine.reopen());
            place.sandbox = machine.provider().find(place.sandbox.id()).orElseThrow();

            try (Agent _ = place.attach()) {
                place.heard.nth(AgentEvent.Asked.class, 2);
            }
            // One who did not hear the question itself can answer it all the same.
            try (Agent agent = place.attach()) {
                assertThat(agent.busy()).isTrue();
                agent.decide(place.heard.nth(AgentEvent.Asked.class, 2).question(), true);
                assertThat(place.heard.ended(2).outcome()).isEqualTo(Outcome.DONE);
                assertThat(place.heard.text()).isEqualTo("before all done and that");
                assertThat(place.heard.story().subList(3, place.heard.story().size()))
                        .containsExactly(
                                "Began",
                                "ToolStarted",
                                "Asked",
                                "ToolEnded",
                                "ToolStarted",
                                "Asked",
                                "ToolEnded",
                                "Used",
                                "Used",
                                "Ended");
                assertThat(place.converse(agent, "And now?", "more").outcome()).isEqualTo(Outcome.DONE);
                agent.end();
                place.heard.awaitLost();
            }
            assertThat(runtime.attach(place.station(), 0, false, new Heard())).isEmpty();
        }
    }

    @Test
    void aSandboxThatIsTooSmallIsRefused() {
        try (Place place = new Place()) {
            place.sandbox.limit(Limits.DEFAULT);
            assertThatThrownBy(place::start)
                    .isInstanceOfSatisfying(
                            SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.LIMIT))
                    .hasMessageContaining("has 512 MB");
            assertThat(place.sandbox.commands()).isEmpty();
        }
    }

    @Test
    void aModelThatItDoesNotKnowIsNotTakenForAnother() {
        try (Place place = new Place()) {
            Station station = new Station(place.sandbox, WORKSPACE, Past.NONE, config("nobody"));
            assertThatThrownBy(() -> runtime.start(station, place.heard))
                    .isInstanceOfSatisfying(
                            SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.UNAVAILABLE))
                    .hasMessageContaining("does not know the model nobody/scripted");
            assertThat(place.sandbox.run(Command.of("pgrep", "opencode")).code())
                    .as("it is gone")
                    .isEqualTo(1);
        }
    }
}
