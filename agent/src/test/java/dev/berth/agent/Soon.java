package dev.berth.agent;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** What takes a moment to be so: a process that was told to end, a file that is written after an event was told. */
public final class Soon {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private Soon() {}

    /** Whether it is so before long. */
    public static boolean is(BooleanSupplier condition) {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > deadline) {
                return false;
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
        }
        return true;
    }
}
