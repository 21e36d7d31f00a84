package dev.berth.session;

import dev.berth.sandbox.Sandbox;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A session that is up in this process: what the way of a live request works with, without lock or SQL.
 *
 * <p>Whoever uses the session holds it meanwhile. It is closed before its sandbox is paused, stopped or removed, and the
 * idle ladder closes it only if nobody holds it. Both are one compare-and-set on {@code holds}, so a request gets a
 * session that stays up, or none and brings it up again. There is no moment in between.
 */
final class Live {
    /** This bit of {@code holds} says closed; the others count. */
    private static final int CLOSED = 1 << 30;

    private final Sandbox sandbox;
    private final AtomicInteger holds;
    private final Downfall downfall;
    private final AtomicReference<SessionInfo> info;
    private volatile long lastUsed = System.nanoTime();
    private volatile long lastFlushed;
    private volatile boolean suspect;
    private final ReentrantLock checkpointing = new ReentrantLock();
    /** The turn whose first write is over. */
    private volatile int checkpointed = -1;

    Live(SessionInfo info, Sandbox sandbox) {
        this(info, sandbox, new AtomicInteger(), new Downfall());
    }

    private Live(SessionInfo info, Sandbox sandbox, AtomicInteger holds, Downfall downfall) {
        this.info = new AtomicReference<>(info);
        this.sandbox = sandbox;
        this.holds = holds;
        this.downfall = downfall;
        this.lastFlushed = lastUsed;
    }

    /** The same, in the place of one that was no longer of use: whoever holds that one holds this one too. */
    Live replacing(Live other) {
        return other.holds.get() < CLOSED ? new Live(info.get(), sandbox, other.holds, other.downfall) : this;
    }

    Sandbox sandbox() {
        return sandbox;
    }

    SessionInfo info() {
        return info.get();
    }

    /** What was read of it, unless something later is known: those who read it come here in any order. */
    void info(SessionInfo read) {
        info.accumulateAndGet(read, (known, other) -> other.revision() < known.revision() ? known : other);
    }

    /** Whether it would be of use to a request that comes now. */
    boolean usable() {
        return holds.get() < CLOSED && !suspect && sandbox.ready();
    }

    /** Takes a hold; false if it is closed. */
    boolean hold() {
        for (int now = holds.get(); now < CLOSED; now = holds.get()) {
            if (holds.compareAndSet(now, now + 1)) {
                lastUsed = System.nanoTime();
                return true;
            }
        }
        return false;
    }

    void release() {
        lastUsed = System.nanoTime();
        holds.decrementAndGet();
    }

    boolean held() {
        return (holds.get() & ~CLOSED) > 0;
    }

    /** Since when nobody used it; nothing if somebody does. */
    Duration idle() {
        return held() ? Duration.ZERO : Duration.ofNanos(System.nanoTime() - lastUsed);
    }

    /** Closes it if nobody holds it and nobody did for so long. */
    boolean closeIfIdle(Duration idle) {
        boolean closed = idle().compareTo(idle) >= 0 && holds.compareAndSet(0, CLOSED);
        if (closed) {
            downfall.complete();
        }
        return closed;
    }

    void close() {
        holds.getAndUpdate(now -> now | CLOSED);
        downfall.complete();
    }

    /** Tells those who asked for it that its processes are being ended, though it stays up. */
    void interrupted() {
        downfall.passing();
    }

    /** Has somebody told when it goes down. */
    Downfall.Told whenDown(Runnable action) {
        return downfall.tell(action);
    }

    /** Lets the next request look closer before it uses this. */
    void suspect() {
        suspect = true;
    }

    /** Does this once for each turn; whoever comes meanwhile waits until it is done. */
    void checkpointOnce(int turn, Runnable checkpoint) {
        if (checkpointed != turn) {
            checkpointing.lock();
            try {
                if (checkpointed != turn) {
                    checkpoint.run();
                    checkpointed = turn;
                }
            } finally {
                checkpointing.unlock();
            }
        }
    }

    /** Whether it was used since the last time this was asked. */
    boolean takeUsed() {
        long used = held() ? System.nanoTime() : lastUsed;
        boolean fresh = used != lastFlushed;
        lastFlushed = used;
        return fresh;
    }

    /** What {@link #takeUsed} told could not be written down, and is to be told again. */
    void giveBackUsed() {
        lastFlushed = lastUsed - 1;
    }
}
