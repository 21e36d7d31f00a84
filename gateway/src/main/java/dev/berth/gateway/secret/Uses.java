package dev.berth.gateway.secret;

import dev.berth.session.store.Database;
import java.time.Instant;
import java.time.InstantSource;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jdbi.v3.core.statement.PreparedBatch;

/** Counts uses in memory, so that a request does not wait for the database, and writes them down from time to time. */
final class Uses {
    private record Name(String tenant, String secret) {}

    private record Count(long uses, Instant last) {
        Count plus(Count other) {
            return new Count(uses + other.uses, last.isAfter(other.last) ? last : other.last);
        }
    }

    private final Database database;
    private final InstantSource clock;
    /** Of secrets that are there, or were a moment ago: as many as there are secrets at most. */
    private final ConcurrentHashMap<Name, Count> counts = new ConcurrentHashMap<>();

    Uses(Database database, InstantSource clock) {
        this.database = database;
        this.clock = clock;
    }

    void add(String tenant, String secret) {
        counts.merge(new Name(tenant, secret), new Count(1, clock.instant()), Count::plus);
    }

    /** One at a time, so that what one has taken is written when another returns. */
    synchronized void write() {
        Map<Name, Count> taken = new HashMap<>();
        counts.keySet().forEach(name -> {
            Count count = counts.remove(name);
            if (count != null) {
                taken.put(name, count);
            }
        });
        if (taken.isEmpty()) {
            return;
        }
        boolean written = false;
        try {
            database.transaction(handle -> {
                PreparedBatch batch = handle.prepareBatch("""
                        UPDATE secrets SET uses = uses + :uses, last_used_at = greatest(last_used_at, :last)
                        WHERE tenant = :tenant AND name = :name""");
                // In one order everywhere, or two servers might wait for each other.
                taken.entrySet().stream()
                        .sorted(Map.Entry.comparingByKey(
                                Comparator.comparing(Name::tenant).thenComparing(Name::secret)))
                        .forEach(entry -> batch.bind("uses", entry.getValue().uses())
                                .bind(
                                        "last",
                                        OffsetDateTime.ofInstant(
                                                entry.getValue().last(), ZoneOffset.UTC))
                                .bind("tenant", entry.getKey().tenant())
                                .bind("name", entry.getKey().secret())
                                .add());
                return batch.execute();
            });
            written = true;
        } finally {
            if (!written) {
                taken.forEach((name, count) -> counts.merge(name, count, Count::plus));
            }
        }
    }
}
