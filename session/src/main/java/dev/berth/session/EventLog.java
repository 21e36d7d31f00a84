package dev.berth.session;

import dev.berth.sandbox.SandboxException;
import dev.berth.session.store.Database;
import dev.berth.session.store.Signals;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.PreparedBatch;
import org.jdbi.v3.core.statement.Query;
import org.slf4j.MDC;

/**
 * The events of every session, append-only, numbered without gaps. What changes a session's state writes its event in the
 * same statement; what happens in a live session is queued here and written in batches, so that a request neither waits
 * for the database nor fails with it. The queue is bounded: if the database is away for long, the events that found no
 * place are counted and reported.
 */
public final class EventLog implements AutoCloseable {
    private static final int QUEUE = 20_000;
    private static final int BATCH = 500;
    /** Events that come soon after one another are written together. */
    private static final Duration GATHERING = Duration.ofMillis(50);

    private static final int PAGE = 200;
    private static final long PAGE_CHARACTERS = 64 << 10;

    /** How many of those who are behind read at a time. */
    private static final int READING_OLD = 2;

    private static final Duration RETRY = Duration.ofSeconds(1);

    private record Pending(SessionKey key, SessionEvent event, Optional<String> correlation, OffsetDateTime at) {}

    private final Database database;
    private final Signals signals;
    private final Journal journal;
    private final boolean auditCommands;
    private final BlockingQueue<Pending> queue = new ArrayBlockingQueue<>(QUEUE);
    /** Of the sessions that somebody follows. */
    private final Map<SessionKey, EventTail> tails = new ConcurrentHashMap<>();

    private final Semaphore behind = new Semaphore(READING_OLD, true);
    private final Semaphore queued = new Semaphore(0);
    private final AtomicLong dropped = new AtomicLong();
    private final Thread writer;
    private volatile UnaryOperator<List<LoggedEvent>> details = UnaryOperator.identity();

    EventLog(Database database, Signals signals, Journal journal, boolean auditCommands) {
        this.database = database;
        this.signals = signals;
        this.journal = journal;
        this.auditCommands = auditCommands;
        this.writer = Thread.ofVirtual().name("event log").start(this::writeAsTheyCome);
    }

    /** The events of a session after a number as they come. */
    public EventFollower follow(SessionKey key, long after) {
        EventTail tail = tails.compute(key, (_, there) -> {
            EventTail shared = there == null ? new EventTail(this, key, signals.waiter(topic(key))) : there;
            shared.followers++;
            return shared;
        });
        return new EventFollower(tail, signals.waiter(topic(key)), after, () -> leave(key));
    }

    private void leave(SessionKey key) {
        tails.computeIfPresent(key, (_, tail) -> {
            tail.followers--;
            if (tail.followers > 0) {
                return tail;
            }
            tail.close();
            return null;
        });
    }

    /** The number of the last event of a session that can be read; 0 if there is none. */
    long last(SessionKey key) {
        return database.query(handle -> handle.createQuery(
                        "SELECT coalesce(max(seq), 0) FROM events WHERE tenant = :tenant AND session = :session")
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .mapTo(Long.class)
                .one());
    }

    /** What those wait for who follow a session's events. */
    static String topic(SessionKey key) {
        return "events/" + key;
    }

    /**
     * Has events completed when they are read, by what is too large to be written with them.
     *
     * @param completing may return fewer than it is given, from the first on, and has to return one at least
     */
    public void completedBy(UnaryOperator<List<LoggedEvent>> completing) {
        details = completing;
    }

    /** The events of a session after a number, in order. Those still queued in a server come later. */
    public List<LoggedEvent> read(SessionKey key, long after, int limit) {
        return details.apply(
                database.query(handle -> events(handle.createQuery("""
                                SELECT seq, at, type, actor, correlation, data::text AS data FROM events
                                WHERE tenant = :tenant AND session = :session AND seq > :after ORDER BY seq LIMIT :limit""").bind("limit", limit), key, after)));
    }

    /** As many of the next events as may be kept in memory for somebody slow; at least one, if there is one. */
    List<LoggedEvent> page(SessionKey key, long after) {
        // One by one, as those that are not wanted may be large and would be unpacked all the same.
        return details.apply(database.query(handle ->
                events(handle.createQuery("""
                                WITH RECURSIVE page (seq, at, type, actor, correlation, data, events, characters) AS (
                                    (SELECT seq, at, type, actor, correlation, data::text, 1, length(data::text) FROM events
                                        WHERE tenant = :tenant AND session = :session AND seq > :after ORDER BY seq LIMIT 1)
                                    UNION ALL
                                    SELECT next.seq, next.at, next.type, next.actor, next.correlation, next.data,
                                            page.events + 1, page.characters + length(next.data)
                                        FROM page CROSS JOIN LATERAL (
                                            SELECT seq, at, type, actor, correlation, data::text AS data FROM events
                                            WHERE tenant = :tenant AND session = :session AND seq > page.seq
                                            ORDER BY seq LIMIT 1
                                        ) AS next WHERE page.events < :limit AND page.characters < :characters
                                )
                                SELECT * FROM page ORDER BY seq""").bind("limit", PAGE).bind("characters", PAGE_CHARACTERS), key, after)));
    }

