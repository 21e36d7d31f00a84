package dev.berth.agent.run;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.agent.ScriptedModel;
import dev.berth.agent.pi.PiRuntime;
import dev.berth.agent.run.Run.State;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.local.template.TestingTemplates;
import dev.berth.session.Session;
import dev.berth.session.SessionKey;
import dev.berth.session.TestingSessions;
import java.io.ByteArrayInputStream;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** Runs of the real pi, in real sandboxes and against a scripted model. Needs root and crun. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PiRunsTest {
    /** Goes on when a file is there, so that a test decides for how long the agent is busy. */
    private static final Map<String, String> WAIT =
            Map.of("command", "until [ -e go ]; do sleep 0.02; done; echo went on");

    private final Map<SandboxId, ScriptedModel> models = new ConcurrentHashMap<>();
    private TestingRuns berth;

    @BeforeAll
    void open() {
        berth = new TestingRuns(
                new PiRuntime(),
                TestingSessions.SPEC
                        .withTemplate(TestingTemplates.agent().id())
                        .withNetwork(Network.restricted(Network.Rule.to("model.test")))
                        .withEnv(ScriptedModel.PROXY));
        berth.berth()
                .machine()
                .provider()
                .outlet((sandbox, connection) ->
                        models.getOrDefault(sandbox.id(), new ScriptedModel()).take(sandbox, connection));
    }

    @AfterAll
    void close() {
        berth.close();
    }

    private ScriptedModel model(SessionKey key) {
        return models.computeIfAbsent(key.sandboxId(), _ -> new ScriptedModel());
    }

    private void letGo(SessionKey key) {
        try (Session session = berth.berth().sessions().resolve(key)) {
            session.sandbox().files().write("workspace/go", new ByteArrayInputStream(new byte[0]));
        }
    }

    private boolean started(Run run) {
        return berth.events(run, RunEvent.Status.class).contains(new RunEvent.Status(run.id(), "Starting pi"));
    }

    @Test
    void itAnswersSleepsIsSteeredAndStopped() throws InterruptedException {
        SessionKey key = berth.key();
        model(key).says("Hel", "lo");
        Run first = berth.ask(key, "Say hello");
        assertThat(first.state()).as(String.valueOf(first.error())).isEqualTo(State.DONE);
        assertThat(first.answer()).isEqualTo("Hello");
        assertThat(berth.story(first)).containsExactly("Began", "Used", "Ended");
        assertThat(started(first)).isTrue();

        berth.berth().sessions().pause(key);
        model(key).calls("bash", WAIT).says("Both done");
        Run steered = berth.say(key, "Wait for it");
        berth.await(steered, RunEvent.ToolStarted.class::isInstance);
        assertThat(berth.say(key, "And this too").id()).isEqualTo(steered.id());
        berth.await(steered, RunEvent.Steered.class::isInstance);
        letGo(key);
        assertThat(berth.ended(steered).answer()).isEqualTo("Both done");
        assertThat(started(steered)).as("started anew after a sleep").isFalse();
        assertThat(model(key).lastRequest()).contains("Say hello", "went on", "And this too");

        CountDownLatch never = new CountDownLatch(1);
        model(key).pauses("I go on", never, "");
        Run stopped = berth.say(key, "Go on for ever");
        berth.awaitText(stopped, "I go on");
        berth.runs().abort(key, "somebody");
        assertThat(berth.ended(stopped).state()).isEqualTo(State.ABORTED);
        never.countDown();
        model(key).says("Still here");
        assertThat(berth.ask(key, "Are you there?").answer()).isEqualTo("Still here");
    }

    @Test
    void aLostSandboxIsRebuiltWithItsHistoryAndTheModelIsToldWhatIsGone() throws InterruptedException {
        SessionKey key = berth.key();
        model(key).calls("bash", Map.of("command", "echo kept > note")).says("I noted the blue whale");
        berth.ask(key, "Note the whale");
        berth.berth().machine().provider().find(key.sandboxId()).orElseThrow().destroy();

        model(key).says("It was blue");
        Run run = berth.ask(key, "Which colour?");

        assertThat(run.state()).as(String.valueOf(run.error())).isEqualTo(State.DONE);
        assertThat(run.answer()).isEqualTo("It was blue");
        assertThat(model(key).lastRequest())
                .contains("Note the whale", "I noted the blue whale", "Note from Berth: The sandbox was lost");

        berth.runs().reset(key, "somebody");
        model(key).says("Nothing");
        assertThat(berth.ask(key, "What do you know?").answer()).isEqualTo("Nothing");
        assertThat(model(key).lastRequest()).doesNotContain("whale");
    }

    @Test
    void itShowsAFileAndGoesOnInTheNextServer() throws InterruptedException {
        SessionKey key = berth.key();
        try (Session session = berth.berth().sessions().resolve(key, berth.spec())) {
            session.sandbox()
                    .files()
                    .write("workspace/report.txt", new ByteArrayInputStream("All is well".getBytes(UTF_8)));
        }
        model(key)
                .calls("showFile", Map.of("path", "report.txt", "title", "The report"))
                .calls("bash", WAIT)
                .says("There it is");
        Run run;
        try (Runs first = berth.open()) {
            run = first.say(key, Message.of("Report", "tester"));
            berth.await(
                    run,
                    event -> event instanceof RunEvent.ToolStarted tool
                            && tool.tool().equals("bash"));
        }
        letGo(key);
        Run ended = berth.ended(run);

        assertThat(ended.answer()).isEqualTo("There it is");
        assertThat(ended.attempt()).isEqualTo(1);
        assertThat(berth.events(run, RunEvent.Shown.class))
                .singleElement()
                .satisfies(shown -> assertThat(shown.title()).isEqualTo("The report"));
        assertThat(berth.events(run, RunEvent.ToolStarted.class)).hasSize(2);
        assertThat(berth.events(run, RunEvent.ToolEnded.class)).hasSize(2);
        assertThat(berth.events(run, RunEvent.Ended.class)).hasSize(1);
    }
}
