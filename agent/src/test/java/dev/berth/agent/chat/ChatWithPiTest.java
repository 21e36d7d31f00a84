package dev.berth.agent.chat;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.agent.Agent;
import dev.berth.agent.AgentConfig;
import dev.berth.agent.AgentEvent.Asked;
import dev.berth.agent.AgentEvent.Began;
import dev.berth.agent.AgentEvent.Outcome;
import dev.berth.agent.AgentEvent.ToolEnded;
import dev.berth.agent.AgentEvent.ToolStarted;
import dev.berth.agent.Heard;
import dev.berth.agent.KeptPast;
import dev.berth.agent.ScriptedModel;
import dev.berth.agent.ScriptedModelServer;
import dev.berth.agent.Station;
import dev.berth.agent.pi.PiRuntime;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import dev.berth.sandbox.local.TestMachine;
import dev.berth.sandbox.local.template.TestingTemplates;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A model that talks, and the real pi that works for it in a real sandbox. */
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ChatWithPiTest {
    private static final String WORKSPACE = "/home/user/work";
    private static final String KEY = "sk-of-the-talking-model";
    private static final Duration LONG = Duration.ofSeconds(60);
    private static final AgentConfig CONFIG = new AgentConfig(
            "You are the agent of a test.",
            new AgentConfig.Model(
                    "scripted", "scripted", Optional.of(ScriptedModel.URL), "openai-completions", Optional.empty()),
            AgentConfig.Patience.DEFAULT);

    private final ScriptedModelServer server = new ScriptedModelServer();
    private final ScriptedModel talking = server.model();
    private final ScriptedModel working = new ScriptedModel();
    private final ModelClient client = new ModelClient(new ModelConfig(
            server.url(),
            "scripted",
            () -> Optional.of(KEY),
            new ModelConfig.Patience(LONG, LONG, LONG, Duration.ofMillis(5))));
    private TestMachine machine;
    private Sandbox sandbox;

    @BeforeEach
    void open() {
        machine = new TestMachine(RuntimeKind.CRUN);
        machine.provider().outlet(working);
        sandbox = machine.provider()
                .create(SandboxSpec.of("chat", TestingTemplates.agent().id())
                        .withNetwork(Network.restricted(Network.Rule.to("model.test")))
                        .withEnv(ScriptedModel.PROXY));
    }

    @AfterEach
    void close() throws IOException {
        client.close();
        server.close();
        machine.close();
    }

    private Station station(Optional<byte[]> transcript) {
        return new Station(sandbox, WORKSPACE, KeptPast.transcript(transcript), CONFIG);
    }

    /** As another server would have it. */
    private ChatRuntime runtime() {
        return new ChatRuntime(new PiRuntime(), client, ChatConfig.DEFAULT);
    }

    private String told() {
        return talking.requests()
                .getLast()
                .path("messages")
                .valueStream()
                .toList()
                .getLast()
                .path("content")
                .asString("");
    }

    @Test
    void piDoesTheWorkAndIsKeptForTheNextTask() {
        Heard heard = new Heard();
        talking.calls("sandbox", Map.of("task", "what is 6 * 7?")).says("It is 42.");
        working.calls("bash", Map.of("command", "echo $((6 * 7))")).says("The shell says 42.");
        try (Agent agent = runtime().start(station(Optional.empty()), heard)) {
            agent.say("six times seven?");
            agent.decide(heard.first(Asked.class).question(), true);
            assertThat(heard.ended(1).outcome()).isEqualTo(Outcome.DONE);
            assertThat(heard.text()).isEqualTo("It is 42.");
            assertThat(told()).isEqualTo("The shell says 42.");
            assertThat(heard.all(ToolStarted.class))
                    .extracting(ToolStarted::tool)
                    .containsExactly("sandbox", "bash");
            assertThat(heard.all(ToolEnded.class).getFirst().output()).contains("42");
            long processes = running();

            talking.calls("sandbox", Map.of("task", "and now?")).says("Nothing.");
            working.says("Nothing to do.");
            agent.say("and now?");
            assertThat(heard.ended(2).outcome()).isEqualTo(Outcome.DONE);
            assertThat(working.lastRequest()).contains("what is 6 * 7?", "and now?");
            assertThat(running()).isEqualTo(processes).isEqualTo(1);
            assertThat(working.heads()).noneMatch(head -> head.contains(KEY));
            agent.end();
            assertThat(running()).isZero();
        }
    }

    @Test
    void aTaskGoesOnWithoutTheServerAndTheNextOneGetsItsReport() {
        Heard first = new Heard();
        talking.calls("sandbox", Map.of("task", "wait")).says("It has waited.");
        working.calls("bash", Map.of("command", "until [ -e go ]; do sleep 0.02; done; echo went on"))
                .says("I have ", "waited.");
        Agent before = runtime().start(station(Optional.empty()), first);
        before.say("wait");
        before.decide(first.first(Asked.class).question(), true);
        first.nth(ToolStarted.class, 2);
        before.close();
        byte[] kept = before.transcript(0);
        sandbox.files().write(WORKSPACE + "/go", new ByteArrayInputStream(new byte[0]));

        Heard next = new Heard();
        try (Agent agent = runtime()
                .attach(station(Optional.of(kept)), first.position(), true, next)
                .orElseThrow()) {
            assertThat(next.ended().outcome()).isEqualTo(Outcome.DONE);
            assertThat(told()).isEqualTo("I have waited.");
            assertThat(next.text()).isEqualTo("It has waited.");
            assertThat(next.all(Began.class)).isEmpty();
            agent.end();
        }
    }

    @Test
    void aConversationThatBeginsHasAnAgentThatRemembersNothing() {
        for (String task : List.of("the first task", "the second task")) {
            Heard heard = new Heard();
            talking.calls("sandbox", Map.of("task", task)).says("Done.");
            working.says("It is done.");
            try (Agent agent = runtime().start(station(Optional.empty()), heard)) {
                agent.say(task);
                assertThat(heard.ended().outcome()).isEqualTo(Outcome.DONE);
                agent.end();
            }
        }
        assertThat(working.lastRequest()).contains("the second task").doesNotContain("the first task");
    }

    private long running() {
        return sandbox.commands().stream()
                .filter(command -> command.exit().isEmpty())
                .count();
    }
}
