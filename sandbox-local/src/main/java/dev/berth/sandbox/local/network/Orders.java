package dev.berth.sandbox.local.network;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.ProcessLock;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What has to be done under a lock of the machine, done for all who wait for it at once: whoever gets the lock next
 * carries out the orders of all of them. Telling a program what fifty want takes little longer than what one wants, and
 * starting it is most of the time, so a burst waits for a few rounds instead of for one another.
 *
 * <p>If a round fails, its orders are carried out one by one, so that each fails for its own reasons only. To carry one
 * out a second time must do no harm. Somebody who is interrupted while waiting does not learn whether another has carried
 * out the order.
 */
final class Orders<O> {
    private final Path lock;
    private final Round<O> round;
    /** Guarded by itself. */
    private final List<Given<O>> waiting = new ArrayList<>();

    /** An order and what became of it. */
    private static final class Given<O> {
        private final O order;
        /** Set and read by whoever has the lock, as the next. */
        private boolean done;

        private @Nullable Exception trouble;

        private Given(O order) {
            this.order = order;
        }
    }

    /** Carries out orders. */
    interface Round<O> {
        void run(List<O> orders) throws IOException;
    }

    Orders(Path lock, Round<O> round) {
        this.lock = lock;
        this.round = round;
    }

    /** Returns when it is carried out, here or by another. */
    void give(O order) throws IOException {
        Given<O> given = new Given<>(order);
        synchronized (waiting) {
            waiting.add(given);
        }
        try (var _ = ProcessLock.acquire(lock)) {
            carryOut(taken());
            switch (given.trouble) {
                case IOException e -> throw e;
                case RuntimeException e -> throw e;
                case null, default -> {}
            }
            if (!given.done) {
                throw SandboxException.unavailable("another thread failed at what was to be done for both; try again");
            }
        } finally {
            synchronized (waiting) {
                waiting.remove(given); // if nobody came to it
            }
        }
    }

    /** How many were given and not yet taken up. */
    int waiting() {
        synchronized (waiting) {
            return waiting.size();
        }
    }

    /** Nothing, if whoever had the lock before took everything. */
    private List<Given<O>> taken() {
        synchronized (waiting) {
            List<Given<O>> taken = List.copyOf(waiting);
            waiting.clear();
            return taken;
        }
    }

    private void carryOut(List<Given<O>> orders) {
        if (orders.isEmpty()) {
            return;
        }
        try {
            round.run(orders.stream().map(given -> given.order).toList());
            orders.forEach(given -> given.done = true);
        } catch (IOException | RuntimeException e) {
            if (orders.size() > 1) {
                orders.forEach(given -> carryOut(List.of(given)));
            } else {
                orders.getFirst().trouble = e;
            }
        }
    }
}
