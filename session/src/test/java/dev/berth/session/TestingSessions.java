package dev.berth.session;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxProvider;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import dev.berth.sandbox.local.TestMachine;
import dev.berth.session.store.Database;
import dev.berth.session.store.DatabaseConfig;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/** Sessions on a machine and a database of a test's own. Needs root and crun. */
public final class TestingSessions implements AutoCloseable {
    public static final SessionSpec SPEC =
            SessionSpec.DEFAULT.withTemplate("host").withIdle(IdlePolicy.NEVER);
    static final byte[] SECRET = "a secret of the tests".getBytes(StandardCharsets.UTF_8);

    private final TestMachine machine;
    private final Runnable dropDatabase;
    private final String url;
    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private final UnaryOperator<SessionsConfig> configure;
    private UnaryOperator<SandboxProvider> around = UnaryOperator.identity();
    private Function<SessionInfo, Optional<Resident>> residents = _ -> Optional.empty();
    private Archives archives;
    private Database database;
    private Sessions sessions;

    public TestingSessions() {
        this(UnaryOperator.identity());
    }

    public TestingSessions(UnaryOperator<SessionsConfig> configure) {
        this(configure, TestingDatabase.create());
    }

    private TestingSessions(UnaryOperator<SessionsConfig> configure, TestingDatabase ownDatabase) {
        this(configure, ownDatabase.url(), ownDatabase::close);
    }

    /** On a database that the test looks after. */
    TestingSessions(UnaryOperator<SessionsConfig> configure, String url) {
        this(configure, url, () -> {});
    }

    private TestingSessions(UnaryOperator<SessionsConfig> configure, String url, Runnable dropDatabase) {
        this.configure = configure;
        this.dropDatabase = dropDatabase;
        this.url = url;
        this.machine = new TestMachine(RuntimeKind.CRUN);
        this.archives = DirectoryArchives.open(machine.data().resolve("archives"));
        this.database = Database.open(DatabaseConfig.parse(url));
        this.sessions = open();
    }

    private Sessions open() {
        SessionsConfig config = SessionsConfig.of(machine.data().resolve("spool"))
                .withIntervals(Duration.ofMillis(200), Duration.ofSeconds(60), Duration.ofMinutes(10))
                .withHealth(Duration.ofSeconds(5), Duration.ofMillis(100), Duration.ofSeconds(60));
        return Sessions.open(
                configure.apply(config),
                around.apply(machine.provider()),
                database,
                archives,
                meters,
                SECRET,
                session -> residents.apply(session));
    }

    /** As another server that is started after this one ended in good order. */
    public Sessions restart() {
        sessions.close();
        database.close();
        machine.reopen();
        database = Database.open(DatabaseConfig.parse(url));
        sessions = open();
        return sessions;
    }

    /** Puts something between the sessions and the provider. */
    public Sessions restartAround(UnaryOperator<SandboxProvider> wrapper) {
        around = wrapper;
        return restart();
    }

    void residents(Function<SessionInfo, Optional<Resident>> newResidents) {
        residents = newResidents;
    }

    /** As if the server had died and another one had not heard of this session yet. */
    void forget(SessionKey key) {
        sessions.forget(key);
    }

    public Sessions sessions() {
        return sessions;
    }

    public TestMachine machine() {
        return machine;
    }

    public Database database() {
        return database;
    }

    Archives archives() {
        return archives;
    }

    SimpleMeterRegistry meters() {
        return meters;
    }

    public static SessionKey key(String id) {
        return SessionKey.of(SessionKey.DEFAULT_TENANT, id);
    }

    public Session resolve(String id) {
        return sessions.resolve(key(id), SPEC);
    }

    SessionInfo info(String id) {
        return sessions.find(key(id)).orElseThrow();
    }

    public SessionState state(String id) {
        return info(id).state();
    }

    Optional<Sandbox> sandbox(String id) {
        return machine.provider().find(key(id).sandboxId());
    }

    static String run(Session session, String script) {
        var result = session.sandbox().run(Command.shell(script));
        if (result.code() != 0) {
            throw new AssertionError(script + " failed: " + result.stderr());
        }
        return result.stdout().strip();
    }

    /** Runs a script in the session of that name, brought up for it. */
    String run(String id, String script) {
        try (Session session = resolve(id)) {
            return run(session, script);
        }
    }

    @Override
    public void close() {
        sessions.close();
        database.close();
        dropDatabase.run();
        try {
            machine.close();
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
