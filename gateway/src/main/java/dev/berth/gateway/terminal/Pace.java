package dev.berth.gateway.terminal;

import java.time.Duration;

/**
 * How fast a terminal is read. Nobody sees more than this, and a program that floods its terminal shall not cost the
 * server a processor: what is more is dropped inside the sandbox.
 */
final class Pace {
    private static final long WINDOW = Duration.ofMillis(50).toNanos();
    private static final int MOST = 512 << 10;

    private long began = System.nanoTime();
    private int taken;

    /** Waits, after so many bytes were taken, until more may be. */
    void took(int bytes) throws InterruptedException {
        taken += bytes;
        if (taken < MOST) {
            return;
        }
        long left = WINDOW - (System.nanoTime() - began);
        if (left > 0) {
            Thread.sleep(Duration.ofNanos(left));
        }
        began = System.nanoTime();
        taken = 0;
    }
}
