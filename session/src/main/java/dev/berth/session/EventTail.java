package dev.berth.session;

import dev.berth.session.store.Signals;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * What happened last in a session, shared by all who follow it on this server: when something happens, one of them reads
 * it and the others find it here, so that a thousand followers cost the database as much as one. Those who are far behind
 * read by themselves until they have come up.
 */
final class EventTail implements AutoCloseable {
    /** Of the events that are kept. Whatever finds no place is read from the database. */
    private static final int MOST_EVENTS = 200;

    private static final int MOST_CHARACTERS = 16 << 10;

    /** A signal of another server may be lost, so they look without one now and then. */
    private static final Duration LOOK = Duration.ofSeconds(5);

    private record Recent(LoggedEvent event, int characters) {}

    private final EventLog log;
    private final SessionKey key;
    private final Signals.Waiter signals;
    private final ReentrantLock lock = new ReentrantLock();
    /** Without gaps up to the last one. */
    private final Deque<Recent> recent = new ArrayDeque<>();

    private int characters;
    /** The number of the last event that is known of; less than any before the first look. */
    private long last = -1;
    /** How many signals there had been when nothing was left to read. */
    private long told = -1;

    private long lookedAt;

    /** Counted by the log, for which it lives as long as there is one. */
    int followers;

    EventTail(EventLog log, SessionKey key, Signals.Waiter signals) {
        this.log = log;
        this.key = key;
        this.signals = signals;
    }

    /** The next events after a number, in order; empty if there is none yet. */
    List<LoggedEvent> after(long number) {
        lock.lock();
        try {
            if (number >= last) {
                look();
            }
            if (number >= last) {
                return List.of();
            }
            if (!recent.isEmpty() && recent.getFirst().event().seq() <= number + 1) {
                return recent.stream()
                        .map(Recent::event)
                        .filter(event -> event.seq() > number)
                        .toList();
            }
        } finally {
            lock.unlock();
        }
        return log.pageOfOld(key, number);
    }

    private void look() {
        long signalled = signals.told();
        if (signalled == told && System.nanoTime() - lookedAt < LOOK.toNanos()) {
            return;
        }
        if (last < 0) {
            last = log.last(key);
            told = signalled;
        } else {
            List<LoggedEvent> page = log.page(key, last);
            page.forEach(this::add);
            if (page.isEmpty()) {
                told = signalled;
            }
        }
        lookedAt = System.nanoTime();
    }

    private void add(LoggedEvent event) {
        int size = event.data().toString().length();
        recent.add(new Recent(event, size));
        characters += size;
        last = event.seq();
        while (recent.size() > MOST_EVENTS || characters > MOST_CHARACTERS) {
            characters -= recent.remove().characters();
        }
    }

    @Override
    public void close() {
        signals.close();
    }
}
