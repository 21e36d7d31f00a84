package dev.berth.tool;

import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.Signal;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** One call of an interpreter that lives on: a request, and what it prints until the driver says that it is over. */
final class InterpreterCall {
    private static final Duration DYING = Duration.ofSeconds(2);

    private final RunningCommand interpreter;
    private final FrameScanner stdout;
    private final FrameScanner stderr;
    private final CompletableFuture<Boolean> stdoutEnded = new CompletableFuture<>();
    private final CompletableFuture<Boolean> stderrEnded = new CompletableFuture<>();

    InterpreterCall(RunningCommand interpreter, String mark, Execution.Sink stdout, Execution.Sink stderr) {
        this.interpreter = interpreter;
        this.stdout = new FrameScanner(mark, false, true, stdout);
        this.stderr = new FrameScanner(mark, false, false, stderr);
    }

    /** Nothing is waited for here: an interpreter that does not read its request runs out of time like any other. */
    void send(byte[] request) {
        Thread.ofVirtual().name("stdout").start(() -> read(interpreter.stdout(), stdout, stdoutEnded));
        Thread.ofVirtual().name("stderr").start(() -> read(interpreter.stderr(), stderr, stderrEnded));
        Thread.ofVirtual().name("stdin").start(() -> write(request));
    }

    private void write(byte[] request) {
        try {
            OutputStream stdin = interpreter.stdin();
            stdin.write(request);
            stdin.flush();
        } catch (IOException e) {
            try {
                if (interpreter.await(DYING).isEmpty()) {
                    stdoutEnded.completeExceptionally(e);
                }
            } catch (SandboxException lost) {
                stdoutEnded.completeExceptionally(lost);
            }
        }
    }

    private static void read(InputStream stream, FrameScanner scanner, CompletableFuture<Boolean> ended) {
        byte[] buffer = new byte[16_384];
        try {
            int n = 0;
            while (n >= 0 && !scanner.ended()) {
                n = stream.read(buffer);
                scanner.write(buffer, 0, Math.max(n, 0));
            }
            scanner.flush();
            ended.complete(scanner.ended());
        } catch (IOException | RuntimeException e) {
            scanner.flush();
            ended.completeExceptionally(e);
        }
    }

    /**
     * Waits for the end of the call.
     *
     * @throws SandboxException because of an {@link InterruptedException}, which is for the caller to keep: this thread has
     *     still to write to the sandbox
     * @return whether the driver said so; otherwise the interpreter has ended; empty if neither came in time
     */
    Optional<Boolean> await(Duration patience) {
        try {
            boolean ended = stdoutEnded
                    .thenCombine(stderrEnded, (out, err) -> out && err)
                    .get(Math.max(0, patience.toNanos()), TimeUnit.NANOSECONDS);
            return Optional.of(ended);
        } catch (TimeoutException e) {
            return Optional.empty();
        } catch (ExecutionException e) {
            throw Execution.asSandboxException(e);
        } catch (InterruptedException e) {
            throw SandboxException.unavailable("the call was broken off; try again", e);
        }
    }

    void signal(Signal signal) {
        interpreter.signal(signal);
    }

    /** Whether the interpreter has come to the code at all. */
    boolean begun() {
        return stdout.begun();
    }

    /** What the driver said at the end; to be asked after {@link #await} only. */
    Optional<Driver.Outcome> outcome() {
        return stdout.said().map(Driver::outcome);
    }
}
