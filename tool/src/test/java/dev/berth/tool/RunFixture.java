package dev.berth.tool;

import dev.berth.session.Session;
import dev.berth.session.SessionSpec;
import dev.berth.session.TestingSessions;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.InstantSource;
import java.util.UUID;

/** What runs things, on a machine of a test's own. Needs root and crun. */
final class RunFixture implements AutoCloseable {
    static final String CWD = "/workspace";

    private final TestingSessions testing = new TestingSessions();
    private final SecureRandom random = new SecureRandom();
    private final OutputStore outputs;
    private Runner runner;
    private Interpreter interpreter;

    RunFixture() {
        Path directory = testing.machine().data().resolve("outputs");
        outputs = OutputStore.open(directory, OutputStore.Bounds.DEFAULT, InstantSource.system(), random);
        runner = new Runner(outputs, testing.sessions().turns(), random);
        interpreter = new Interpreter(outputs, testing.sessions().turns(), random);
    }

    /** As another server that is started after this one ended. */
    void restart() {
        testing.restart();
        runner = new Runner(outputs, testing.sessions().turns(), random);
        interpreter = new Interpreter(outputs, testing.sessions().turns(), random);
    }

    Session newSession() {
        return session("s-" + UUID.randomUUID());
    }

    Session session(String id) {
        Session session = testing.resolve(id);
        session.sandbox().files().makeDirectory(CWD);
        return session;
    }

    Session newSession(SessionSpec spec) {
        Session session = testing.sessions().resolve(TestingSessions.key("s-" + UUID.randomUUID()), spec);
        session.sandbox().files().makeDirectory(CWD);
        return session;
    }

    TestingSessions testing() {
        return testing;
    }

    OutputStore outputs() {
        return outputs;
    }

    Runner runner() {
        return runner;
    }

    Interpreter interpreter() {
        return interpreter;
    }

    RunResult bash(Session session, String command) {
        return runner.run(session, ToolSettings.DEFAULT, RunRequest.bash(command, CWD));
    }

    RunResult bash(Session session, String command, Duration timeout) {
        return runner.run(
                session, ToolSettings.DEFAULT, RunRequest.bash(command, CWD).withTimeout(timeout));
    }

    ExecuteResult keep(Session session, Language language, String code) {
        return interpreter.execute(
                session,
                ToolSettings.DEFAULT,
                ExecuteRequest.of(language, code, CWD).stateful());
    }

    ExecuteResult keep(Session session, Language language, String code, Duration timeout) {
        ExecuteRequest request =
                ExecuteRequest.of(language, code, CWD).stateful().withTimeout(timeout);
        return interpreter.execute(session, ToolSettings.DEFAULT, request);
    }

    ExecuteResult once(Session session, Language language, String code) {
        return interpreter.execute(session, ToolSettings.DEFAULT, ExecuteRequest.of(language, code, CWD));
    }

    @Override
    public void close() {
        testing.close();
    }
}
