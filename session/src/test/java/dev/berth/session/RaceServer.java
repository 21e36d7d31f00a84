package dev.berth.session;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.Result;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.store.Database;
import dev.berth.session.store.DatabaseConfig;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.slf4j.LoggerFactory;

/**
 * A server as a process of its own, to be raced against others and killed. It is told what to do on its standard input,
 * a line {@code <number> <verb> <session>} each, does all of it at once, and answers each with {@code <number> <outcome>}.
 */
final class RaceServer {
    static final String READY = "READY";

    private final Sessions sessions;

    private RaceServer(Sessions sessions) {
        this.sessions = sessions;
    }

    /** Where the database is, where the sandboxes are, and the seed of its delays. */
    public static void main(String[] arguments) throws IOException {
        PrintStream answers = System.out;
        System.setOut(System.err); // where logs may go
        ((Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME)).setLevel(Level.WARN);
        Path directory = Path.of(arguments[1]);
        try (Database database = Database.open(DatabaseConfig.parse(arguments[0]));
                Sessions sessions = open(directory, database, provider(directory, Long.parseLong(arguments[2])))) {
            answers.println(READY);
            new RaceServer(sessions).serve(answers);
        }
    }

    static DirectoryProvider provider(Path directory, long seed) {
        Random random = new Random(seed);
        return DirectoryProvider.open(directory, (_, _) -> Thread.sleep(random.nextInt(5, 50)));
    }

    static Sessions open(Path directory, Database database, DirectoryProvider provider) {
        SessionsConfig config = SessionsConfig.of(directory.resolve("spool"))
                .withIntervals(Duration.ofMillis(200), Duration.ofMillis(500), Duration.ofSeconds(1));
        try {
            return Sessions.open(
                    config,
                    provider,
                    database,
                    DirectoryArchives.open(Files.createDirectories(directory.resolve("archives"))),
                    new SimpleMeterRegistry(),
                    TestingSessions.SECRET,
                    _ -> Optional.empty());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void serve(PrintStream answers) throws IOException {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (ExecutorService requests = Executors.newVirtualThreadPerTaskExecutor()) {
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                String[] words = line.split(" ");
                requests.execute(() -> {
                    String outcome = outcome(words[1], TestingSessions.key(words[2]));
                    answers.println(words[0] + " " + outcome);
                });
            }
        }
    }

    private String outcome(String verb, SessionKey key) {
        try {
            switch (verb) {
                case "resolve" -> {
                    return used(key);
                }
                case "pause" -> sessions.pause(key);
                case "stop" -> sessions.stop(key);
                case "delete" -> sessions.delete(key);
                default -> throw new IllegalArgumentException(verb);
            }
            return "ok";
        } catch (SandboxException e) {
            return failure(e);
        } catch (Throwable e) {
            e.printStackTrace();
            return "BUG " + e;
        }
    }

    /** Brings it up and runs something in it. That a session which was held was paused or removed is told apart. */
    private String used(SessionKey key) {
        try (Session session = sessions.resolve(key, TestingSessions.SPEC)) {
            try {
                Result result = session.sandbox().run(Command.of("echo", key.id()));
                return result.code() == 0 && result.stdout().strip().equals(key.id()) ? "ok" : "BUG " + result;
            } catch (SandboxException e) {
                return "used " + failure(e);
            }
        }
    }

    private static String failure(SandboxException e) {
        return e.code() + " " + e.getMessage().replace('\n', ' ');
    }
}
