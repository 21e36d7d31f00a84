package dev.berth.sandbox.local.files;

import dev.berth.sandbox.local.linux.ErrnoException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** An open file descriptor, closed once. For one thread, or one after another. */
final class Fd implements AutoCloseable {
    private static final byte[] ITSELF = {};

    private final int number;
    private boolean closed;

    Fd(int number) {
        this.number = number;
    }

    int number() {
        if (closed) {
            throw new IllegalStateException("the descriptor is closed");
        }
        return number;
    }

    Stat stat() throws ErrnoException {
        return FileCalls.statx(this, ITSELF);
    }

    /** Where the link points that this is a descriptor of. */
    byte[] linkTarget() throws ErrnoException {
        return FileCalls.readlinkat(this, ITSELF);
    }

    /**
     * Opens the same file once more. The magic link leads to the inode, whatever name it has by now (proc(5)), so what
     * was checked on this descriptor holds for the new one.
     *
     * <p>O_NONBLOCK, because a process in the sandbox may hold a lease on the file (fcntl(2), F_SETLEASE), and an open
     * that breaks it waits for 45 seconds otherwise.
     */
    Fd reopen(int flags) throws ErrnoException {
        return FileCalls.open(link(), flags | FileCalls.O_NONBLOCK | FileCalls.O_NOCTTY);
    }

    /** A name in proc(5) that stands for this descriptor as long as it is open. */
    byte[] link() {
        return ("/proc/self/fd/" + number()).getBytes(StandardCharsets.US_ASCII);
    }

    /** {@link #link()} for java.nio, which then has a descriptor of its own for the same file. */
    Path path() {
        return Path.of("/proc/self/fd/" + number());
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            FileCalls.close(number);
        }
    }
}
