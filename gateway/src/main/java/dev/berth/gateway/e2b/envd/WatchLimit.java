package dev.berth.gateway.e2b.envd;

import dev.berth.session.SessionKey;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;

/** How many directories are watched at a time, of one sandbox and of all: each is a thread and something of the kernel's. */
final class WatchLimit {
    private final int mostOfOne;
    private final int most;
    /** Guarded by this, as the next; without those that have none. */
    private final Map<SessionKey, Integer> taken = new HashMap<>();

    private int all;

    WatchLimit(int mostOfOne, int most) {
        this.mostOfOne = mostOfOne;
        this.most = most;
    }

    /** One watch of a sandbox, until it is closed. */
    final class Taken implements AutoCloseable {
        private final SessionKey sandbox;
        private final AtomicBoolean closed = new AtomicBoolean();

        private Taken(SessionKey sandbox) {
            this.sandbox = sandbox;
        }

        @Override
        public void close() {
            if (closed.compareAndSet(false, true)) {
                release(sandbox);
            }
        }
    }

    /** @throws ConnectError if there are as many as there may be */
    synchronized Taken take(SessionKey sandbox) {
        int there = taken.getOrDefault(sandbox, 0);
        if (there >= mostOfOne || all >= most) {
            throw new ConnectError(
                    ConnectCode.RESOURCE_EXHAUSTED,
                    there >= mostOfOne
                            ? "there are too many watchers; a sandbox can have " + mostOfOne
                                    + ": remove those that nobody needs"
                            : "there are too many watchers on this server; try again later");
        }
        taken.put(sandbox, there + 1);
        all++;
        return new Taken(sandbox);
    }

    private synchronized void release(SessionKey sandbox) {
        int left = taken.getOrDefault(sandbox, 1) - 1;
        if (left == 0) {
            taken.remove(sandbox);
        } else {
            taken.put(sandbox, left);
        }
        all--;
    }
}
