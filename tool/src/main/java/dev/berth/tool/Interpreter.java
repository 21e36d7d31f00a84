package dev.berth.tool;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.CommandInfo;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Exit;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.Signal;
import dev.berth.session.Session;
import dev.berth.session.SessionKey;
import dev.berth.session.Turns;
import java.io.ByteArrayInputStream;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.random.RandomGenerator;

/**
 * Runs code in python, bash or node: in a fresh process, or in one that lives on and keeps what earlier calls defined.
 *
 * <p>An interpreter that lives on is a running command of the sandbox, and its tag says which it is. Every call looks it
 * up among the sandbox's commands, attaches, and lets go of it at the end. So the server keeps nothing of it: after a
 * restart the next call finds it as any other call does. It goes when the sandbox is stopped, and the next call says so.
 *
 * <p>Calls of one interpreter wait for one another in the order in which they came, each no longer than its timeout. One
 * that runs out of time is interrupted as by Ctrl-C, and the state is kept; if that does not help within two seconds the
 * interpreter is killed, and the result says that its state is lost.
 *
 * <p>Output is a call's from the moment the driver begins it until it ends. What background threads and processes print
 * between calls belongs to none, and is not kept.
 */
public final class Interpreter {
    private static final String TAG = "berth-interpreter/";
    private static final int MOST_CONTEXTS = 8;
    private static final int LONGEST_QUEUE = 16;
    private static final Duration INTERRUPTED = Duration.ofSeconds(2);
    private static final Duration DYING = Duration.ofSeconds(5);
    private static final int NOT_FOUND = 127;

    private record Name(SessionKey session, Language language, String context) {
        /** A tag has at most 128 bytes; this has 90. */
        String tag() {
            return TAG + language + "/" + context;
        }
    }

    /** What this server knows of an interpreter. The lock is held for the length of a call, and guards the rest. */
    private static final class Slot {
        private final ReentrantLock lock = new ReentrantLock(true);
        /** Whether there was one. */
        private boolean used;
        /** Whether the last call was seen to its end, so that nothing runs in it. */
        private boolean idle;
    }

    /** One that was found or started. */
    private record Attached(RunningCommand command, boolean restarted) {}

    private final OutputStore outputs;
    private final ChangeWatch changes;
    private final RandomGenerator random;
    private final Map<Name, Slot> slots = new ConcurrentHashMap<>();

    public Interpreter(OutputStore outputs, Turns turns, RandomGenerator random) {
        this.outputs = outputs;
        this.changes = new ChangeWatch(turns);
        this.random = random;
    }

    /**
     * Runs code to its end.
     *
     * @throws SandboxException {@code denied} for a language that is not allowed; {@code unsupported} for one that the
     *     sandbox has no program for; {@code conflict} if the interpreter stayed busy with other calls
     */
    public ExecuteResult execute(Session session, ToolSettings settings, ExecuteRequest request) {
        settings.requireWritable();
        CallTerms.checkLanguage(settings, request.language());
        Duration timeout = CallTerms.timeout(settings, request.timeout());
        session.beforeWrite();
        return request.changes()
                ? changes.around(
                        session, () -> execute(session, settings, request, timeout), ExecuteResult::withChanges)
                : execute(session, settings, request, timeout);
    }

    private ExecuteResult execute(Session session, ToolSettings settings, ExecuteRequest request, Duration timeout) {
        return request.context().isPresent()
                ? stateful(
                        session, settings, request, timeout, request.context().get())
                : stateless(session, settings, request, timeout);
    }

    /** Ends an interpreter, if there is one; the next call starts another. */
    public void end(Session session, Language language, String context) {
        Name name = new Name(session.key(), language, context);
        for (CommandInfo info : session.sandbox().commands()) {
            if (info.tag().equals(name.tag())) {
                try (RunningCommand command = session.sandbox().attach(info.id(), info.stdoutEnd(), info.stderrEnd())) {
                    command.signal(Signal.KILL);
                    command.await(DYING);
                }
            }
        }
        slots.remove(name);
    }

    /** Forgets what is known of a session that is deleted. */
    public void forget(SessionKey session) {
        slots.keySet().removeIf(name -> name.session().equals(session));
    }

    // ---- a fresh process -----------------------------------------------------------------------------------------

