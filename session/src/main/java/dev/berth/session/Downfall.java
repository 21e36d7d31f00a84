package dev.berth.session;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Those who want to be told when a session that is up goes down. Each is told once, on a thread of its own. */
final class Downfall {
    /** Guarded by this. */
    private final Set<Told> waiting = new HashSet<>();
    /** Guarded by this. */
    private boolean complete;

    /** Somebody who is told, unless he closes this before. */
    final class Told implements AutoCloseable {
        private final Runnable action;

        private Told(Runnable action) {
            this.action = action;
        }

        @Override
        public void close() {
            synchronized (Downfall.this) {
                waiting.remove(this);
            }
        }
    }

    Told tell(Runnable action) {
        Told told = new Told(action);
        synchronized (this) {
            if (!complete) {
                waiting.add(told);
                return told;
            }
        }
        tell(List.of(told));
        return told;
    }

    /** For good: whoever comes later is told at once. */
    void complete() {
        tell(take(true));
    }

    /** This once: whoever comes later waits for the next time. */
    void passing() {
        tell(take(false));
    }

    private synchronized List<Told> take(boolean forGood) {
        complete |= forGood;
        List<Told> all = new ArrayList<>(waiting);
        waiting.clear();
        return all;
    }

    private static void tell(List<Told> all) {
        all.forEach(told -> Thread.ofVirtual().name("session goes down").start(told.action));
    }
}
