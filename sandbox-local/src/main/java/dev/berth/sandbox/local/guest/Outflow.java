package dev.berth.sandbox.local.guest;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Bytes on their way to the guest: stdin of a command, or one direction of a connection. Writing waits while the guest
 * holds a whole window that the process has not taken.
 */
final class Outflow extends OutputStream {
    /** How the bytes and their end are sent. */
    interface Sink {
        void send(byte[] bytes, int offset, int length) throws IOException;

        void end() throws IOException;
    }

    private final int window;
    private final Sink sink;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();

    // Guarded by lock.
    private long sent;
    private long taken;
    private boolean ended;
    private boolean broken;
    private @Nullable SandboxException failure;

    /** @param window how much may be under way */
    Outflow(int window, Sink sink) {
        this.window = window;
        this.sink = sink;
    }

    /** Goes on where an earlier server stopped. */
    void startAt(long takenBefore, long sentBefore) {
        lock.lock();
        try {
            sent = sentBefore;
            taken = takenBefore;
        } finally {
            lock.unlock();
        }
    }

    void taken(long offset) throws ProtocolException {
        lock.lock();
        try {
            if (offset > sent) {
                throw new ProtocolException("more taken than was sent");
            }
            taken = Math.max(taken, offset);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** The other side reads no more: as with a closed pipe, the next write fails. */
    void broken() {
        lock.lock();
        try {
            broken = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    void fail(SandboxException why) {
        lock.lock();
        try {
            failure = failure == null ? why : failure;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void write(int b) throws IOException {
        write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
        int done = 0;
        while (done < length) {
            int n = reserve(length - done);
            sink.send(bytes, offset + done, n);
            done += n;
        }
    }

    @Override
    public void close() throws IOException {
        lock.lock();
        try {
            if (ended || broken || failure != null) {
                return;
            }
            ended = true;
        } finally {
            lock.unlock();
        }
        sink.end();
    }

    private int reserve(int wanted) throws IOException {
        lock.lock();
        try {
            while (sent - taken >= window && !broken && failure == null && !ended) {
                changed.await();
            }
            if (failure != null) {
                throw new IOException(failure.getMessage(), failure);
            }
            if (broken || ended) {
                throw new IOException("the other side reads no more");
            }
            int n = (int) Math.min(Math.min(wanted, Wire.CHUNK), window - (sent - taken));
            sent += n;
            return n;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw (IOException) new InterruptedIOException("writing was interrupted").initCause(e);
        } finally {
            lock.unlock();
        }
    }
}
