package dev.berth.session;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.Result;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.LocalConfig;
import dev.berth.sandbox.local.LocalProvider;
import dev.berth.sandbox.local.TestMachine;
import dev.berth.sandbox.local.store.StoreKind;
import dev.berth.session.postgres.EmbeddedPostgres;
import dev.berth.session.postgres.PostgresConfig;
import dev.berth.session.store.Database;
import dev.berth.session.store.DatabaseConfig;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;

/**
 * A server to be killed: the whole stack as in production, on one data directory, with PostgreSQL in it.
 *
 * <p>It says {@code READY}, then reads operations, one per line, {@code <number> <what> <key> [<argument>…]}, does them all at
 * once, and answers each with {@code ACK <number> [<result>]} or {@code ERR <number> <why>}.
 */
final class KillServer implements AutoCloseable {
    /** Fewer than there are keys, so that some have to be paused for others. */
    private static final int LIVE = 40;

    private static final long POOL = 8L << 30;

    private final Deque<AutoCloseable> parts = new ArrayDeque<>();
    private final boolean archiving;
    private final LocalProvider provider;
    private final Database database;
    private final Archives archives;
    private final Sessions sessions;

    private KillServer(Path data, boolean archiving) {
        this.archiving = archiving;
        EmbeddedPostgres postgres = keep(
                EmbeddedPostgres.start(PostgresConfig.of(data).withBinaries(Path.of("/var/tmp/berth-test-postgres"))));
        this.database =
                keep(Database.open(DatabaseConfig.of(postgres.jdbcUrl(), postgres.user(), postgres.password())));
        this.provider = keep(LocalProvider.open(config(data)));
        this.archives = keep(DirectoryArchives.open(data.resolve("archives")));
        SessionsConfig config = SessionsConfig.of(data.resolve("spool"))
                .withIntervals(Duration.ofMillis(200), Duration.ofSeconds(60), Duration.ofMinutes(10));
        this.sessions = keep(Sessions.open(
                config,
                provider,
                database,
                archives,
                new SimpleMeterRegistry(),
                TestingSessions.SECRET,
                _ -> Optional.empty()));
    }

    static KillServer open(Path data, boolean archiving) {
        KillServer server = new KillServer(data, archiving);
        limitTo(server, Optional.of(LIVE));
        return server;
    }

    static LocalConfig config(Path data) {
        return LocalConfig.of(data)
                .withTemplates(TestMachine.templates())
                .withStore(StoreKind.BTRFS)
                .withPoolBytes(POOL);
    }

    static void limitTo(KillServer server, Optional<Integer> live) {
        server.sessions.tenant(
                SessionKey.DEFAULT_TENANT,
                new TenantLimits(live, Optional.empty(), Optional.empty(), Optional.empty(), true));
    }

    private <T extends AutoCloseable> T keep(T part) {
        parts.push(part);
        return part;
    }

    LocalProvider provider() {
        return provider;
    }

    Database database() {
        return database;
    }

    Archives archives() {
        return archives;
    }

    Sessions sessions() {
        return sessions;
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

    @SuppressWarnings("SystemOut") // its only way to talk to the test
    public static void main(String[] args) throws IOException {
        PrintStream out = System.out;
        try (KillServer server = open(Path.of(args[0]), Boolean.parseBoolean(args[1]))) {
            out.println("READY");
            BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, UTF_8));
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] words = line.split(" ");
                Thread.ofVirtual().start(() -> out.println(server.answer(words)));
            }
        }
    }

    private String answer(String[] words) {
        try {
            return "ACK " + words[0] + " " + perform(words[1], words[2], words);
        } catch (SandboxException e) {
            return "ERR " + words[0] + " " + e.code() + " "
                    + e.getMessage().lines().findFirst().orElse("");
        } catch (RuntimeException e) {
            e.printStackTrace();
            return "ERR " + words[0] + " BUG " + e;
        }
    }

    private String perform(String what, String id, String[] words) {
        SessionKey key = TestingSessions.key(id);
        switch (what) {
            case "exec" -> exec(key, words[3], words[4]);
            case "write" -> write(key, words[3], words[4]);
            case "resolve" -> sessions.resolve(key, spec(id)).close();
            case "pause" -> sessions.pause(key);
            case "stop" -> sessions.stop(key);
            case "archive" -> sessions.archive(key);
            case "checkpoint" -> {
                return checkpoint(key);
            }
            case "rollback" -> sessions.rollback(key, Integer.parseInt(words[3]), "test");
            case "delete" -> sessions.delete(key);
            default -> throw new IllegalArgumentException(what);
        }
        return "";
    }

    private void exec(SessionKey key, String file, String content) {
        try (Session session = sessions.resolve(key, spec(key.id()))) {
            session.beforeWrite();
            Result result = session.sandbox().run(Command.shell("echo " + content + " > ~/" + file));
            if (result.code() != 0) {
                throw SandboxException.unavailable("it ended with " + result.code() + ": " + result.stderr());
            }
        }
    }

    private void write(SessionKey key, String file, String content) {
        try (Session session = sessions.resolve(key, spec(key.id()))) {
            session.beforeWrite();
            session.sandbox().files().write(file, new ByteArrayInputStream((content + "\n").getBytes(UTF_8)));
        }
    }

    private String checkpoint(SessionKey key) {
        try (Session session = sessions.resolve(key, spec(key.id()))) {
            int turn = session.beginTurn("test");
            if (session.info().autoCheckpoint()) {
                session.beforeWrite();
            } else {
                sessions.turns().checkpoint(session);
            }
            return Integer.toString(turn);
        }
    }

    /** Of five keys one goes down the ladder as soon as it is left alone; every second has checkpoints of its own. */
    private SessionSpec spec(String id) {
        int number = Integer.parseInt(id.substring(1));
        SessionSpec spec = TestingSessions.SPEC;
        if (number % 5 == 0) {
            IdlePolicy quick =
                    IdlePolicy.NEVER.pauseAfter(Duration.ofMillis(200)).stopAfter(Duration.ofMillis(500));
            spec = spec.withIdle(archiving ? quick.archiveAfter(Duration.ofMillis(300)) : quick);
        }
        return number % 2 == 0 ? spec.withAutoCheckpoints(3) : spec;
    }
}