    private ExecuteResult stateless(Session session, ToolSettings settings, ExecuteRequest request, Duration timeout) {
        Driver driver = Driver.of(request.language());
        String mark = Runner.mark(random);
        Map<String, String> env = CallTerms.env(settings, request.env(), mark);
        String secret = Runner.mark(random);
        RunRequest shell = RunRequest.bash(request.code().isBlank() ? ":" : request.code(), request.cwd());
        boolean bash = request.language() == Language.BASH;
        Command command = (bash ? Command.of(shell.argv()).withEnv(env) : driver.command(true, env))
                .withCwd(request.cwd())
                .withTimeout(timeout);
        var stdin = bash
                ? shell.stdin()
                : Optional.of(new ByteArrayInputStream(driver.request(secret, settings.outputBytes(), request.code())));
        long began = System.nanoTime();
        try (CapturedOutput output =
                new CapturedOutput(outputs, session.key(), settings.outputBytes(), request.tap())) {
            FrameScanner stdout = new FrameScanner(secret, true, true, output.stdout()::write);
            FrameScanner stderr = new FrameScanner(secret, true, false, output.stderr()::write);
            Exit exit = supported(
                    driver,
                    () -> Execution.run(
                            session.sandbox(),
                            stdin.isPresent() ? command.withStdin() : command,
                            stdin.map(source -> source),
                            stdout,
                            stderr,
                            new Stop()));
            stdout.flush();
            stderr.flush();
            if (exit.timedOut()) {
                Leftovers.kill(session.sandbox(), mark);
            }
            if (!bash && exit.code() == NOT_FOUND && stdout.said().isEmpty()) {
                throw missing(driver);
            }
            RunResult run = Execution.result(exit, since(began), output);
            return new ExecuteResult(run, result(stdout.said().map(Driver::outcome)), false, false);
        }
    }

    // ---- one that lives on ---------------------------------------------------------------------------------------

    private ExecuteResult stateful(
            Session session, ToolSettings settings, ExecuteRequest request, Duration timeout, String context) {
        long began = System.nanoTime();
        Name name = new Name(session.key(), request.language(), context);
        Slot slot = slots.computeIfAbsent(name, _ -> new Slot());
        enter(slot, timeout);
        try {
            Attached attached = attach(session.sandbox(), name, slot, settings, request, timeout);
            try (RunningCommand _ = attached.command();
                    CapturedOutput output =
                            new CapturedOutput(outputs, session.key(), settings.outputBytes(), request.tap())) {
                return call(session.sandbox(), name, settings, request, timeout, slot, attached, output, began);
            }
        } catch (SandboxException e) {
            if (e.getCause() instanceof InterruptedException) {
                Thread.currentThread().interrupt();
            }
            throw e;
        } finally {
            slot.lock.unlock();
        }
    }

    private ExecuteResult call(
            Sandbox sandbox,
            Name name,
            ToolSettings settings,
            ExecuteRequest request,
            Duration timeout,
            Slot slot,
            Attached attached,
            CapturedOutput output,
            long began) {
        Driver driver = Driver.of(request.language());
        RunningCommand command = attached.command();
        String mark = Runner.mark(random);
        InterpreterCall call = new InterpreterCall(command, mark, output.stdout()::write, output.stderr()::write);
        slot.used = true;
        slot.idle = false;
        call.send(driver.request(mark, settings.outputBytes(), request.code()));
        Optional<Boolean> ended;
        try {
            ended = call.await(timeout);
        } catch (SandboxException e) {
            call.signal(Signal.INT); // whoever waited for it is gone; the next call asks whether this helped
            throw e;
        }
        boolean timedOut = ended.isEmpty();
        if (timedOut) {
            call.signal(Signal.INT);
            ended = call.await(INTERRUPTED);
        }
        if (ended.isEmpty()) {
            call.signal(Signal.KILL);
            ended = call.await(DYING);
        }
        slot.idle = ended.orElse(false);
        if (slot.idle) {
            Optional<Driver.Outcome> outcome = call.outcome();
            Exit exit = new Exit(outcome.map(Driver.Outcome::code).orElse(1), 0, timedOut, Set.of());
            RunResult run = Execution.result(exit, since(began), output);
            return new ExecuteResult(run, timedOut ? Optional.empty() : result(outcome), attached.restarted(), false);
        }
        Exit exit = command.await(DYING).orElseGet(() -> Exit.signalled(Signal.KILL.number(), true));
        if (!timedOut && !call.begun() && exit.code() == NOT_FOUND) {
            throw missing(driver);
        }
        if (timedOut) {
            Leftovers.kill(sandbox, name.tag());
        }
        Exit how = new Exit(exit.code(), exit.signal(), timedOut, exit.limitsHit());
        return new ExecuteResult(
                Execution.result(how, since(began), output), Optional.empty(), attached.restarted(), true);
    }

