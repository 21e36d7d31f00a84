package dev.berth.cli;

import dev.berth.sandbox.Exit;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.Signal;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Ties a command in a sandbox to streams of this process until it ends.
 *
 * <p>Nothing is buffered beyond one read: when our reader is slow, so is our reading, and the command waits in its
 * write. All copying is on platform threads, since reading and writing pipes and terminals blocks the thread under a
 * virtual one.
 */
final class Streams {
    private static final int BUFFER = 64 * 1024;

    private final InputStream in;
    private final OutputStream out;
    private final OutputStream err;
    private final AtomicBoolean broken = new AtomicBoolean();

    Streams(InputStream in, OutputStream out, OutputStream err) {
        this.in = in;
        this.out = out;
        this.err = err;
    }

    /** How the command ended; and whether whoever read our output had left before. */
    record End(Exit exit, boolean brokenPipe) {}

    End tieTo(RunningCommand command, boolean withInput) {
        if (withInput) {
            Thread.ofPlatform().daemon().name("stdin").start(() -> feed(command.stdin()));
        }
        Thread errors = Thread.ofPlatform().daemon().name("stderr").start(() -> copy(command, command.stderr(), err));
        copy(command, command.stdout(), out);
        try {
            errors.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return new End(command.await(), broken.get());
    }

    private void copy(RunningCommand command, InputStream from, OutputStream to) {
        byte[] buffer = new byte[BUFFER];
        boolean open = true;
        try (from) {
            for (int n = from.read(buffer); n >= 0; n = from.read(buffer)) {
                if (open && !write(to, buffer, n)) {
                    // As SIGPIPE would have done, had the command written to that pipe itself. What it wrote before is
                    // still to be read, since its end comes after its output.
                    open = false;
                    broken.set(true);
                    command.signal(Signal.KILL);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static boolean write(OutputStream to, byte[] buffer, int length) {
        try {
            to.write(buffer, 0, length);
            to.flush();
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    private void feed(OutputStream to) {
        byte[] buffer = new byte[BUFFER];
        try (to) {
            for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
                to.write(buffer, 0, n);
                to.flush();
            }
        } catch (IOException e) {
            // The command reads no more, or has ended; nothing is lost that anybody waits for.
        }
    }
}
