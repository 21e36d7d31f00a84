package dev.berth.client;

import java.time.Instant;
import java.util.Optional;

/**
 * A file that a run made for people to see.
 *
 * @param kind image, table, report or binary
 */
public record Artifact(
        String id,
        String session,
        String name,
        String path,
        String mimeType,
        long size,
        String sha256,
        String kind,
        Instant createdAt,
        Optional<Instant> expiresAt,
        Json json) {
    static Artifact of(Json json) {
        return new Artifact(
                json.get("artifact_id").text(),
                json.get("session_id").text(),
                json.get("name").text(),
                json.get("path").text(),
                json.get("mime_type").text(),
                json.get("size").whole(),
                json.get("sha256").text(),
                json.get("kind").text(),
                json.get("created_at").time().orElse(Instant.EPOCH),
                json.get("expires_at").time(),
                json);
    }
}
