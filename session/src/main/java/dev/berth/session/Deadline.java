package dev.berth.session;

import java.time.Duration;

/** A moment after which nobody waits any more. */
record Deadline(long nanoTime) {
    static Deadline after(Duration patience) {
        return new Deadline(System.nanoTime() + patience.toNanos());
    }

    Duration remaining() {
        return Duration.ofNanos(Math.max(0, nanoTime - System.nanoTime()));
    }

    boolean passed() {
        return System.nanoTime() - nanoTime >= 0;
    }
}
