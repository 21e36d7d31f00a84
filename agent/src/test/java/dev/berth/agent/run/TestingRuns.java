package dev.berth.agent.run;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.agent.AgentConfig;
import dev.berth.agent.AgentConfig.Model;
import dev.berth.agent.AgentConfig.Patience;
import dev.berth.agent.AgentEvent.Asked;
import dev.berth.agent.AgentRuntime;
import dev.berth.agent.ScriptedModel;
import dev.berth.agent.run.Choices.Choice;
import dev.berth.session.EventFollower;
import dev.berth.session.LoggedEvent;
import dev.berth.session.SessionKey;
import dev.berth.session.SessionSpec;
import dev.berth.session.TestingSessions;
import dev.berth.session.artifact.Artifacts;
import dev.berth.session.artifact.ArtifactsConfig;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** Runs on a machine and a database of a test class's own. */
final class TestingRuns implements AutoCloseable {
    static final Duration LONG = Duration.ofSeconds(60);
    static final AgentConfig CONFIG = new AgentConfig(
            "You are the agent of a test.",
            new Model("scripted", "scripted", Optional.of(ScriptedModel.URL), "openai-completions", Optional.of("KEY")),
            Patience.DEFAULT);
    /** Of a model that nobody asks. */
    static final AgentConfig FAKE = new AgentConfig(
            "",
            new Model("fake", "fake", Optional.empty(), "openai-completions", Optional.empty()),
            new Patience(LONG, LONG, LONG.multipliedBy(5), LONG.multipliedBy(5)));

    private static final RunsConfig RUNS = new RunsConfig(Duration.ofSeconds(3), "workspace");

    private final TestingSessions berth = new TestingSessions();
    private final Map<String, AgentRuntime> runtimes;
    private final String runtime;
    private final SessionSpec spec;
    private final Map<SessionKey, AgentConfig> configs = new ConcurrentHashMap<>();
    private final Map<SessionKey, Permissions> permissions = new ConcurrentHashMap<>();
    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private final AtomicInteger count = new AtomicInteger();
    private final Artifacts artifacts;
    private Runs runs;

    TestingRuns(AgentRuntime runtime, SessionSpec spec) {
        this.runtime = runtime.name();
        this.runtimes = Map.of(this.runtime, runtime);
        this.spec = spec;
        this.artifacts = Artifacts.open(
                ArtifactsConfig.in(berth.machine().data().resolve("artifacts")),
                berth.database(),
                berth.sessions().events(),
                (_, _) -> "text/plain",
                InstantSource.system(),
                new SecureRandom());
        this.runs = open();
    }

    /** Another server on the same database, beside those that are there. */
    Runs open() {
        return Runs.open(
                RUNS,
                berth.sessions(),
                berth.database(),
                artifacts,
                runtimes,
                key -> new Choice(runtime, configs.getOrDefault(key, CONFIG), spec),
                this::permit,
                meters);
    }

    private boolean permit(SessionKey session, String run, String actor, Asked question) throws InterruptedException {
        Permissions asked = permissions.get(session);
        return asked == null || asked.ask(session, run, actor, question);
    }

    /** The server goes down in good order, and another takes its place. */
    Runs restart() {
        runs.close();
        runs = open();
        return runs;
    }

    SessionKey key() {
        return TestingSessions.key("run-" + count.incrementAndGet());
    }

    void configure(SessionKey key, AgentConfig config) {
        configs.put(key, config);
    }

    void patience(SessionKey key, Duration command, Duration run, Duration silence) {
        configs.put(
                key, new AgentConfig(CONFIG.instructions(), CONFIG.model(), new Patience(LONG, command, run, silence)));
    }

    void permissions(SessionKey key, Permissions answer) {
        permissions.put(key, answer);
    }

    TestingSessions berth() {
        return berth;
    }

    Artifacts artifacts() {
        return artifacts;
    }

    Runs runs() {
        return runs;
    }

    SessionSpec spec() {
        return spec;
    }

    SimpleMeterRegistry meters() {
        return meters;
    }

    Run say(SessionKey key, String text) {
        return runs.say(key, Message.of(text, "tester"));
    }

    /** Says something and waits for what comes of it. */
    Run ask(SessionKey key, String text) throws InterruptedException {
        return ended(say(key, text));
    }

    Run ended(Run run) throws InterruptedException {
        Run now = runs.await(run.id(), LONG);
        assertThat(now.state().ended())
                .as("run has ended: %s, %s", now, log(run.session()))
                .isTrue();
        return now;
    }

    /** Waits for an event of a run. */
    RunEvent await(Run run, Predicate<RunEvent> wanted) throws InterruptedException {
        List<RunEvent> seen = new ArrayList<>();
        long deadline = System.nanoTime() + LONG.toNanos();
        try (EventFollower follower = berth.sessions().events().follow(run.session(), run.firstEvent() - 1)) {
            while (System.nanoTime() < deadline) {
                for (LoggedEvent logged : follower.next(Duration.ofSeconds(1))) {
                    Optional<RunEvent> event =
                            RunEvent.of(logged).filter(it -> it.run().equals(run.id()));
                    if (event.filter(wanted).isPresent()) {
                        return event.get();
                    }
                    event.ifPresent(seen::add);
                }
            }
        }
        throw new AssertionError("waited in vain; there were " + seen);
    }

    /** Waits until the agent has said this in a run. */
    void awaitText(Run run, String text) throws InterruptedException {
        StringBuilder said = new StringBuilder();
        await(
                run,
                event -> event instanceof RunEvent.Text piece
                        && said.append(piece.text()).indexOf(text) >= 0);
    }

    List<LoggedEvent> log(SessionKey key) {
        List<LoggedEvent> all = new ArrayList<>();
        List<LoggedEvent> page = berth.sessions().events().read(key, 0, 1000);
        while (!page.isEmpty()) {
            all.addAll(page);
            page = berth.sessions().events().read(key, page.getLast().seq(), 1000);
        }
        return all;
    }

    List<RunEvent> events(Run run) {
        return log(run.session()).stream()
                .flatMap(event -> RunEvent.of(event).stream())
                .filter(event -> event.run().equals(run.id()))
                .toList();
    }

    <T extends RunEvent> List<T> events(Run run, Class<T> kind) {
        return events(run).stream().filter(kind::isInstance).map(kind::cast).toList();
    }

    String text(Run run) {
        return events(run, RunEvent.Text.class).stream()
                .map(RunEvent.Text::text)
                .collect(Collectors.joining());
    }

    /** The kinds of its events in their order, without text and status. */
    List<String> story(Run run) {
        return events(run).stream()
                .filter(event -> !(event instanceof RunEvent.Text || event instanceof RunEvent.Status))
                .map(event -> event.getClass().getSimpleName())
                .toList();
    }

    @Override
    public void close() {
        runs.close();
        berth.close();
    }
}
