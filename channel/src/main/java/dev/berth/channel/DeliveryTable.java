package dev.berth.channel;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import org.jdbi.v3.core.Handle;
import org.jspecify.annotations.Nullable;

/** The table {@code channel_deliveries}. */
final class DeliveryTable {
    private static final int AT_ONCE = 500;
    private static final String COLUMNS = "d.run, d.reply, d.requester_id, d.requester_name, d.memo, d.first_seq,"
            + " d.failure, d.created_at AS since, " + PlaceTable.COLUMNS;

    private DeliveryTable() {}

    /**
     * A run that is to be shown.
     *
     * @param failure why there is no run, if there is none
     */
    record Open(
            String run,
            PlaceTable.Known place,
            String reply,
            Person requester,
            String memo,
            long firstEvent,
            Optional<String> failure,
            Instant since) {}

    /** @return empty if it is shown already */
    static Optional<Open> insert(
            Handle handle,
            String run,
            long firstEvent,
            @Nullable String failure,
            MessageTable.Waiting message,
            String owner,
            Duration lease) {
        return handle.createQuery("""
                        WITH d AS (
                            INSERT INTO channel_deliveries
                                (run, place, reply, requester_id, requester_name, first_seq, failure, owner, lease_until)
                            VALUES (:run, :place, :reply, :person, :name, :first, :failure, :owner,
                                now() + :lease * interval '1 millisecond')
                            ON CONFLICT (run) DO NOTHING RETURNING *
                        )
                        SELECT\s""" + COLUMNS + " FROM d JOIN channel_places p ON p.number = d.place")
                .bind("run", run)
                .bind("place", message.place().number())
                .bind("reply", message.reply())
                .bind("person", message.person().id())
                .bind("name", message.person().name())
                .bind("first", firstEvent)
                .bind("failure", failure)
                .bind("owner", owner)
                .bind("lease", lease.toMillis())
                .map((row, context) -> open(row))
                .findOne();
    }

    /** Takes what nobody shows, or whoever did is gone. */
    static List<Open> claim(Handle handle, Collection<String> channels, String owner, Duration lease) {
        return handle.createQuery("""
                        WITH d AS (
                            UPDATE channel_deliveries
                            SET owner = :owner, lease_until = now() + :lease * interval '1 millisecond'
                            WHERE run IN (
                                SELECT run FROM channel_deliveries o JOIN channel_places ON channel_places.number = o.place
                                WHERE state = 'open' AND (lease_until IS NULL OR lease_until < now())
                                AND channel = ANY (:channels) ORDER BY o.created_at LIMIT :most
                                FOR UPDATE OF o SKIP LOCKED)
                            RETURNING *
                        )
                        SELECT\s""" + COLUMNS + " FROM d JOIN channel_places p ON p.number = d.place")
                .bind("owner", owner)
                .bind("lease", lease.toMillis())
                .bindArray("channels", String.class, List.copyOf(channels))
                .bind("most", AT_ONCE)
                .map((row, context) -> open(row))
                .list();
    }

    private static Open open(ResultSet row) throws SQLException {
        return new Open(
                PlaceTable.text(row, "run"),
                PlaceTable.known(row),
                PlaceTable.text(row, "reply"),
                new Person(PlaceTable.text(row, "requester_id"), PlaceTable.text(row, "requester_name")),
                PlaceTable.text(row, "memo"),
                row.getLong("first_seq"),
                Optional.ofNullable(row.getString("failure")),
                PlaceTable.time(row, "since"));
    }

    /** Keeps what the channel wants to know. @return false if another server shows this by now */
    static boolean shown(Handle handle, String run, String owner, String memo, String state) {
        return handle.createUpdate("""
                                UPDATE channel_deliveries SET memo = :memo, state = :state,
                                    ended_at = CASE WHEN :state = 'open' THEN NULL ELSE now() END
                                WHERE run = :run AND owner = :owner AND state = 'open'""")
                        .bind("run", run)
                        .bind("owner", owner)
                        .bind("memo", memo)
                        .bind("state", state)
                        .execute()
                == 1;
    }

    static void renew(Handle handle, String owner, Collection<String> runs, Duration lease) {
        handle.createUpdate("""
                        UPDATE channel_deliveries SET lease_until = now() + :lease * interval '1 millisecond'
                        WHERE owner = :owner AND state = 'open' AND run = ANY (:runs)""")
                .bind("owner", owner)
                .bind("lease", lease.toMillis())
                .bindArray("runs", String.class, List.copyOf(runs))
                .execute();
    }

    static void release(Handle handle, String owner) {
        handle.createUpdate("""
                        UPDATE channel_deliveries SET owner = NULL, lease_until = NULL
                        WHERE owner = :owner AND state = 'open'""").bind("owner", owner).execute();
    }

    static void forget(Handle handle, Duration age) {
        handle.createUpdate("DELETE FROM channel_deliveries WHERE ended_at < now() - :age * interval '1 millisecond'")
                .bind("age", age.toMillis())
                .execute();
    }
}
