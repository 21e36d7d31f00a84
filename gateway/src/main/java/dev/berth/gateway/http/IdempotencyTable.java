package dev.berth.gateway.http;

import dev.berth.gateway.auth.Caller;
import dev.berth.gateway.config.SealedColumn;
import dev.berth.gateway.config.Sealer;
import dev.berth.session.store.Database;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The table {@code idempotency_keys}. Each step is one statement that only one can win. */
final class IdempotencyTable {
    /** A key as its owner means it; the operator's are apart from those of the tenant that he is otherwise. */
    record Name(String tenant, boolean operator, String key) {
        static Name of(Caller caller, String key) {
            return new Name(caller.tenant(), caller.admin(), key);
        }
    }

    /** @param answer empty while it runs */
    record Row(byte[] request, Optional<Kept> answer) {}

    /** What was answered. */
    record Kept(int status, String contentType, String body) {}

    static final SealedColumn SEALED = new SealedColumn(
            "idempotency_keys",
            List.of("tenant", "operator", "run", "key"),
            "answer",
            key -> place(
                    new Name(key.get(0), Boolean.parseBoolean(key.get(1)), key.get(3)), UUID.fromString(key.get(2))));

    private final Database database;
    private final Sealer sealer;

    IdempotencyTable(Database database, Sealer sealer) {
        this.database = database;
        this.sealer = sealer;
    }

    /** Whether this run is the one to answer the request, until its lease is over. */
    boolean claim(Name name, byte[] request, UUID run, Duration lease, Duration kept) {
        return database.query(handle -> handle.createUpdate("""
                                INSERT INTO idempotency_keys AS there (tenant, operator, key, request, run, running_until)
                                VALUES (:tenant, :operator, :key, :request, :run, now() + :lease * interval '1 millisecond')
                                ON CONFLICT (tenant, operator, key) DO UPDATE
                                    SET request = excluded.request, run = excluded.run, made_at = now(),
                                        running_until = excluded.running_until,
                                        status = NULL, content_type = NULL, answer = NULL
                                    WHERE (there.status IS NULL AND there.running_until < now()
                                            AND there.request = excluded.request)
                                        OR (there.made_at < now() - :kept * interval '1 millisecond'
                                            AND (there.status IS NOT NULL OR there.running_until < now()))""")
                        .bind("tenant", name.tenant())
                        .bind("operator", name.operator())
                        .bind("key", name.key())
                        .bind("request", request)
                        .bind("run", run)
                        .bind("lease", lease.toMillis())
                        .bind("kept", kept.toMillis())
                        .execute())
                == 1;
    }

    Optional<Row> find(Name name) {
        return database.query(handle -> handle.createQuery("""
                        SELECT * FROM idempotency_keys
                        WHERE tenant = :tenant AND operator = :operator AND key = :key""")
                .bind("tenant", name.tenant())
                .bind("operator", name.operator())
                .bind("key", name.key())
                .map((row, _) -> row(name, row))
                .findOne());
    }

    void renew(Collection<UUID> runs, Duration lease) {
        database.query(handle -> handle.createUpdate("""
                        UPDATE idempotency_keys SET running_until = now() + :lease * interval '1 millisecond'
                        WHERE run = ANY(:runs) AND status IS NULL""")
                .bind("lease", lease.toMillis())
                .bindArray("runs", UUID.class, runs.toArray())
                .execute());
    }

    void keep(Name name, UUID run, Kept answer) {
        database.query(handle -> handle.createUpdate("""
                        UPDATE idempotency_keys SET status = :status, content_type = :type, answer = :answer
                        WHERE tenant = :tenant AND operator = :operator AND key = :key AND run = :run""")
                .bind("status", answer.status())
                .bind("type", answer.contentType())
                .bind("answer", sealer.seal(place(name, run), answer.body()))
                .bind("tenant", name.tenant())
                .bind("operator", name.operator())
                .bind("key", name.key())
                .bind("run", run)
                .execute());
    }

    /** As if the request had never been made. */
    void release(Name name, UUID run) {
        database.query(handle -> handle.createUpdate("""
                        DELETE FROM idempotency_keys
                        WHERE tenant = :tenant AND operator = :operator AND key = :key AND run = :run""")
                .bind("tenant", name.tenant())
                .bind("operator", name.operator())
                .bind("key", name.key())
                .bind("run", run)
                .execute());
    }

    void forget(Duration age) {
        database.query(
                handle -> handle.createUpdate("""
                        DELETE FROM idempotency_keys WHERE made_at < now() - :age * interval '1 millisecond'
                            AND (status IS NOT NULL OR running_until < now())""").bind("age", age.toMillis()).execute());
    }

    private Row row(Name name, ResultSet row) throws SQLException {
        byte @Nullable [] answer = row.getBytes("answer");
        return new Row(
                Objects.requireNonNull(row.getBytes("request")),
                answer == null
                        ? Optional.empty()
                        : Optional.of(new Kept(
                                row.getInt("status"),
                                Objects.requireNonNull(row.getString("content_type")),
                                sealer.open(
                                        place(name, Objects.requireNonNull(row.getObject("run", UUID.class))),
                                        answer))));
    }

    private static String place(Name name, UUID run) {
        return "idempotency/" + name.tenant() + "/" + name.operator() + "/" + run + "/" + name.key();
    }
}
