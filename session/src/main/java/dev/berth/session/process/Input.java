package dev.berth.session.process;

import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;

/**
 * What is given to a process to read: whole, one after the other, by whoever does.
 *
 * <p>A process need not read, and writing to it cannot be broken off: an interrupt would close the connection that all
 * processes of the sandbox share. So a piece is written by a thread of its own, for which whoever gives it waits no longer
 * than he wants to. The piece goes on to wait for the process, as the next one would have to; it is all that stays behind,
 * however many gave up.
 */
final class Input {
    private static final int PIECE = 64 << 10;

    private final boolean terminal;
    private final ReentrantLock writing = new ReentrantLock();
    /** Guarded by writing. */
    private CompletableFuture<Boolean> underWay = CompletableFuture.completedFuture(true);

    private volatile boolean open;

    Input(boolean open, boolean terminal) {
        this.open = open;
        this.terminal = terminal;
    }

    /** @throws SandboxException with {@code timeout} if the process does not read it all within that time */
    void write(RunningCommand running, byte[] bytes, Duration patience) {
        checkOpen();
        long deadline = System.nanoTime() + patience.toNanos();
        lock(deadline, patience);
        try {
            int given = 0;
            while (given < bytes.length && settled(deadline)) {
                checkOpen();
                byte[] piece = Arrays.copyOfRange(bytes, given, Math.min(bytes.length, given + PIECE));
                begin(() -> {
                    running.stdin().write(piece);
                    running.stdin().flush();
                });
                given += piece.length;
            }
            if (!settled(deadline)) {
                throw SandboxException.timeout("the process did not read for " + patience.toMillis() + " ms: " + given
                        + " of " + bytes.length + " bytes are with it or wait for it, the rest was not written");
            }
        } finally {
            writing.unlock();
        }
    }

    /** @throws SandboxException with {@code timeout} if what was given before is not read within that time */
    void end(RunningCommand running, Duration patience) {
        if (terminal) {
            throw SandboxException.conflict(
                    "the input of a terminal has no end; type control-D (a byte of 4) where the program reads it");
        }
        checkOpen();
        long deadline = System.nanoTime() + patience.toNanos();
        lock(deadline, patience);
        try {
            if (!settled(deadline)) {
                throw late(patience);
            }
            open = false;
            running.stdin().close();
        } catch (IOException e) {
            throw failed(e);
        } finally {
            writing.unlock();
        }
    }

    private void lock(long deadline, Duration patience) {
        try {
            if (!writing.tryLock(deadline - System.nanoTime(), TimeUnit.NANOSECONDS)) {
                throw late(patience);
            }
        } catch (InterruptedException e) {
            throw interrupted(e);
        }
    }

    private static SandboxException late(Duration patience) {
        return SandboxException.timeout("the process did not read for " + patience.toMillis()
                + " ms what it was given before; nothing was written");
    }

    /** Something that may wait for the process. */
    private interface Writing {
        void run() throws IOException;
    }

    private void begin(Writing piece) {
        CompletableFuture<Boolean> written = new CompletableFuture<>();
        underWay = written;
        Thread.ofVirtual().name("input of a process").start(() -> {
            try {
                piece.run();
                written.complete(true);
            } catch (IOException | RuntimeException e) {
                written.completeExceptionally(e);
            }
        });
    }

    /** Whether what was given before is written, by then at the latest. */
    private boolean settled(long deadline) {
        try {
            return underWay.get(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            return false;
        } catch (ExecutionException e) {
            throw failed(e);
        } catch (InterruptedException e) {
            throw interrupted(e);
        }
    }

    private void checkOpen() {
        if (!open) {
            throw SandboxException.conflict(
                    "the process takes no input: it was started without, or its input was ended; start it with open input");
        }
    }

    private static SandboxException interrupted(InterruptedException e) {
        Thread.currentThread().interrupt();
        return SandboxException.unavailable("writing to the process was interrupted; the server stops", e);
    }

    private static SandboxException failed(Exception e) {
        for (Throwable why = e; why != null; why = why.getCause()) {
            if (why instanceof SandboxException known) {
                return new SandboxException(known.code(), known.getMessage(), known);
            }
        }
        return SandboxException.conflict("the process takes no input any more: it ended, or closed its input");
    }
}
