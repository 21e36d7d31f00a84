package dev.berth.client;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/**
 * Breaks a connection on which nothing has come for too long. The server sends something every few seconds; when it does
 * not, it or the way to it is dead, and TCP alone would wait for ever.
 */
final class SilenceAlarm implements AutoCloseable {
    private final long patience;
    private final Runnable alarm;
    private final Thread watcher;
    private volatile long heard = System.nanoTime();
    private volatile boolean over;

    SilenceAlarm(Duration patience, Runnable alarm) {
        this.patience = patience.toNanos();
        this.alarm = alarm;
        this.watcher = Thread.ofVirtual().name("berth-silence").start(this::watch);
    }

    void heard() {
        heard = System.nanoTime();
    }

    private void watch() {
        for (long left = patience; left > 0 && !over; left = heard + patience - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
        if (!over) {
            alarm.run();
        }
    }

    @Override
    public void close() {
        over = true;
        LockSupport.unpark(watcher);
    }
}
