package dev.berth.egress.policy;

import dev.berth.egress.policy.Refusal.Reason;
import dev.berth.sandbox.Network.Caps;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/** What one sandbox has used of its network, against its caps. All connections of a sandbox share one. */
public final class Account {
    private static final long SECOND = 1_000_000_000;

    private final Supplier<Caps> caps;
    private final long before;
    private final LongAdder bytes = new LongAdder();
    private final AtomicInteger connections = new AtomicInteger();
    /** Until when, in nanoseconds, the bytes that have gone through would have taken at the allowed speed. */
    private long paidUntil = System.nanoTime();

    public Account(Supplier<Caps> caps, long before) {
        this.caps = caps;
        this.before = before;
    }

    /** Counts a connection until the returned one is closed. */
    public Open open() throws Refusal {
        if (bytesLeft() <= 0) {
            throw spent();
        }
        int most = caps.get().connections();
        if (connections.incrementAndGet() > most && most > 0) {
            connections.decrementAndGet();
            throw new Refusal(
                    Reason.CAP_CONNECTIONS,
                    "this sandbox has " + most + " connections open, which is all it may have; close one");
        }
        AtomicBoolean open = new AtomicBoolean(true);
        return () -> {
            if (open.compareAndSet(true, false)) {
                connections.decrementAndGet();
            }
        };
    }

    /** A connection that counts. */
    public interface Open extends AutoCloseable {
        @Override
        void close();
    }

    /** Counts bytes before they are passed on, and waits for as long as the speed demands. */
    public void pass(int count) throws Refusal {
        bytes.add(count);
        if (bytesLeft() < 0) {
            throw spent();
        }
        long speed = caps.get().bytesPerSecond();
        if (speed > 0) {
            long wait = charge((long) (count * (double) SECOND / speed));
            if (wait > 0) {
                LockSupport.parkNanos(wait);
            }
        }
    }

    /** How many bytes to {@link #pass} at a time, so that whoever waits for the speed does not wait for long. */
    public int atOnce(int most) {
        long speed = caps.get().bytesPerSecond();
        return speed == 0 ? most : Math.clamp(speed / 8, 1, most);
    }

    /** A second's worth may be used at once. */
    private synchronized long charge(long cost) {
        long now = System.nanoTime();
        paidUntil = Math.max(paidUntil, now - SECOND) + cost;
        return paidUntil - now;
    }

    public int connections() {
        return connections.get();
    }

    private long bytesLeft() {
        long most = caps.get().bytes();
        return most == 0 ? Long.MAX_VALUE : most - before - bytes.sum();
    }

    private Refusal spent() {
        return new Refusal(
                Reason.CAP_BYTES,
                "this sandbox has used up the " + caps.get().bytes() + " bytes that it may carry over the network");
    }
}
