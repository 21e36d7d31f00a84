package dev.berth.agent.run;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.berth.agent.pi.PiRuntime;
import dev.berth.agent.run.Choices.Choice;
import dev.berth.sandbox.local.LocalConfig;
import dev.berth.sandbox.local.LocalProvider;
import dev.berth.sandbox.local.TestMachine;
import dev.berth.session.DirectoryArchives;
import dev.berth.session.EventFollower;
import dev.berth.session.Session;
import dev.berth.session.SessionKey;
import dev.berth.session.SessionSpec;
import dev.berth.session.Sessions;
import dev.berth.session.SessionsConfig;
import dev.berth.session.TestingSessions;
import dev.berth.session.artifact.Artifacts;
import dev.berth.session.artifact.ArtifactsConfig;
import dev.berth.session.store.Database;
import dev.berth.session.store.DatabaseConfig;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.Optional;

/** A server to be killed, with a program in the place of pi that does one long run. */
final class RunServer implements AutoCloseable {
    static final SessionKey KEY = TestingSessions.key("killed");

    private static final SessionSpec SPEC =
            TestingSessions.SPEC.withEnv(Map.of("PATH", "/home/user/bin:/usr/bin:/bin"));

    /** Works until a file is there, and answers meanwhile. */
    private static final String PROGRAM = """
            #!/usr/bin/env python3
            import json, os, sys, threading, time
            busy = False
            def say(**record):
                sys.stdout.write(json.dumps(record) + '\\n')
                sys.stdout.flush()
            def text(delta):
                say(type='message_update', assistantMessageEvent={'type': 'text_delta', 'delta': delta})
            def run(message):
                global busy
                say(type='agent_start')
                text('You said ' + message + '. ')
                while not os.path.exists('/home/user/go'): time.sleep(0.02)
                text('And I went on.')
                say(type='agent_end', willRetry=False)
                busy = False
                say(type='agent_settled', aborted=False)
            for line in sys.stdin:
                request = json.loads(line)
                data = {'isStreaming': busy, 'pendingMessageCount': 0}
                say(type='response', command=request['type'], success=True, id=request['id'], data=data)
                if request['type'] == 'prompt':
                    busy = True
                    threading.Thread(target=run, args=[request['message']]).start()
            """;

    private final Deque<AutoCloseable> parts = new ArrayDeque<>();
    private final Sessions sessions;
    private final Runs runs;

    RunServer(Path data, String url) {
        LocalProvider provider = keep(LocalProvider.open(config(data)));
        Database database = keep(Database.open(DatabaseConfig.parse(url)));
        this.sessions = keep(Sessions.open(
                SessionsConfig.of(data.resolve("spool")),
                provider,
                database,
                keep(DirectoryArchives.open(data.resolve("archives"))),
                new SimpleMeterRegistry(),
                "a secret of the tests".getBytes(UTF_8),
                _ -> Optional.empty()));
        Artifacts artifacts = Artifacts.open(
                ArtifactsConfig.in(data.resolve("artifacts")),
                database,
                sessions.events(),
                (_, _) -> "text/plain",
                InstantSource.system(),
                new SecureRandom());
        this.runs = keep(Runs.open(
                new RunsConfig(Duration.ofSeconds(2), "workspace"),
                sessions,
                database,
                artifacts,
                Map.of("pi", new PiRuntime()),
                _ -> new Choice("pi", TestingRuns.FAKE, SPEC),
                (_, _, _, _) -> true,
                new SimpleMeterRegistry()));
    }

    static LocalConfig config(Path data) {
        return LocalConfig.of(data).withTemplates(TestMachine.templates());
    }

    private <T extends AutoCloseable> T keep(T part) {
        parts.push(part);
        return part;
    }

    Sessions sessions() {
        return sessions;
    }

    Runs runs() {
        return runs;
    }

    void write(String path, String content) {
        try (Session session = sessions.resolve(KEY, SPEC)) {
            session.sandbox().files().write(path, new ByteArrayInputStream(content.getBytes(UTF_8)), 0755);
        }
    }

    @Override
    public void close() {
        while (!parts.isEmpty()) {
            try {
                parts.pop().close();
            } catch (Exception e) {
                throw new AssertionError("could not close the server", e);
            }
        }
    }

    private void awaitText() throws InterruptedException {
        try (EventFollower events = sessions.events().follow(KEY, 0)) {
            boolean heard = false;
            while (!heard && !events.ended()) {
                heard = events.next(Duration.ofSeconds(10)).stream()
                        .anyMatch(event -> event.type().equals("run.text"));
            }
        }
    }

    /** The first one says something; another waits until the agent is heard; and all go on. */
    @SuppressWarnings("SystemOut") // its only way to talk to the test
    public static void main(String[] args) throws IOException, InterruptedException {
        try (RunServer server = new RunServer(Path.of(args[0]), args[1])) {
            if (args[2].equals("say")) {
                server.write("bin/pi", PROGRAM);
                System.out.println(
                        server.runs.say(KEY, Message.of("hello", "tester")).id());
            } else if (args[2].equals("hear")) {
                server.awaitText();
            }
            System.out.println("ready");
            int _ = System.in.read();
        }
    }
}
