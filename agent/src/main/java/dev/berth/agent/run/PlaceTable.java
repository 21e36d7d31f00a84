package dev.berth.agent.run;

import dev.berth.session.SessionKey;
import java.io.ByteArrayOutputStream;
import java.util.Optional;
import org.jdbi.v3.core.Handle;

/** The tables {@code agent_places} and {@code agent_transcripts}. */
final class PlaceTable {
    private PlaceTable() {}

    /**
     * Where the agent of a session has come to.
     *
     * @param setup a hash of what it was started with
     * @param discard whether it is to forget everything before it is used again
     */
    record AgentPlace(
            String runtime, String setup, String conversation, long position, boolean busy, boolean discard) {}

    static Optional<AgentPlace> find(Handle handle, SessionKey key) {
        return handle.createQuery("SELECT runtime, setup, conversation, position, busy, discard FROM agent_places"
                        + " WHERE tenant = :tenant AND session = :session")
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .map((row, _) -> new AgentPlace(
                        row.getString("runtime"),
                        row.getString("setup"),
                        row.getString("conversation"),
                        row.getLong("position"),
                        row.getBoolean("busy"),
                        row.getBoolean("discard")))
                .findOne();
    }

    /** One that was just started. */
    static int begin(Handle handle, SessionKey key, String runtime, String setup, String conversation) {
        return handle.createUpdate("""
                        INSERT INTO agent_places (tenant, session, runtime, setup, conversation)
                        VALUES (:tenant, :session, :runtime, :setup, :conversation)
                        ON CONFLICT (tenant, session) DO UPDATE SET runtime = excluded.runtime, setup = excluded.setup,
                            conversation = excluded.conversation, position = 0, busy = false, discard = false""")
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .bind("runtime", runtime)
                .bind("setup", setup)
                .bind("conversation", conversation)
                .execute();
    }

    static void progress(Handle handle, SessionKey key, long position, boolean busy) {
        handle.createUpdate("UPDATE agent_places SET position = :position, busy = :busy"
                        + " WHERE tenant = :tenant AND session = :session")
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .bind("position", position)
                .bind("busy", busy)
                .execute();
    }

    /** Has its agent forget everything, now as far as it is written here, and later what the sandbox has. */
    static void discard(Handle handle, SessionKey key) {
        handle.createUpdate("UPDATE agent_places SET discard = true, position = 0, busy = false"
                        + " WHERE tenant = :tenant AND session = :session")
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .execute();
        forgetTranscript(handle, key);
    }

    static int remove(Handle handle, SessionKey key) {
        return handle.createUpdate("DELETE FROM agent_places WHERE tenant = :tenant AND session = :session")
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .execute();
    }

    // ---- transcripts ---------------------------------------------------------------------------------------------

    static long transcriptSize(Handle handle, SessionKey key) {
        return handle.createQuery("SELECT coalesce(max(from_byte + length(data)), 0) FROM agent_transcripts"
                        + " WHERE tenant = :tenant AND session = :session")
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .mapTo(Long.class)
                .one();
    }

    static byte[] transcript(Handle handle, SessionKey key) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        handle.createQuery("SELECT data FROM agent_transcripts WHERE tenant = :tenant AND session = :session"
                        + " ORDER BY from_byte")
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .map((row, _) -> row.getBytes("data"))
                .forEach(all::writeBytes);
        return all.toByteArray();
    }

    static int addTranscript(Handle handle, SessionKey key, long from, byte[] data) {
        return handle.createUpdate("""
                        INSERT INTO agent_transcripts (tenant, session, from_byte, data)
                        VALUES (:tenant, :session, :from, :data) ON CONFLICT DO NOTHING""")
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .bind("from", from)
                .bind("data", data)
                .execute();
    }

    static int forgetTranscript(Handle handle, SessionKey key) {
        return handle.createUpdate("DELETE FROM agent_transcripts WHERE tenant = :tenant AND session = :session")
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .execute();
    }
}
