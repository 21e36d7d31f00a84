package dev.berth.tool;

import java.util.HashSet;
import java.util.Set;

/**
 * Lets somebody end a call from outside. What the call runs is told to end by the one who stops it, and the call comes to
 * its end in the usual way: interrupting its thread instead could close the link to the sandbox that all calls share.
 */
public final class Stop {
    /** While it is open, what was given is told to end. */
    interface Watch extends AutoCloseable {
        @Override
        void close();
    }

    private final Set<Runnable> endings = new HashSet<>(); // guarded by this
    private boolean stopped; // guarded by this

    /** Ends what runs, and whatever would run from now on. */
    public synchronized void stop() {
        stopped = true;
        endings.forEach(Runnable::run);
    }

    public synchronized boolean stopped() {
        return stopped;
    }

    /** Has the ending run when somebody stops the call, at once if that was before. */
    synchronized Watch during(Runnable ending) {
        endings.add(ending);
        if (stopped) {
            ending.run();
        }
        return () -> forget(ending);
    }

    private synchronized void forget(Runnable ending) {
        endings.remove(ending);
    }
}
