package dev.berth.agent.run;

import java.time.Duration;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** Wakes one who waits. A ring that comes while he is busy is not lost. */
final class Bell {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition rung = lock.newCondition();
    private boolean ringing;

    void ring() {
        lock.lock();
        try {
            ringing = true;
            rung.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Waits for a ring, no longer than this. */
    void await(Duration patience) throws InterruptedException {
        lock.lock();
        try {
            long left = patience.toNanos();
            while (!ringing && left > 0) {
                left = rung.awaitNanos(left);
            }
            ringing = false;
        } finally {
            lock.unlock();
        }
    }
}
