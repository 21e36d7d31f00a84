package dev.berth.cli;

import java.util.concurrent.CountDownLatch;
import java.util.function.IntConsumer;

/**
 * What Ctrl-C and a polite kill do to the server: the first one stops it in order, also while it is still starting; the
 * second one ends it at once.
 */
final class StopSignals {
    private final Thread starter;
    private final IntConsumer giveUp;
    private final CountDownLatch asked = new CountDownLatch(1);
    /** Guarded by this. */
    private boolean starting = true;

    /** @param giveUp ends the process at once with an exit code */
    StopSignals(Thread starter, IntConsumer giveUp) {
        this.starter = starter;
        this.giveUp = giveUp;
    }

    /** From now on; the calling thread is interrupted if a signal comes before it says that it has {@link #started}. */
    static StopSignals install() {
        StopSignals signals = new StopSignals(Thread.currentThread(), Runtime.getRuntime()::halt);
        for (String name : new String[] {"INT", "TERM", "HUP"}) {
            Signals.on(name, signals::received);
        }
        return signals;
    }

    void received(int signal) {
        synchronized (this) {
            if (asked.getCount() > 0) {
                asked.countDown();
                if (starting) {
                    starter.interrupt();
                }
                return;
            }
        }
        giveUp.accept(ExitCodes.signal(signal));
    }

    boolean asked() {
        return asked.getCount() == 0;
    }

    /** The start is over, well or not: what follows is not to be interrupted. */
    synchronized void started() {
        starting = false;
        Thread.interrupted();
    }

    void await() {
        try {
            asked.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
