package dev.berth.client;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** A key of a tenant, without its secret. */
public record ApiKey(
        String id,
        String tenant,
        String name,
        List<String> scopes,
        Instant createdAt,
        Optional<Instant> expiresAt,
        Optional<Instant> revokedAt,
        Optional<Instant> lastUsedAt,
        Json json) {
    /** A key that was just made. The secret is told this once. */
    public record Made(String secret, ApiKey key, Json json) {
        /** Without the secret. */
        @Override
        public String toString() {
            return "Made[" + key + "]";
        }
    }

    static ApiKey of(Json json) {
        return new ApiKey(
                json.get("id").text(),
                json.get("tenant").text(),
                json.get("name").text(),
                json.get("scopes").items().stream().map(Json::text).toList(),
                json.get("created_at").time().orElse(Instant.EPOCH),
                json.get("expires_at").time(),
                json.get("revoked_at").time(),
                json.get("last_used_at").time(),
                json);
    }

    static Made made(Json json) {
        return new Made(json.get("key").text(), of(json.get("info")), json);
    }
}
