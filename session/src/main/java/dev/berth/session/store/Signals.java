package dev.berth.session.store;

import dev.berth.sandbox.SandboxException;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Wakes those who wait for something in the database to change, in this server at once and in others by PostgreSQL's
 * NOTIFY. That is sent beside the transactions that change something and never in them, as it would make them wait for
 * each other. A signal that is lost costs time only: whoever waits looks by himself now and then.
 */
public final class Signals implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Signals.class);
    private static final String CHANNEL = "berth";
    private static final int QUEUE = 10_000;

    private final Database database;
    private final Map<String, Topic> topics = new ConcurrentHashMap<>();
    private final BlockingQueue<String> outgoing = new ArrayBlockingQueue<>(QUEUE);
    private final Notifications incoming;
    private final Thread sender;
    private volatile boolean closed;

    public Signals(Database database) {
        this.database = database;
        this.incoming = database.listen(CHANNEL, new Notifications.Listener() {
            @Override
            public void told(String topic) {
                wake(topic);
            }

            @Override
            public void missed() {
                topics.values().forEach(Topic::wake);
            }
        });
        this.sender = Thread.ofVirtual().name("signals").start(this::send);
    }

    /** To be called after something has changed, when that can be seen. */
    public void tell(String topic) {
        wake(topic);
        if (!outgoing.offer(topic)) {
            LOG.debug("too many changes at a time for other servers to be told of each");
        }
    }

    /** Waits for a topic from now on, until it is closed. */
    public Waiter waiter(String topic) {
        AtomicReference<Waiter> waiter = new AtomicReference<>();
        topics.compute(topic, (_, there) -> {
            Topic all = there == null ? new Topic() : there;
            waiter.set(new Waiter(topic, all));
            all.waiters.add(waiter.get());
            return all;
        });
        if (closed) {
            waiter.get().end();
        }
        return waiter.get();
    }

    private void wake(String topic) {
        Topic known = topics.get(topic);
        if (known != null) {
            known.wake();
        }
    }

    private void send() {
        try {
            while (!closed) {
                Set<String> topics = new LinkedHashSet<>();
                topics.add(outgoing.take());
                outgoing.drainTo(topics);
                try {
                    database.query(handle -> handle.createQuery(
                                    "SELECT pg_notify(:channel, topic) FROM unnest(:topics) AS topic")
                            .bind("channel", CHANNEL)
                            .bindArray("topics", String.class, List.copyOf(topics))
                            .mapTo(String.class)
                            .list());
                } catch (SandboxException e) {
                    LOG.debug("could not tell other servers", e);
                }
            }
        } catch (InterruptedException e) {
            LOG.debug("no more signals are sent");
        }
    }

    /** Ends everybody's waiting. */
    @Override
    public void close() {
        closed = true;
        topics.values().forEach(all -> all.waiters.forEach(Waiter::end));
        incoming.close();
        sender.interrupt();
    }

    /** What some wait for, as long as anybody does. */
    private static final class Topic {
        private final Set<Waiter> waiters = ConcurrentHashMap.newKeySet();
        private final AtomicLong told = new AtomicLong();

        /** Counted first, so that nobody who was woken finds the old count. */
        private void wake() {
            told.incrementAndGet();
            waiters.forEach(Waiter::wake);
        }
    }

    /** One who waits. A signal that comes while he looks is not lost: he is woken at once when he waits again. */
    public final class Waiter implements AutoCloseable {
        private final String name;
        private final Topic topic;
        private final ReentrantLock lock = new ReentrantLock();
        private final Condition changed = lock.newCondition();
        private boolean woken;
        private boolean ended;

        private Waiter(String name, Topic topic) {
            this.name = name;
            this.topic = topic;
        }

        /** Waits for a signal, no longer than this; a signal since the last wait counts. */
        public void await(Duration patience) throws InterruptedException {
            lock.lock();
            try {
                long left = patience.toNanos();
                while (!woken && !ended && left > 0) {
                    left = changed.awaitNanos(left);
                }
                woken = false;
            } finally {
                lock.unlock();
            }
        }

        /** How many signals there were, for those who look for many and need not look again if there was none. */
        public long told() {
            return topic.told.get();
        }

        /** Whether there is no use in waiting any more, because this server stops. */
        public boolean ended() {
            lock.lock();
            try {
                return ended;
            } finally {
                lock.unlock();
            }
        }

        private void wake() {
            signal(false);
        }

        private void end() {
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
            topics.computeIfPresent(name, (_, all) -> {
                all.waiters.remove(this);
                return all.waiters.isEmpty() ? null : all;
            });
        }
    }
}
