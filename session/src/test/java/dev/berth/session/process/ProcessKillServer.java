package dev.berth.session.process;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.TerminalSize;
import dev.berth.sandbox.local.LocalConfig;
import dev.berth.sandbox.local.LocalProvider;
import dev.berth.sandbox.local.TestMachine;
import dev.berth.sandbox.local.store.StoreKind;
import dev.berth.session.DirectoryArchives;
import dev.berth.session.Session;
import dev.berth.session.Sessions;
import dev.berth.session.SessionsConfig;
import dev.berth.session.TestingSessions;
import dev.berth.session.store.Database;
import dev.berth.session.store.DatabaseConfig;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;

/**
 * A server to be killed while it reads processes. It starts some, says {@code STARTED} and their pids when each has
 * printed, and waits for its end.
 */
final class ProcessKillServer implements AutoCloseable {
    private final LocalProvider provider;
    private final Database database;
    private final Sessions sessions;
    private final Processes processes;

    ProcessKillServer(Path data, String url) {
        provider = LocalProvider.open(LocalConfig.of(data)
                .withTemplates(TestMachine.templates())
                .withStore(StoreKind.BTRFS)
                .withPoolBytes(8L << 30));
        database = Database.open(DatabaseConfig.parse(url));
        sessions = Sessions.open(
                SessionsConfig.of(data.resolve("spool")),
                provider,
                database,
                DirectoryArchives.open(data.resolve("archives")),
                new SimpleMeterRegistry(),
                "secret".getBytes(UTF_8),
                _ -> Optional.empty());
        processes = Processes.open(sessions);
    }

    Session resolve() {
        return sessions.resolve(TestingSessions.key("one"), TestingSessions.SPEC);
    }

    Processes processes() {
        return processes;
    }

    LocalProvider provider() {
        return provider;
    }

    @SuppressWarnings("SystemOut") // its only way to talk to the test
    public static void main(String[] args) throws InterruptedException {
        ProcessKillServer server = new ProcessKillServer(Path.of(args[0]), args[1]);
        List<String> pids = new ArrayList<>();
        try (Session session = server.resolve()) {
            for (Command command : List.of(
                    Command.shell("echo begun; exec cat").withStdin().withTag("echo"),
                    Command.of("yes", "flood"),
                    Command.of("bash", "--norc", "-i").withTerminal(new TerminalSize(24, 80)),
                    Command.shell("echo begun; read line; exit 5").withStdin().withTag("ends"))) {
                SessionProcess process = server.processes.start(session, command);
                try (Follower follower = process.follow()) {
                    Event first = follower.next(Duration.ofSeconds(60));
                    if (!(first instanceof Event.Output)) {
                        throw new AssertionError("expected output, not " + first);
                    }
                }
                pids.add(String.valueOf(process.pid()));
            }
        }
        System.out.println("STARTED " + String.join(" ", pids));
        new CountDownLatch(1).await();
    }

    @Override
    public void close() {
        processes.close();
        sessions.close();
        database.close();
        provider.list().forEach(dev.berth.sandbox.Sandbox::destroy);
        provider.closeAndUnmount();
    }
}
