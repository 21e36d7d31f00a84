package dev.berth.session;

import dev.berth.session.store.Signals;
import java.time.Duration;
import java.util.List;

/**
 * Reads the events of a session in order, each once, and waits for more. It keeps no events, only the number of the last
 * one, so a slow reader costs nobody anything. For one thread.
 */
public final class EventFollower implements AutoCloseable {
    private final EventTail tail;
    private final Signals.Waiter waiter;
    private final Runnable atEnd;
    private long after;

    EventFollower(EventTail tail, Signals.Waiter waiter, long after, Runnable atEnd) {
        this.tail = tail;
        this.waiter = waiter;
        this.after = after;
        this.atEnd = atEnd;
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
        List<LoggedEvent> events = tail.after(after);
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
        atEnd.run();
    }
}