    /** The same for somebody who is behind. There may be many of them, who must not take every connection. */
    List<LoggedEvent> pageOfOld(SessionKey key, long after) {
        behind.acquireUninterruptibly();
        try {
            return page(key, after);
        } finally {
            behind.release();
        }
    }

    private static List<LoggedEvent> events(Query query, SessionKey key, long after) {
        return query.bind("tenant", key.tenant())
                .bind("session", key.id())
                .bind("after", after)
                .map((row, context) -> new LoggedEvent(
                        row.getLong("seq"),
                        row.getObject("at", OffsetDateTime.class).toInstant(),
                        row.getString("type"),
                        row.getString("actor"),
                        Optional.ofNullable(row.getString("correlation")),
                        Json.map(row.getString("data"))))
                .list();
    }

    /** Queues an event; it is written soon. */
    public void append(SessionKey key, SessionEvent event) {
        Pending pending = new Pending(
                key, event, Optional.ofNullable(MDC.get(SessionTable.CORRELATION)), OffsetDateTime.now(ZoneOffset.UTC));
        if (queue.offer(pending)) {
            queued.release();
        } else {
            dropped.incrementAndGet();
        }
    }

    /** Tells those who follow a session that an event was written to it by {@link #append(Handle, SessionKey, SessionEvent)}. */
    public void wrote(SessionKey key) {
        signals.tell(topic(key));
    }

    private void writeAsTheyCome() {
        boolean failing = false;
        try {
            while (true) {
                queued.acquire();
                Thread.sleep(failing ? RETRY : GATHERING);
                queued.drainPermits();
                try {
                    flush();
                    if (failing) {
                        journal.over("events.failed");
                        failing = false;
                    }
                } catch (SandboxException e) {
                    // Said once: a database that is down for an hour should not fill the log with it.
                    if (!failing) {
                        journal.trouble("events.failed", e);
                        failing = true;
                    }
                    queued.release();
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    void record(SessionKey key, Session.Run run) {
        Map<String, Object> data = new HashMap<>();
        data.put("what", run.what());
        data.put("duration_ms", run.duration().toMillis());
        run.exitCode().ifPresent(code -> data.put("exit_code", code));
        if (auditCommands) {
            run.commandText().ifPresent(text -> data.put("command", text));
        }
        append(key, new SessionEvent("tool.run", run.actor(), data));
    }

    /** Writes what is queued now. What cannot be written stays queued. */
    synchronized void flush() {
        while (!queue.isEmpty()) {
            List<Pending> batch = new ArrayList<>(BATCH);
            queue.drainTo(batch, BATCH);
            try {
                database.transaction(handle -> write(handle, batch));
            } catch (SandboxException e) {
                batch.stream().filter(pending -> !queue.offer(pending)).forEach(_ -> dropped.incrementAndGet());
                throw e;
            }
            batch.stream().map(Pending::key).distinct().forEach(this::wrote);
        }
        long lost = dropped.getAndSet(0);
        if (lost > 0) {
            throw SandboxException.limit(lost + " events were not written, because the database was away for too long");
        }
    }

    /** Writes what is queued, if that can be done at once, and ends. */
    @Override
    public void close() {
        writer.interrupt();
        flush();
    }

    private static Object write(Handle handle, List<Pending> batch) {
        // Sorted, so that two servers that write to the same sessions lock their rows in the same order.
        List<Pending> sorted = new ArrayList<>(batch);
        sorted.sort((a, b) -> a.key().toString().compareTo(b.key().toString()));
        PreparedBatch statements = handle.prepareBatch("""
                WITH numbered AS (
                    UPDATE sessions SET last_seq = last_seq + 1 WHERE tenant = :tenant AND id = :session
                    RETURNING last_seq
                )
                INSERT INTO events (tenant, session, seq, at, type, actor, correlation, data)
                SELECT :tenant, :session, last_seq, :at, :type, :actor, :correlation, :data::jsonb FROM numbered""");
        for (Pending pending : sorted) {
            statements
                    .bind("tenant", pending.key().tenant())
                    .bind("session", pending.key().id())
                    .bind("at", pending.at())
                    .bind("type", pending.event().type())
                    .bind("actor", pending.event().actor())
                    .bind("correlation", pending.correlation().orElse(null))
                    .bind("data", Json.write(pending.event().data()))
                    .add();
        }
        statements.execute();
        return sorted;
    }

    /** Appends within a transaction of the caller's, who tells of it {@linkplain #wrote afterwards}. Returns its number. */
    public static long append(Handle handle, SessionKey key, SessionEvent event) {
        return handle.createQuery("""
                        WITH numbered AS (
                            UPDATE sessions SET last_seq = last_seq + 1 WHERE tenant = :tenant AND id = :session
                            RETURNING last_seq
                        )
                        INSERT INTO events (tenant, session, seq, type, actor, correlation, data)
                        SELECT :tenant, :session, last_seq, :type, :actor, :correlation, :data::jsonb FROM numbered
                        RETURNING seq""")
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .bind("type", event.type())
                .bind("actor", event.actor())
                .bind("correlation", MDC.get(SessionTable.CORRELATION))
                .bind("data", Json.write(event.data()))
                .mapTo(Long.class)
                .one();
    }
}