    private static void enter(Slot slot, Duration timeout) {
        try {
            if (slot.lock.getQueueLength() >= LONGEST_QUEUE) {
                throw SandboxException.limit("already " + LONGEST_QUEUE
                        + " calls wait for this interpreter; wait for some of them, or use another context");
            }
            if (!slot.lock.tryLock(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
                throw busy();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("the call was broken off; try again", e);
        }
    }

    private static SandboxException busy() {
        return SandboxException.conflict(
                "the interpreter is still busy with another call; wait for that to end, or use another context");
    }

    /** Finds the interpreter among the sandbox's commands, or starts one. */
    private Attached attach(
            Sandbox sandbox, Name name, Slot slot, ToolSettings settings, ExecuteRequest request, Duration timeout) {
        List<CommandInfo> all = sandbox.commands().stream()
                .filter(info -> info.tag().startsWith(TAG))
                .toList();
        boolean lost = slot.used;
        for (CommandInfo info : all) {
            if (!info.tag().equals(name.tag())) {
                continue;
            }
            RunningCommand command = sandbox.attach(info.id(), info.stdoutEnd(), info.stderrEnd());
            if (info.exit().isEmpty() && (slot.idle || answers(command, name, timeout))) {
                return new Attached(command, false);
            }
            // It has ended, and is forgotten once it is closed.
            command.await(DYING);
            command.close();
            lost = true;
        }
        long others = all.stream()
                .filter(info -> info.exit().isEmpty() && !info.tag().equals(name.tag()))
                .count();
        if (others >= MOST_CONTEXTS) {
            throw SandboxException.limit("this sandbox has " + others
                    + " interpreters whose state is kept; go on in one of them, or end one");
        }
        Driver driver = Driver.of(name.language());
        Command command = driver.command(false, CallTerms.env(settings, Map.of(), name.tag()))
                .withCwd(request.cwd())
                .withTag(name.tag());
        return new Attached(supported(driver, () -> sandbox.start(command)), lost);
    }

    /**
     * Asks one that this server has not used yet whether it is idle: a server before may have gone away in the middle of a
     * call. The question is a call that does nothing, so it does no harm if it is answered later.
     *
     * @return false if it has ended
     */
    private boolean answers(RunningCommand command, Name name, Duration timeout) {
        String mark = Runner.mark(random);
        InterpreterCall question = new InterpreterCall(command, mark, (_, _, _) -> {}, (_, _, _) -> {});
        try {
            question.send(Driver.of(name.language()).request(mark, 0, ""));
            return question.await(timeout).orElseThrow(Interpreter::busy);
        } catch (SandboxException e) {
            command.close();
            throw e;
        }
    }

    private interface Start<T> {
        T run();
    }

    private static <T> T supported(Driver driver, Start<T> start) {
        try {
            return start.run();
        } catch (SandboxException e) {
            if (e.code() == ErrorCode.NOT_FOUND) {
                throw (SandboxException) missing(driver).initCause(e);
            }
            throw e;
        }
    }

    private static SandboxException missing(Driver driver) {
        return SandboxException.unsupported("this sandbox has no " + driver.program() + ", so it cannot run " + driver
                + " code; install it with bash, or use a template that has it");
    }

    private static Optional<String> result(Optional<Driver.Outcome> outcome) {
        return outcome.flatMap(said -> said.result()
                .map(text -> said.cut() == 0 ? text : text + "\n[" + said.cut() + " characters are left out here]"));
    }

    private static Duration since(long began) {
        return Duration.ofNanos(System.nanoTime() - began);
    }
}
