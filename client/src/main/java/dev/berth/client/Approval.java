package dev.berth.client;

import java.time.Instant;
import java.util.Optional;

/**
 * A call that a person has to allow.
 *
 * @param state pending, approved, running, done, denied, expired or failed
 */
public record Approval(
        String id,
        String session,
        String tool,
        Json input,
        String state,
        String requestedBy,
        Instant requestedAt,
        Optional<Instant> expiresAt,
        Optional<String> decidedBy,
        Json json) {
    /** What a person says to it. */
    public enum Decision {
        APPROVE,
        DENY,
        /** Yes, and to all others of its kind in this session. */
        ALWAYS
    }

    static Approval of(Json json) {
        return new Approval(
                json.get("approval_id").text(),
                json.get("session_id").text(),
                json.get("tool").text(),
                json.get("input"),
                json.get("state").text(),
                json.get("requested_by").text(),
                json.get("requested_at").time().orElse(Instant.EPOCH),
                json.get("expires_at").time(),
                json.get("decided_by").optionalText(),
                json);
    }
}
