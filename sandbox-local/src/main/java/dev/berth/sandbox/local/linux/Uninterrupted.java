package dev.berth.sandbox.local.linux;

import java.io.IOException;

/**
 * What has to be done even by a thread that is interrupted already: whatever it waits for would fail at once, what it is
 * there to remove would be left behind, and a channel that it writes to would be closed. It is interrupted again afterwards.
 */
public final class Uninterrupted {
    private Uninterrupted() {}

    /** What is done. */
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
