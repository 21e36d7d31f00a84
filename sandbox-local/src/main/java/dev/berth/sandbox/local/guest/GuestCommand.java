package dev.berth.sandbox.local.guest;

import dev.berth.sandbox.Exit;
import dev.berth.sandbox.Limit;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.Signal;
import dev.berth.sandbox.TerminalSize;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

/** A process of the guest, as its caller sees it. */
final class GuestCommand implements RunningCommand {
    private final int id;
    private final GuestLink link;
    private final Inflow stdout;
    private final Inflow stderr;
    private final Outflow stdin;
    private final Supplier<Set<Limit>> limitsHit;
    private final CompletableFuture<Integer> started = new CompletableFuture<>();
    private final CompletableFuture<Exit> exit = new CompletableFuture<>();
    private final AtomicBoolean closed = new AtomicBoolean();

    GuestCommand(
            int id, GuestLink link, long stdoutFrom, long stderrFrom, int creditStep, Supplier<Set<Limit>> limitsHit) {
        this.id = id;
        this.link = link;
        this.limitsHit = limitsHit;
        this.stdout = new Inflow(stdoutFrom, creditStep, offset -> consumed(Wire.STDOUT, offset));
        this.stderr = new Inflow(stderrFrom, creditStep, offset -> consumed(Wire.STDERR, offset));
        this.stdin = new Outflow(Wire.STREAM_WINDOW, new Outflow.Sink() {
            @Override
            public void send(byte[] bytes, int offset, int length) throws IOException {
                link.send(Wire.STDIN, id, bytes, offset, length);
            }

            @Override
            public void end() throws IOException {
                link.send(new Wire.Out(Wire.STDIN_CLOSE, id, 0));
            }
        });
    }

    CompletableFuture<Integer> started() {
        return started;
    }

    /** Takes up an earlier process whose stdin was given this much. */
    void attached(int pid, long stdinTaken, long stdinReceived) {
        started.complete(pid);
        stdin.startAt(stdinTaken, stdinReceived);
    }

    /** A subscription with which nothing is sent, and everything from there on is kept. */
    static Wire.Out silence(int id, long stdoutFrom, long stderrFrom) {
        return new Wire.Out(Wire.SUBSCRIBE, id, 20)
                .u64(stdoutFrom)
                .u64(stderrFrom)
                .u32(0);
    }

    Wire.Out subscription() {
        return new Wire.Out(Wire.SUBSCRIBE, id, 20)
                .u64(stdout.resubscribe())
                .u64(stderr.resubscribe())
                .u32(Inflow.WINDOW);
    }

    /** Called by the link's thread alone. */
    void handle(Wire.In frame) throws ProtocolException {
        switch (frame.type) {
            case Wire.STARTED -> started.complete(frame.u32());
            case Wire.OUTPUT -> stream(frame.u8()).receive(frame.u64(), frame.rest());
            // A stream ends with its command, so that whoever reads to the end and closes releases an ended command.
            case Wire.OUTPUT_END -> stream(frame.u8());
            case Wire.STDIN_TAKEN -> stdin.taken(frame.u64());
            case Wire.STDIN_BROKEN -> stdin.broken();
            case Wire.EXITED -> exited(frame);
            default -> throw new ProtocolException("frame " + frame.type + " is not for a command");
        }
    }

    private void exited(Wire.In frame) throws ProtocolException {
        Exit how = exit(frame.u8(), frame.u8(), (frame.u8() & 1) != 0);
        long stdoutEnd = frame.u64();
        long stderrEnd = frame.u64();
        exit.complete(how.withLimitsHit(limitsHit.get()));
        stdin.broken();
        stdout.end(stdoutEnd);
        stderr.end(stderrEnd);
    }

    static Exit exit(int kind, int value, boolean timedOut) {
        return kind == 0 ? new Exit(value, 0, timedOut, Set.of()) : Exit.signalled(value, timedOut);
    }

    void fail(SandboxException why) {
        started.completeExceptionally(why);
        exit.completeExceptionally(why);
        stdout.fail(why);
        stderr.fail(why);
        stdin.fail(why);
    }

    /** The connection was lost and is back: bytes of stdin may have been lost with it. */
    void reconnected() {
        stdin.broken();
    }

    private Inflow stream(int number) throws ProtocolException {
        return switch (number) {
            case Wire.STDOUT -> stdout;
            case Wire.STDERR -> stderr;
            default -> throw new ProtocolException("no such stream: " + number);
        };
    }

    private void consumed(int stream, long offset) {
        link.sendQuietly(new Wire.Out(Wire.CONSUMED, id, 9).u8(stream).u64(offset));
    }

    @Override
    public int id() {
        return id;
    }

    @Override
    public int pid() {
        return started.join();
    }

    @Override
    public InputStream stdout() {
        return stdout;
    }

    @Override
    public InputStream stderr() {
        return stderr;
    }

    @Override
    public long dropped() {
        return stdout.dropped() + stderr.dropped();
    }

    @Override
    public OutputStream stdin() {
        return stdin;
    }

    @Override
    public void signal(Signal signal) {
        if (!exit.isDone()) {
            link.sendQuietly(
                    new Wire.Out(Wire.SIGNAL, id, 2).u8(signal.number()).u8(0));
        }
    }

    @Override
    public void resize(TerminalSize size) {
        link.sendQuietly(new Wire.Out(Wire.RESIZE, id, 4).u16(size.rows()).u16(size.cols()));
    }

    @Override
    public Exit await() {
        try {
            return exit.get();
        } catch (InterruptedException e) {
            throw interrupted(e);
        } catch (ExecutionException e) {
            throw GuestLink.unwrap(e);
        }
    }

    @Override
    public Optional<Exit> await(Duration patience) {
        try {
            return Optional.of(exit.get(patience.toNanos(), TimeUnit.NANOSECONDS));
        } catch (TimeoutException e) {
            return Optional.empty();
        } catch (InterruptedException e) {
            throw interrupted(e);
        } catch (ExecutionException e) {
            throw GuestLink.unwrap(e);
        }
    }

    private static SandboxException interrupted(InterruptedException e) {
        Thread.currentThread().interrupt();
        return SandboxException.unavailable("waiting for a command was interrupted", e);
    }

    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        stdout.close();
        stderr.close();
        link.forget(this);
        if (exit.isDone() && !exit.isCompletedExceptionally()) {
            link.sendQuietly(new Wire.Out(Wire.RELEASE, id, 0));
        }
    }
}
