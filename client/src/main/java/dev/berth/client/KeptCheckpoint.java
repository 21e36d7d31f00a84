package dev.berth.client;

import java.time.Instant;
import java.util.Optional;

/**
 * A checkpoint that is kept whatever becomes of its session.
 *
 * @param session that it was taken of
 */
public record KeptCheckpoint(
        String id,
        String tenant,
        String session,
        Optional<String> name,
        String template,
        long diskBytes,
        Instant createdAt,
        Json json) {

    static KeptCheckpoint of(Json json) {
        return new KeptCheckpoint(
                json.get("checkpoint_id").text(),
                json.get("tenant_id").text(),
                json.get("session_id").text(),
                json.get("name").optionalText(),
                json.get("template").text(),
                json.get("disk").whole(),
                json.get("created_at").time().orElse(Instant.EPOCH),
                json);
    }
}
