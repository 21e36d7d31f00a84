package dev.berth.tool;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.Exit;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.Session;
import dev.berth.session.Turns;
import java.time.Duration;
import java.util.HexFormat;
import java.util.random.RandomGenerator;

/**
 * Runs commands in the sandbox of a session, each as a fresh process.
 *
 * <p>A call that runs out of time has its output so far, and nothing that it started is left: its process group is killed
 * by the guest, and what left the group is looked for. After a call that ended in time, what it put into the background
 * goes on.
 */
public final class Runner {
    private final OutputStore outputs;
    private final ChangeWatch changes;
    private final RandomGenerator random;

    public Runner(OutputStore outputs, Turns turns, RandomGenerator random) {
        this.outputs = outputs;
        this.changes = new ChangeWatch(turns);
        this.random = random;
    }

    /**
     * Runs a command to its end.
     *
     * @throws SandboxException {@code invalid} for a timeout that is too long, a reserved variable or a
     *     working directory that is not there; {@code not_found} for a program that is not there; {@code denied} in a
     *     read-only workspace; {@code unsupported} if changes are asked for and the provider cannot tell them
     */
    public RunResult run(Session session, ToolSettings settings, RunRequest request) {
        settings.requireWritable();
        Duration timeout = CallTerms.timeout(settings, request.timeout());
        String mark = mark(random);
        Command command = Command.of(request.argv())
                .withCwd(request.cwd())
                .withEnv(CallTerms.env(settings, request.env(), mark))
                .withTimeout(timeout);
        Command fed = request.stdin().isPresent() ? command.withStdin() : command;
        session.beforeWrite();
        return request.changes()
                ? changes.around(session, () -> run(session, settings, request, fed, mark), RunResult::withChanges)
                : run(session, settings, request, fed, mark);
    }

    /**
     * What to run for a request in the background: without a timeout if it asks for none, and without input.
     *
     * @throws SandboxException as {@link #run}, for what the request has in it
     */
    public Command background(ToolSettings settings, RunRequest request) {
        settings.requireWritable();
        if (request.stdin().isPresent()) {
            throw SandboxException.invalid(
                    "a command in the background can have no input, or be so long; write it to a file and run that");
        }
        Command command = Command.of(request.argv())
                .withCwd(request.cwd())
                .withEnv(CallTerms.env(settings, request.env(), mark(random)));
        return request.timeout().isPresent()
                ? command.withTimeout(CallTerms.timeout(settings, request.timeout()))
                : command;
    }

    private RunResult run(Session session, ToolSettings settings, RunRequest request, Command command, String mark) {
        long began = System.nanoTime();
        try (CapturedOutput output =
                new CapturedOutput(outputs, session.key(), settings.outputBytes(), request.tap())) {
            Exit exit = Execution.run(
                    session.sandbox(),
                    command,
                    request.stdin(),
                    output.stdout()::write,
                    output.stderr()::write,
                    request.stop());
            if (exit.timedOut() || request.stop().stopped()) {
                Leftovers.kill(session.sandbox(), mark);
            }
            return Execution.result(exit, Duration.ofNanos(System.nanoTime() - began), output);
        }
    }

    static String mark(RandomGenerator random) {
        byte[] bytes = new byte[16];
        random.nextBytes(bytes);
        return HexFormat.of().formatHex(bytes);
    }
}
