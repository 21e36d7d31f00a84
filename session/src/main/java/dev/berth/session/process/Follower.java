package dev.berth.session.process;

import dev.berth.sandbox.SandboxException;
import dev.berth.session.process.Event.Lost;
import dev.berth.session.process.Event.Nothing;
import dev.berth.session.process.Event.Output;
import java.io.ByteArrayOutputStream;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One who is told what a process prints and how it ends, from when it began to follow. To be used by one thread at a time,
 * and closed; that changes nothing for the process or for others.
 */
public final class Follower implements AutoCloseable {
    /**
     * So many bytes wait for one who does not take them; then the process waits. Few, since there may be hundreds of such
     * streams at a time, and a server's heap is small.
     */
    static final int MOST = 128 << 10;

    /** What a chunk takes beside its bytes, so that many small ones count for what they are. */
    private static final int FRAME = 64;

    private final Consumer<Follower> leave;
    private final Duration patience;
    private final LongSupplier nanoTime;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();

    // Guarded by lock.
    private final ArrayDeque<Output> waiting = new ArrayDeque<>();
    private int size;
    private @Nullable Event last;
    /** Since when there is no room, and nothing was taken. */
    private long fullAt;

    /**
     * @param leave called when it is not to be told any more
     * @param patience how long it may take nothing while there is no room, before the process goes on without it
     */
    Follower(Consumer<Follower> leave, Duration patience, LongSupplier nanoTime) {
        this.leave = leave;
        this.patience = patience;
        this.nanoTime = nanoTime;
    }

    /** The next thing that happened, or {@link Nothing} if there was none for so long. */
    public Event next(Duration atMost) {
        lock.lock();
        try {
            long left = TimeUnit.NANOSECONDS.convert(atMost);
            while (waiting.isEmpty() && last == null) {
                if (left <= 0) {
                    return new Nothing();
                }
                left = changed.awaitNanos(left);
            }
            if (waiting.isEmpty() && last != null) {
                return last;
            }
            Output output = take();
            fullAt = nanoTime.getAsLong();
            changed.signalAll();
            return output;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("following a process was interrupted", e);
        } finally {
            lock.unlock();
        }
    }

    /** What is there of one stream, as far as it fits into one chunk: who is late gets few large ones. */
    private Output take() {
        Output first = remove();
        if (!fits(first, first.bytes().length)) {
            return first;
        }
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        all.writeBytes(first.bytes());
        while (fits(first, all.size())) {
            all.writeBytes(remove().bytes());
        }
        return new Output(first.stream(), all.toByteArray());
    }

    private Output remove() {
        Output output = waiting.remove();
        size -= FRAME + output.bytes().length;
        return output;
    }

    private boolean fits(Output first, int size) {
        Output next = waiting.peek();
        return next != null && next.stream() == first.stream() && size + next.bytes().length <= Pump.CHUNK;
    }

    /** Waits while there is no room, unless nothing is taken for too long. */
    void put(Output output) {
        lock.lock();
        try {
            while (size >= MOST && last == null) {
                long left = patience.toNanos() - (nanoTime.getAsLong() - fullAt);
                if (left <= 0) {
                    clear();
                    last = new Lost(SandboxException.limit("what the process prints was not taken for "
                            + patience.toSeconds() + " s, so it goes on without; follow it again"));
                    leave.accept(this);
                } else {
                    var _ = changed.awaitNanos(left);
                }
            }
            if (last == null) {
                waiting.add(output);
                size += FRAME + output.bytes().length;
                if (size >= MOST) {
                    // From now on, and not from when the process has more: else it would wait for each of many who are
                    // dead in turn.
                    fullAt = nanoTime.getAsLong();
                }
            }
            changed.signalAll();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            lock.unlock();
        }
    }

    private void clear() {
        waiting.clear();
        size = 0;
    }

    /** Nothing comes after this. */
    void finish(Event end) {
        lock.lock();
        try {
            last = last == null ? end : last;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void close() {
        leave.accept(this);
        lock.lock();
        try {
            clear();
            last = last == null ? new Lost(SandboxException.conflict("this follower was closed")) : last;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
