package dev.berth.channel;

import dev.berth.session.SessionKey;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.Query;

/** The table {@code channel_places}. */
final class PlaceTable {
    static final String COLUMNS = "p.number AS place, p.channel, p.workspace, p.room, p.thread, p.tenant, p.session";

    private PlaceTable() {}

    /** A conversation that has begun. */
    record Known(long number, Place place, SessionKey key) {}

    /** Writes down that somebody says something there, perhaps for the first time. */
    static Known touch(Handle handle, Place place, String tenant, String title, Person person) {
        return bind(handle.createQuery("""
                        INSERT INTO channel_places AS p
                            (channel, workspace, room, thread, tenant, session, title, created_by, told_seq)
                        VALUES (:channel, :workspace, :room, :thread, :tenant, :session, :title, :person, coalesce((
                            SELECT last_seq FROM sessions WHERE tenant = :tenant AND id = :session), 0))
                        ON CONFLICT (channel, workspace, room, thread) DO UPDATE SET last_activity = now()
                        RETURNING\s""" + COLUMNS), place)
                .bind("tenant", tenant)
                .bind("session", place.session())
                .bind("title", title)
                .bind("person", person.id())
                .map((row, context) -> known(row))
                .one();
    }

    static Optional<Known> find(Handle handle, Place place) {
        return bind(handle.createQuery("SELECT " + COLUMNS + " " + """
                        FROM channel_places p
                        WHERE channel = :channel AND workspace = :workspace AND room = :room AND thread = :thread"""), place)
                .map((row, context) -> known(row))
                .findOne();
    }

    /** The last used conversation of a room. */
    static Optional<Known> lastOfRoom(Handle handle, Place place) {
        return handle.createQuery("SELECT " + COLUMNS + " " + """
                        FROM channel_places p WHERE channel = :channel AND workspace = :workspace AND room = :room
                        ORDER BY last_activity DESC LIMIT 1""")
                .bind("channel", place.channel())
                .bind("workspace", place.workspace())
                .bind("room", place.room())
                .map((row, context) -> known(row))
                .findOne();
    }

    /** Those that a person has said something in, the last used first. */
    static List<Inbox.Overview> of(Handle handle, String channel, String workspace, Person person, int limit) {
        return handle.createQuery("SELECT " + COLUMNS + """
                        , title, last_activity,
                            CASE WHEN EXISTS (
                                SELECT FROM channel_deliveries d WHERE d.place = p.number AND d.state = 'open'
                            ) THEN 'working' ELSE coalesce((
                                SELECT state FROM sessions s WHERE s.tenant = p.tenant AND s.id = p.session), 'new'
                            ) END AS state
                        FROM channel_places p WHERE channel = :channel AND workspace = :workspace
                        AND (created_by = :person OR EXISTS (
                            SELECT FROM channel_messages m WHERE m.place = p.number AND m.person_id = :person))
                        ORDER BY last_activity DESC LIMIT :limit""")
                .bind("channel", channel)
                .bind("workspace", workspace)
                .bind("person", person.id())
                .bind("limit", limit)
                .map((row, context) -> new Inbox.Overview(
                        place(row), text(row, "title"), text(row, "state"), time(row, "last_activity")))
                .list();
    }

    /** Whether somebody waits there for what comes of a message. */
    static boolean busy(Handle handle, long place) {
        return handle.createQuery("""
                        SELECT EXISTS (SELECT FROM channel_deliveries
                                WHERE place = :place AND state = 'open' AND failure IS NULL)
                            OR EXISTS (SELECT FROM channel_messages
                                WHERE place = :place AND state IN ('received', 'saying'))""").bind("place", place).mapTo(Boolean.class).one();
    }

    /** The number of the last event of a session, 0 if it is not there yet. */
    static long lastEvent(Handle handle, SessionKey key) {
        return handle.createQuery("SELECT last_seq FROM sessions WHERE tenant = :tenant AND id = :session")
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .mapTo(Long.class)
                .findOne()
                .orElse(0L);
    }

    private static Query bind(Query query, Place place) {
        return query.bind("channel", place.channel())
                .bind("workspace", place.workspace())
                .bind("room", place.room())
                .bind("thread", place.thread());
    }

    static Known known(ResultSet row) throws SQLException {
        return new Known(row.getLong("place"), place(row), SessionKey.of(text(row, "tenant"), text(row, "session")));
    }

    private static Place place(ResultSet row) throws SQLException {
        return new Place(text(row, "channel"), text(row, "workspace"), text(row, "room"), text(row, "thread"));
    }

    static String text(ResultSet row, String column) throws SQLException {
        return Objects.requireNonNull(row.getString(column), column);
    }

    static Instant time(ResultSet row, String column) throws SQLException {
        return Objects.requireNonNull(row.getObject(column, OffsetDateTime.class), column)
                .toInstant();
    }
}
