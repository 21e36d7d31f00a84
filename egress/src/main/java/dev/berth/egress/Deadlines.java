package dev.berth.egress;

import java.time.Duration;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Does what has to be done when time is up. Streams know no deadlines, but closing one ends all waiting for it. */
final class Deadlines implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Deadlines.class);

    private final ScheduledThreadPoolExecutor clock;

    Deadlines() {
        clock = new ScheduledThreadPoolExecutor(
                1, Thread.ofPlatform().name("egress-deadlines").daemon().factory());
        clock.setRemoveOnCancelPolicy(true);
    }

    /** A deadline that stands until it is closed. */
    interface Standing extends AutoCloseable {
        @Override
        void close();
    }

    /** Does it on a thread of its own, so that one that waits keeps no other from being done; at once after the end. */
    Standing in(Duration time, Runnable action) {
        try {
            ScheduledFuture<?> future = clock.schedule(
                    () -> {
                        Thread.ofVirtual().name("egress-deadline").start(action);
                    },
                    time.toNanos(),
                    TimeUnit.NANOSECONDS);
            return () -> future.cancel(false);
        } catch (RejectedExecutionException e) {
            LOG.debug("no time is left after the end", e);
            action.run();
            return () -> {};
        }
    }

    @Override
    public void close() {
        clock.shutdownNow();
    }
}
