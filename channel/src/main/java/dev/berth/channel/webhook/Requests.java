package dev.berth.channel.webhook;

import dev.berth.session.store.Database;
import java.time.Duration;

/** The ids of requests that were acted on, so that one that was overheard and sent again does nothing. */
record Requests(Database database) {
    /** Longer than a signature is good, on both sides of now. */
    private static final Duration KEPT = Duration.ofMinutes(30);

    /** @return false if it was there before */
    boolean first(String channel, String workspace, String id) {
        return database.transaction(handle -> {
            handle.createUpdate("DELETE FROM channel_requests WHERE at < now() - :kept * interval '1 millisecond'")
                    .bind("kept", KEPT.toMillis())
                    .execute();
            return handle.createUpdate("""
                                    INSERT INTO channel_requests (channel, workspace, id)
                                    VALUES (:channel, :workspace, :id) ON CONFLICT DO NOTHING""")
                            .bind("channel", channel)
                            .bind("workspace", workspace)
                            .bind("id", id)
                            .execute()
                    == 1;
        });
    }
}
