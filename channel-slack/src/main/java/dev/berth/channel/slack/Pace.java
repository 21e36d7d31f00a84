package dev.berth.channel.slack;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;

/** Keeps a message from being changed too often. */
final class Pace {
    private final Duration pause;
    private final InstantSource clock;
    private final Remembered<String, Instant> changed;

    Pace(Duration pause, InstantSource clock) {
        this.pause = pause;
        this.clock = clock;
        this.changed = new Remembered<>(10_000, pause.plusSeconds(1), clock);
    }

    /** Waits until this message may be changed. */
    void await(String message) throws InterruptedException {
        Instant last = changed.peek(message);
        if (last != null) {
            Duration left = Duration.between(clock.instant(), last.plus(pause));
            if (left.isPositive()) {
                Thread.sleep(left);
            }
        }
    }

    void changed(String message) {
        changed.put(message, clock.instant());
    }
}
