package dev.berth.channel;

import dev.berth.session.SessionKey;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jdbi.v3.core.Handle;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.json.JsonMapper;

/** The table {@code channel_notices}, and the events that become its rows. */
final class NoticeTable {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int PLACES = 2000;
    private static final int EVENTS = 50;
    private static final int AT_ONCE = 100;

    private NoticeTable() {}

    /** Something that happened in the session of a place. */
    record Happened(long seq, String type, Map<String, Object> data) {}

    /**
     * What is new in the session of a place.
     *
     * @param event empty if nothing in it has to be told
     */
    record News(long place, SessionKey key, long told, long last, Optional<Happened> event) {}

    record Due(
            long number, PlaceTable.Known place, String text, List<Board.Shown> files, int attempts, Instant since) {}

    /**
     * What happened in the sessions of all places since it was looked last, a few at a time. A file of a run that is shown
     * is on its board, unless it came when the run was over.
     */
    static List<News> news(Handle handle, Collection<String> channels) {
        return handle.createQuery("""
                        SELECT p.number, p.tenant, p.session, p.told_seq, p.last_seq, e.seq, e.type, e.data::text AS data
                        FROM (
                            SELECT c.number, c.tenant, c.session, c.told_seq, s.last_seq
                            FROM channel_places c JOIN sessions s ON s.tenant = c.tenant AND s.id = c.session
                            WHERE s.last_seq > c.told_seq AND c.channel = ANY (:channels)
                            -- Until it is known which run a message became part of, a file may be of that one.
                            AND NOT EXISTS (
                                SELECT FROM channel_messages m WHERE m.place = c.number AND m.state = 'saying')
                            ORDER BY c.last_activity DESC LIMIT :places
                        ) p LEFT JOIN LATERAL (
                            SELECT a.seq, a.type, a.data FROM events a
                            WHERE a.tenant = p.tenant AND a.session = p.session
                            AND a.seq > p.told_seq AND a.seq <= p.last_seq
                            AND (a.type = 'job.ended' OR a.type = 'artifact.made' AND NOT EXISTS (
                                SELECT FROM channel_deliveries d WHERE d.run = a.data ->> 'run_id' AND NOT EXISTS (
                                    SELECT FROM events r WHERE r.tenant = a.tenant AND r.session = a.session
                                    AND r.seq >= d.first_seq AND r.seq < a.seq
                                    AND r.type = 'run.end' AND r.data ->> 'run_id' = d.run)))
                            ORDER BY a.seq LIMIT :events
                        ) e ON true
                        ORDER BY p.number, e.seq""")
                .bindArray("channels", String.class, List.copyOf(channels))
                .bind("places", PLACES)
                .bind("events", EVENTS)
                .map((row, context) -> {
                    String type = row.getString("type");
                    return new News(
                            row.getLong("number"),
                            SessionKey.of(PlaceTable.text(row, "tenant"), PlaceTable.text(row, "session")),
                            row.getLong("told_seq"),
                            row.getLong("last_seq"),
                            type == null
                                    ? Optional.empty()
                                    : Optional.of(new Happened(
                                            row.getLong("seq"),
                                            type,
                                            JSON.readValue(
                                                    PlaceTable.text(row, "data"),
                                                    new TypeReference<Map<String, Object>>() {}))));
                })
                .list();
    }

    /** Up to where the news of one place go: all of them, or the last one if there may be more. */
    static long end(List<News> ofPlace) {
        return ofPlace.size() < EVENTS
                ? ofPlace.getFirst().last()
                : ofPlace.getLast()
                        .event()
                        .map(Happened::seq)
                        .orElse(ofPlace.getLast().last());
    }

    /** @return false if another server has looked meanwhile */
    static boolean looked(Handle handle, long place, long from, long to) {
        return handle.createUpdate(
                                "UPDATE channel_places SET told_seq = :to WHERE number = :place AND told_seq = :from")
                        .bind("place", place)
                        .bind("from", from)
                        .bind("to", to)
                        .execute()
                == 1;
    }

    /** The same for places in which nothing has to be told, all at once. */
    static void looked(Handle handle, List<News> nothing) {
        handle.createUpdate("""
                        UPDATE channel_places c SET told_seq = u.last
                        FROM unnest(:places, :told, :last) AS u (place, told, last)
                        WHERE c.number = u.place AND c.told_seq = u.told""")
                .bindArray(
                        "places", Long.class, nothing.stream().map(News::place).toList())
                .bindArray("told", Long.class, nothing.stream().map(News::told).toList())
                .bindArray("last", Long.class, nothing.stream().map(News::last).toList())
                .execute();
    }

    static void insert(Handle handle, long place, String text, List<Board.Shown> files) {
        handle.createUpdate("INSERT INTO channel_notices (place, text, files) VALUES (:place, :text, :files::jsonb)")
                .bind("place", place)
                .bind("text", text)
                .bind("files", JSON.writeValueAsString(files))
                .execute();
    }

    static List<Due> claim(Handle handle, Collection<String> channels, String owner, Duration lease) {
        return handle.createQuery("""
                        WITH n AS (
                            UPDATE channel_notices SET owner = :owner, attempts = attempts + 1,
                                lease_until = now() + :lease * interval '1 millisecond'
                            WHERE number IN (
                                SELECT o.number FROM channel_notices o JOIN channel_places ON channel_places.number = o.place
                                WHERE (lease_until IS NULL OR lease_until < now()) AND channel = ANY (:channels)
                                ORDER BY o.number LIMIT :most FOR UPDATE OF o SKIP LOCKED)
                            RETURNING *
                        )
                        SELECT n.number, n.text, n.files::text AS files, n.attempts, n.created_at,\s""" + PlaceTable.COLUMNS
                        + " FROM n JOIN channel_places p ON p.number = n.place ORDER BY n.number")
                .bind("owner", owner)
                .bind("lease", lease.toMillis())
                .bindArray("channels", String.class, List.copyOf(channels))
                .bind("most", AT_ONCE)
                .map((row, context) -> new Due(
                        row.getLong("number"),
                        PlaceTable.known(row),
                        PlaceTable.text(row, "text"),
                        JSON.readValue(PlaceTable.text(row, "files"), new TypeReference<List<Board.Shown>>() {}),
                        row.getInt("attempts"),
                        PlaceTable.time(row, "created_at")))
                .list();
    }

    static void told(Handle handle, long number) {
        handle.createUpdate("DELETE FROM channel_notices WHERE number = :number")
                .bind("number", number)
                .execute();
    }

    static void later(Handle handle, long number, Duration pause) {
        handle.createUpdate("""
                        UPDATE channel_notices
                        SET owner = NULL, lease_until = now() + :pause * interval '1 millisecond' WHERE number = :number""")
                .bind("number", number)
                .bind("pause", pause.toMillis())
                .execute();
    }

    static void renew(Handle handle, String owner, Collection<Long> numbers, Duration lease) {
        handle.createUpdate("""
                        UPDATE channel_notices SET lease_until = now() + :lease * interval '1 millisecond'
                        WHERE owner = :owner AND number = ANY (:numbers)""")
                .bind("owner", owner)
                .bindArray("numbers", Long.class, List.copyOf(numbers))
                .bind("lease", lease.toMillis())
                .execute();
    }
}
