package dev.berth.client;

import java.time.Instant;
import java.util.Optional;

/**
 * Something that happened in a session.
 *
 * @param seq its number; there are no gaps
 * @param kind state, tool, output, job, approval, artifact, terminal or turn
 * @param type what happened exactly
 */
public record SessionEvent(
        long seq,
        Instant at,
        String kind,
        String type,
        String actor,
        Optional<String> requestId,
        Json data,
        Json json) {
    static SessionEvent of(Json json) {
        return new SessionEvent(
                json.get("seq").whole(),
                json.get("at").time().orElse(Instant.EPOCH),
                json.get("event").text(),
                json.get("type").text(),
                json.get("actor").text(),
                json.get("request_id").optionalText(),
                json.get("data"),
                json);
    }
}
