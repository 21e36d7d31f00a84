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
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.json.JsonMapper;

/** The table {@code channel_messages}. */
final class MessageTable {
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private MessageTable() {}

    /**
     * A file that came with a message. It was stored, or could not be; if neither is known yet, both are null.
     *
     * @param path in the workspace
     * @param error why it is not there
     */
    record Given(
            String name, @Nullable String path, @Nullable String error) {
        boolean settled() {
            return path != null || error != null;
        }
    }

    /**
     * A message that has not been said yet, as far as is known.
     *
     * @param saying whether a server was about to say it, and may have
     * @param after the last event before that
     */
    record Waiting(
            long number,
            PlaceTable.Known place,
            Person person,
            String text,
            String reply,
            List<Given> files,
            boolean saying,
            long after,
            Instant receivedAt) {}

    static boolean known(Handle handle, Incoming message) {
        return handle.createQuery("""
                        SELECT EXISTS (SELECT FROM channel_messages
                            WHERE channel = :channel AND workspace = :workspace AND id = :id)""")
                .bind("channel", message.place().channel())
                .bind("workspace", message.place().workspace())
                .bind("id", message.id())
                .mapTo(Boolean.class)
                .one();
    }

    /** @return its number; empty if it came before */
    static Optional<Long> insert(Handle handle, long place, Incoming message, String owner, Duration lease) {
        List<Given> files = message.attachments().stream()
                .map(attachment -> new Given(Plain.line(attachment.name(), 200), null, null))
                .toList();
        return handle.createQuery("""
                        INSERT INTO channel_messages (channel, workspace, id, place, person_id, person_name, text, reply,
                            attachments, owner, lease_until)
                        VALUES (:channel, :workspace, :id, :place, :person, :name, :text, :reply, :files::jsonb, :owner,
                            now() + :lease * interval '1 millisecond')
                        ON CONFLICT DO NOTHING RETURNING number""")
                .bind("channel", message.place().channel())
                .bind("workspace", message.place().workspace())
                .bind("id", message.id())
                .bind("place", place)
                .bind("person", message.person().id())
                .bind("name", message.person().name())
                .bind("text", message.text())
                .bind("reply", message.reply())
                .bind("files", JSON.writeValueAsString(files))
                .bind("owner", owner)
                .bind("lease", lease.toMillis())
                .mapTo(Long.class)
                .findOne();
    }

    /** The oldest one of a place that this server has to say. */
    static Optional<Waiting> next(Handle handle, long place, String owner) {
        return handle.createQuery("SELECT m.*, " + PlaceTable.COLUMNS + " " + """
                        FROM channel_messages m JOIN channel_places p ON p.number = m.place
                        WHERE m.place = :place AND m.owner = :owner AND m.state IN ('received', 'saying')
                        ORDER BY m.number LIMIT 1""")
                .bind("place", place)
                .bind("owner", owner)
                .map((row, context) -> waiting(row))
                .findOne();
    }

    private static Waiting waiting(ResultSet row) throws SQLException {
        return new Waiting(
                row.getLong("number"),
                PlaceTable.known(row),
                new Person(PlaceTable.text(row, "person_id"), PlaceTable.text(row, "person_name")),
                PlaceTable.text(row, "text"),
                PlaceTable.text(row, "reply"),
                JSON.readValue(PlaceTable.text(row, "attachments"), new TypeReference<List<Given>>() {}),
                PlaceTable.text(row, "state").equals("saying"),
                row.getLong("saying_seq"),
                PlaceTable.time(row, "created_at"));
    }

    static void files(Handle handle, long number, List<Given> files) {
        handle.createUpdate("UPDATE channel_messages SET attachments = :files::jsonb WHERE number = :number")
                .bind("files", JSON.writeValueAsString(files))
                .bind("number", number)
                .execute();
    }

    /** Writes down that it is about to be said, if it is still this server's. */
    static boolean saying(Handle handle, long number, String owner, long after) {
        return handle.createUpdate("""
                                UPDATE channel_messages SET state = 'saying', saying_seq = :after
                                WHERE number = :number AND owner = :owner AND state IN ('received', 'saying')""")
                        .bind("number", number)
                        .bind("owner", owner)
                        .bind("after", after)
                        .execute()
                == 1;
    }

    static boolean settled(Handle handle, long number, String state) {
        return handle.createUpdate("""
                                UPDATE channel_messages SET state = :state, text = '', attachments = '[]'
                                WHERE number = :number AND state IN ('received', 'saying')""")
                        .bind("number", number)
                        .bind("state", state)
                        .execute()
                == 1;
    }

    static void renew(Handle handle, String owner, Duration lease) {
        handle.createUpdate("""
                        UPDATE channel_messages SET lease_until = now() + :lease * interval '1 millisecond'
                        WHERE owner = :owner AND state IN ('received', 'saying')""")
                .bind("owner", owner)
                .bind("lease", lease.toMillis())
                .execute();
    }

    /** Takes what servers that are gone have left, and returns the places where this one has something to say. */
    static List<Long> claim(Handle handle, Collection<String> channels, String owner, Duration lease) {
        handle.createUpdate("""
                        UPDATE channel_messages SET owner = :owner, lease_until = now() + :lease * interval '1 millisecond'
                        WHERE state IN ('received', 'saying') AND lease_until < now() AND channel = ANY (:channels)""")
                .bind("owner", owner)
                .bind("lease", lease.toMillis())
                .bindArray("channels", String.class, List.copyOf(channels))
                .execute();
        return handle.createQuery("""
                        SELECT DISTINCT place FROM channel_messages
                        WHERE owner = :owner AND state IN ('received', 'saying')""").bind("owner", owner).mapTo(Long.class).list();
    }

    static void release(Handle handle, String owner) {
        handle.createUpdate("""
                        UPDATE channel_messages SET lease_until = now() - interval '1 second'
                        WHERE owner = :owner AND state IN ('received', 'saying')""").bind("owner", owner).execute();
    }

    static void forget(Handle handle, Duration age) {
        handle.createUpdate("""
                        DELETE FROM channel_messages WHERE created_at < now() - :age * interval '1 millisecond'
                        AND state IN ('said', 'failed')""").bind("age", age.toMillis()).execute();
    }
}
