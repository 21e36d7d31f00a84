package dev.berth.session;

import dev.berth.sandbox.SandboxException;
import dev.berth.session.store.Database;
import dev.berth.session.store.Notifications;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Wakes those who follow a session's events, in this server at once and in others by PostgreSQL's NOTIFY. That is sent
 * beside the transactions that write events and never in them, as it would make them wait for each other. One that is
 * lost costs time only: followers read the log, and look by themselves now and then.
 */
final class EventFeed implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(EventFeed.class);
    private static final String CHANNEL = "berth_events";
    private static final int QUEUE = 10_000;

    private final Database database;
    private final Map<SessionKey, Set<EventFollower>> followers = new ConcurrentHashMap<>();
    private final BlockingQueue<SessionKey> outgoing = new ArrayBlockingQueue<>(QUEUE);
    private final Notifications incoming;
    private final Thread sender;
    private volatile boolean closed;

    EventFeed(Database database) {
        this.database = database;
        this.incoming = database.listen(CHANNEL, new Notifications.Listener() {
            @Override
            public void told(String payload) {
                int slash = payload.indexOf('/');
                wake(SessionKey.of(payload.substring(0, slash), payload.substring(slash + 1)));
            }

            @Override
            public void missed() {
                wakeAll();
            }
        });
        this.sender = Thread.ofVirtual().name("event feed").start(this::send);
    }

    void add(EventFollower follower) {
        followers.compute(follower.key(), (_, there) -> {
            Set<EventFollower> all = there == null ? ConcurrentHashMap.newKeySet() : there;
            all.add(follower);
            return all;
        });
        if (closed) {
            follower.end();
        }
    }

    void remove(EventFollower follower) {
        followers.computeIfPresent(follower.key(), (_, all) -> {
            all.remove(follower);
            return all.isEmpty() ? null : all;
        });
    }

    /** To be called after events of a session were written, when they can be seen. */
    void wrote(SessionKey key) {
        wake(key);
        if (!outgoing.offer(key)) {
            LOG.debug("too many events at a time for other servers to be told of each");
        }
    }

    private void wake(SessionKey key) {
        followers.getOrDefault(key, Set.of()).forEach(EventFollower::wake);
    }

    private void wakeAll() {
        followers.values().forEach(all -> all.forEach(EventFollower::wake));
    }

    private void send() {
        try {
            while (!closed) {
                Set<SessionKey> keys = new LinkedHashSet<>();
                keys.add(outgoing.take());
                outgoing.drainTo(keys);
                List<String> payloads = new ArrayList<>();
                keys.forEach(key -> payloads.add(key.toString()));
                try {
                    database.query(
                            handle -> handle.createQuery("SELECT pg_notify(:channel, key) FROM unnest(:keys) AS key")
                                    .bind("channel", CHANNEL)
                                    .bindArray("keys", String.class, payloads)
                                    .mapTo(String.class)
                                    .list());
                } catch (SandboxException e) {
                    LOG.debug("could not tell other servers of events", e);
                }
            }
        } catch (InterruptedException e) {
            LOG.debug("the event feed ends");
        }
    }

    /** Ends every follower. */
    @Override
    public void close() {
        closed = true;
        followers.values().forEach(all -> all.forEach(EventFollower::end));
        incoming.close();
        sender.interrupt();
    }
}
