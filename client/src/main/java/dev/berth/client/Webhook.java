package dev.berth.client;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * An address that is told when jobs end, without its secret.
 *
 * @param enabled false after the address answered that it is gone
 */
public record Webhook(String id, String url, List<String> events, boolean enabled, Instant createdAt, Json json) {
    /** A webhook that was just made. The secret, by which it checks what it is told, is told this once. */
    public record Made(String secret, Webhook webhook) {
        /** Without the secret. */
        @Override
        public String toString() {
            return "Made[" + webhook.id() + "]";
        }
    }

    /**
     * Something that it was told, or is to be told.
     *
     * @param id the same in every attempt
     * @param state waiting, delivered, observed (somebody read the result first) or given_up
     */
    public record Delivery(
            String id, String event, String job, String state, long attempts, Optional<String> lastError, Json json) {
        static Delivery of(Json json) {
            return new Delivery(
                    json.get("delivery_id").text(),
                    json.get("event").text(),
                    json.get("job_id").text(),
                    json.get("state").text(),
                    json.get("attempts").whole(),
                    json.get("last_error").optionalText(),
                    json);
        }
    }

    static Webhook of(Json json) {
        return new Webhook(
                json.get("webhook_id").text(),
                json.get("url").text(),
                json.get("events").items().stream().map(Json::text).toList(),
                json.get("enabled").truth(),
                json.get("created_at").time().orElse(Instant.EPOCH),
                json);
    }

    static Made made(Json json) {
        return new Made(json.get("secret").text(), of(json));
    }
}
