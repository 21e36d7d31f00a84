package dev.berth.gateway.egress;

import dev.berth.session.SessionKey;
import dev.berth.session.store.Database;
import java.util.HashMap;
import java.util.Map;
import org.jdbi.v3.core.statement.PreparedBatch;

/**
 * How many bytes each conversation has carried over its network in all, also by servers before and beside this one: the
 * table {@code egress_traffic}. What is counted here is added to it every few seconds.
 */
final class Traffic {
    private record Bytes(long sent, long received) {
        Bytes plus(Bytes more) {
            return new Bytes(sent + more.sent, received + more.received);
        }
    }

    private final Database database;
    /** What is not in the table yet. Guarded by itself. */
    private final Map<SessionKey, Bytes> unwritten = new HashMap<>();

    Traffic(Database database) {
        this.database = database;
    }

    /** Does not wait for the database. */
    void add(SessionKey session, long sent, long received) {
        if (sent > 0 || received > 0) {
            synchronized (unwritten) {
                unwritten.merge(session, new Bytes(sent, received), Bytes::plus);
            }
        }
    }

    /** In both directions. Waits while something is written, so that nothing is missed or counted twice. */
    synchronized long carried(SessionKey session) {
        long written = database.query(handle -> handle.createQuery(
                        "SELECT sent + received FROM egress_traffic WHERE tenant = :tenant AND session = :session")
                .bind("tenant", session.tenant())
                .bind("session", session.id())
                .mapTo(Long.class)
                .findOne()
                .orElse(0L));
        synchronized (unwritten) {
            Bytes more = unwritten.getOrDefault(session, new Bytes(0, 0));
            return written + more.sent + more.received;
        }
    }

    /** Writes what is known only here. What cannot be written is kept for the next time. */
    synchronized void flush() {
        Map<SessionKey, Bytes> taken;
        synchronized (unwritten) {
            taken = new HashMap<>(unwritten);
            unwritten.clear();
        }
        if (taken.isEmpty()) {
            return;
        }
        try {
            write(taken);
        } catch (RuntimeException e) {
            taken.forEach((session, bytes) -> add(session, bytes.sent, bytes.received));
            throw e;
        }
    }

    private void write(Map<SessionKey, Bytes> added) {
        database.transaction(handle -> {
            PreparedBatch statements = handle.prepareBatch("""
                    INSERT INTO egress_traffic (tenant, session, sent, received)
                    VALUES (:tenant, :session, :sent, :received)
                    ON CONFLICT (tenant, session) DO UPDATE SET sent = egress_traffic.sent + excluded.sent,
                        received = egress_traffic.received + excluded.received, updated_at = now()""");
            // Sorted, so that two servers that write the same rows lock them in the same order.
            added.entrySet().stream()
                    .sorted((a, b) -> a.getKey().toString().compareTo(b.getKey().toString()))
                    .forEach(entry -> statements
                            .bind("tenant", entry.getKey().tenant())
                            .bind("session", entry.getKey().id())
                            .bind("sent", entry.getValue().sent)
                            .bind("received", entry.getValue().received)
                            .add());
            return statements.execute();
        });
    }
}
