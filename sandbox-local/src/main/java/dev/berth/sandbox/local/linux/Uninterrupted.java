package dev.berth.sandbox.local.linux;

import java.io.IOException;

/**
 * Cleaning up by a thread that may be interrupted already: what it waits for would fail at once, and leave behind what it is
 * there to remove. It is interrupted again afterwards.
 */
public final class Uninterrupted {
    private Uninterrupted() {}

    /** What cleans up. */
    public interface Work {
        void run() throws IOException;
    }

    public static void run(Work work) throws IOException {
        boolean interrupted = Thread.interrupted();
        try {
            work.run();
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
