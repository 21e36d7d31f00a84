package dev.berth.session;

import dev.berth.session.store.Signals;
import java.time.Duration;
import java.util.List;

/**
 * Reads the events of a session in order, each once, and waits for more. It keeps no events, only the number of the last
 * one, so a slow reader costs nobody anything. For one thread.
 */
public final class EventFollower implements AutoCloseable {
    private static final int PAGE = 200;

    private final EventLog log;
    private final SessionKey key;
    private final Signals.Waiter waiter;
    private long after;

    EventFollower(EventLog log, Signals.Waiter waiter, SessionKey key, long after) {
        this.log = log;
        this.waiter = waiter;
        this.key = key;
        this.after = after;
    }

    /** The next events, at least one; empty if there were none for so long, or {@linkplain #ended at the end}. */
    public List<LoggedEvent> next(Duration patience) throws InterruptedException {
        List<LoggedEvent> events = read();
        if (events.isEmpty() && !patience.isZero()) {
            waiter.await(patience);
            events = read();
        }
        return events;
    }

    private List<LoggedEvent> read() {
        List<LoggedEvent> events = log.read(key, after, PAGE);
        if (!events.isEmpty()) {
            after = events.getLast().seq();
        }
        return events;
    }

    /** Whether there will be no more, because this server stops. */
    public boolean ended() {
        return waiter.ended();
    }

    @Override
    public void close() {
        waiter.close();
    }
}
