package dev.berth.channel;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.agent.AgentConfig;
import dev.berth.agent.run.Choices;
import dev.berth.agent.run.Runs;
import dev.berth.agent.run.RunsConfig;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.SessionKey;
import dev.berth.session.TestingSessions;
import dev.berth.session.artifact.Artifacts;
import dev.berth.session.artifact.ArtifactsConfig;
import dev.berth.session.job.JobListener;
import dev.berth.session.job.Jobs;
import dev.berth.session.job.JobsConfig;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The whole way of a message: written down, said in a real run, shown by what the run's log says. Needs root and crun. */
@Timeout(180)
final class RunsInConversationsTest {
    private static final Person ANNA = new Person("U1", "Anna");
    private static final Place PLACE = new Place("chat", "T1", "C1", "17.01");

    private final RecordingChannel channel = new RecordingChannel("chat");
    private TestingSessions berth;
    private Artifacts artifacts;
    private Jobs jobs;
    private Runs runs;
    private Conversations conversations;

    @BeforeEach
    void start() {
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
        runs = Runs.open(
                RunsConfig.DEFAULT,
                berth.sessions(),
                berth.database(),
                artifacts,
                Map.of("echo", new EchoRuntime()),
                choices(),
                (_, _, _, _) -> true,
                new SimpleMeterRegistry());
        conversations = open();
    }

    private static Choices choices() {
        AgentConfig config = new AgentConfig(
                "",
                new AgentConfig.Model("p", "m", Optional.empty(), "openai-completions", Optional.empty()),
                AgentConfig.Patience.DEFAULT);
        return _ -> new Choices.Choice("echo", config, TestingSessions.SPEC);
    }

    private Conversations open() {
        Channels channels = new Channels();
        channels.add(channel);
        Desk desk = new Desk() {
            @Override
            public Optional<String> requester(SessionKey session, String approval) {
                return Optional.empty();
            }

            @Override
            public void decide(SessionKey session, String approval, String person, Inbox.Answer answer) {
                throw SandboxException.notFound("there is no such approval");
            }
        };
        ConversationsConfig config = new ConversationsConfig(
                Duration.ofSeconds(2),
                Duration.ofMillis(100),
                Duration.ofMillis(10),
                Duration.ofMillis(20),
                Duration.ofHours(1),
                1 << 20,
                "workspace");
        return Conversations.open(
                config,
                (_, _) -> Rules.OPEN,
                channels,
                desk,
                runs,
                choices(),
                berth.sessions(),
                artifacts,
                jobs,
                berth.database(),
                InstantSource.system(),
                new SecureRandom());
    }

    @AfterEach
    void stop() {
        conversations.close();
        runs.close();
        jobs.close();
        berth.close();
    }

    private static Incoming message(String id, String text, Incoming.Attachment... files) {
        return new Incoming(PLACE, ANNA, id, text, List.of(files), "reply-" + id);
    }

    private List<Board> awaitEnds(int number) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (channel.ends(PLACE).size() < number) {
            assertThat(System.nanoTime()).as("waited in vain for an end").isLessThan(deadline);
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
        }
        return channel.ends(PLACE);
    }

    private void awaitText(String text) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (channel.board(PLACE).filter(board -> board.text().contains(text)).isEmpty()) {
            assertThat(System.nanoTime()).as("waited in vain for " + text).isLessThan(deadline);
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
        }
    }

    @Test
    void aMessageWithAFileGoesToTheAgentAndItsAnswerComesBack() {
        Incoming.Attachment file = new Incoming.Attachment() {
            @Override
            public String name() {
                return "numbers.csv";
            }

            @Override
            public long size() {
                return 3;
            }

            @Override
            public InputStream open() {
                return new ByteArrayInputStream("1,2".getBytes(UTF_8));
            }
        };
        assertThat(conversations.message(message("1", "Sum these", file))).isEqualTo(Inbox.Received.BEGUN);
        Board first = awaitEnds(1).getFirst();
        assertThat(first.text()).contains("Sum these", "uploads/numbers.csv", "Anna");
        assertThat(first.steps()).hasSize(1);
        assertThat(first.end()).contains(new Board.End(true, Optional.empty()));
        conversations.message(message("2", "And now again"));
        assertThat(awaitEnds(2).get(1).text()).contains("And now again").doesNotContain("Sum these");
    }

    @Test
    void aRunThatIsSteeredIsOneBoardAlsoWhenAnotherServerShowsIt() {
        conversations.message(message("1", EchoRuntime.WAIT));
        awaitText(EchoRuntime.WAIT);
        conversations.halt(Duration.ZERO);
        conversations = open();
        assertThat(conversations.message(message("2", "go on"))).isEqualTo(Inbox.Received.STEERED);
        Board end = awaitEnds(1).getFirst();
        assertThat(end.text()).contains(EchoRuntime.WAIT).contains("go on");
        assertThat(runs.list(SessionKey.of("default", PLACE.session()), Optional.empty(), 10))
                .hasSize(1);
        assertThat(channel.ends(PLACE)).hasSize(1);
    }

    @Test
    void aRunThatIsStoppedSaysSo() {
        conversations.message(message("1", EchoRuntime.WAIT));
        awaitText(EchoRuntime.WAIT);
        assertThat(conversations.command(PLACE, ANNA, "status")).contains("running");
        assertThat(conversations.stop(PLACE, ANNA)).isTrue();
        assertThat(awaitEnds(1).getFirst().end().orElseThrow().note().orElseThrow())
                .startsWith("Stopped.");
    }
}
