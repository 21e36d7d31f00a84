package dev.berth.tool;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Exit;
import dev.berth.sandbox.Limit;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.Signal;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One command from its start to its result.
 *
 * <p>Both streams are read at the same time, as a command that waits for one of them to be read will not end. A stream
 * ends with the command itself, not with the last one that has it open: a background process that inherited it does not
 * hold up the call, it just is not heard any more.
 */
final class Execution {
    private static final Logger LOG = LoggerFactory.getLogger(Execution.class);
    private static final int CHUNK = 16_384;
    private static final Duration DYING = Duration.ofSeconds(5);

    /** Takes what is read of a stream. */
    interface Sink {
        void write(byte[] bytes, int offset, int length);
    }

    private Execution() {}

    /** Runs it with its own timeout; what it prints goes to the sinks. */
    static Exit run(
            Sandbox sandbox, Command command, Optional<InputStream> stdin, Sink stdout, Sink stderr, Stop stop) {
        boolean interrupted = false;
        try (RunningCommand running = sandbox.start(command);
                Stop.Watch _ = stop.during(() -> running.signal(Signal.KILL))) {
            try {
                stdin.ifPresent(source -> Thread.ofVirtual().name("stdin").start(() -> feed(running, source)));
                FutureTask<Void> errors = new FutureTask<>(() -> {
                    drain(running.stderr(), stderr);
                    return null;
                });
                Thread.ofVirtual().name("stderr").start(errors);
                drain(running.stdout(), stdout);
                errors.get();
                Exit exit = running.await();
                return running.dropped() > 0 ? exit.withLimitsHit(and(exit.limitsHit(), Limit.OUTPUT)) : exit;
            } catch (InterruptedException | ExecutionException | IOException | SandboxException e) {
                // An interrupted thread closes the channel it writes to, and that is everybody's link to the sandbox.
                interrupted = Thread.interrupted() || e instanceof InterruptedException;
                kill(running);
                throw asSandboxException(e);
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Whoever waited for it is gone, or cannot hear it: it should not go on alone. */
    private static void kill(RunningCommand running) {
        running.signal(Signal.KILL);
        try {
            running.await(DYING); // a command that has ended is forgotten when it is closed
        } catch (SandboxException e) {
            LOG.debug("a command was lost with its sandbox", e);
        }
    }

    static SandboxException asSandboxException(Throwable why) {
        for (Throwable cause = why; cause != null; cause = cause.getCause()) {
            if (cause instanceof SandboxException known) {
                return new SandboxException(known.code(), known.getMessage(), why);
            }
        }
        return new SandboxException(
                ErrorCode.UNAVAILABLE, "the call was broken off, and what it ran was ended; try again", why);
    }

    static void drain(InputStream stream, Sink sink) throws IOException {
        byte[] buffer = new byte[CHUNK];
        for (int n = stream.read(buffer); n >= 0; n = stream.read(buffer)) {
            sink.write(buffer, 0, n);
        }
    }

    private static void feed(RunningCommand running, InputStream source) {
        try (OutputStream target = running.stdin();
                source) {
            source.transferTo(target);
        } catch (IOException e) {
            LOG.debug("a command did not read all of its input", e);
        }
    }

    /** What a call ended with, and what it left. */
    static RunResult result(Exit exit, Duration took, CapturedOutput output) {
        output.complete();
        boolean truncated = output.cut() || exit.limitsHit().contains(Limit.OUTPUT);
        return new RunResult(
                exit.timedOut() ? RunResult.TIMED_OUT : exit.code(),
                exit.timedOut(),
                took,
                output.stdoutText(),
                output.stderrText(),
                truncated,
                truncated ? and(exit.limitsHit(), Limit.OUTPUT) : exit.limitsHit(),
                output.id(),
                Optional.empty());
    }

    private static Set<Limit> and(Set<Limit> limits, Limit another) {
        Set<Limit> all = EnumSet.of(another);
        all.addAll(limits);
        return all;
    }
}
