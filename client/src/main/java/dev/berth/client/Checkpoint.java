package dev.berth.client;

import java.time.Instant;

/**
 * A point in time that a session's files can be put back to.
 *
 * @param turn what to say to go back to it
 */
public record Checkpoint(long turn, String name, Instant createdAt, Json json) {
    static Checkpoint of(Json json) {
        return new Checkpoint(
                json.get("turn").whole(),
                json.get("name").text(),
                json.get("created_at").time().orElse(Instant.EPOCH),
                json);
    }
}
