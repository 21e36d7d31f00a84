package dev.berth.session;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Reads the events of a session in order, each once, and waits for more. It keeps no events, only the number of the last
 * one, so a slow reader costs nobody anything. For one thread.
 */
public final class EventFollower implements AutoCloseable {
    private static final int PAGE = 200;

    private final EventLog log;
    private final EventFeed feed;
    private final SessionKey key;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private boolean woken;
    private boolean ended;
    private long after;

    EventFollower(EventLog log, EventFeed feed, SessionKey key, long after) {
        this.log = log;
        this.feed = feed;
        this.key = key;
        this.after = after;
        feed.add(this);
    }

    SessionKey key() {
        return key;
    }

    /** The next events, at least one; empty if there were none for so long, or {@linkplain #ended at the end}. */
    public List<LoggedEvent> next(Duration patience) throws InterruptedException {
        List<LoggedEvent> events = read();
        if (events.isEmpty() && await(patience)) {
            events = read();
        }
        return events;
    }

    private List<LoggedEvent> read() {
        lock.lock();
        try {
            woken = false; // before reading: what is written after that wakes again
        } finally {
            lock.unlock();
        }
        List<LoggedEvent> events = log.read(key, after, PAGE);
        if (!events.isEmpty()) {
            after = events.getLast().seq();
        }
        return events;
    }

    private boolean await(Duration patience) throws InterruptedException {
        lock.lock();
        try {
            long left = patience.toNanos();
            while (!woken && !ended && left > 0) {
                left = changed.awaitNanos(left);
            }
            // Also when time ran out, in case that nobody was able to tell.
            return !ended;
        } finally {
            lock.unlock();
        }
    }

    /** Whether there will be no more, because this server stops. */
    public boolean ended() {
        lock.lock();
        try {
            return ended;
        } finally {
            lock.unlock();
        }
    }

    void wake() {
        signal(false);
    }

    void end() {
        signal(true);
    }

    private void signal(boolean atEnd) {
        lock.lock();
        try {
            woken = true;
            ended |= atEnd;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void close() {
        feed.remove(this);
    }
}
