package dev.berth.client;

import java.time.Instant;
import java.util.Optional;

/**
 * A session as it was when it was asked for.
 *
 * @param turn of the conversation, which checkpoints are named by
 * @param diskBytes what its own files took when that was last looked at
 * @param lastEvent the number of its last event; {@link SessionClient#events} goes on from there
 * @param usage if it was asked for, and it is up in the server that answered
 * @param loss what was lost and nobody was told of yet
 */
public record SessionInfo(
        String tenant,
        String id,
        String state,
        String template,
        boolean pinned,
        long turn,
        long diskBytes,
        long lastEvent,
        Optional<Usage> usage,
        Optional<String> loss,
        Optional<String> lastError,
        Instant createdAt,
        Instant lastUsedAt,
        Json json) {

    /** What its processes use now. */
    public record Usage(long memoryBytes, long pids, double cpuSeconds, long diskBytes) {}

    static SessionInfo of(Json json) {
        Json usage = json.get("usage");
        return new SessionInfo(
                json.get("tenant_id").text(),
                json.get("session_id").text(),
                json.get("state").text(),
                json.get("template").text(),
                json.get("pinned").truth(),
                json.get("turn").whole(),
                json.get("disk").whole(),
                json.get("last_event").whole(),
                usage.exists()
                        ? Optional.of(new Usage(
                                usage.get("memory").whole(),
                                usage.get("pids").whole(),
                                usage.get("cpu_seconds").number(),
                                usage.get("disk").whole()))
                        : Optional.empty(),
                json.get("loss").optionalText(),
                json.get("last_error").optionalText(),
                json.get("created_at").time().orElse(Instant.EPOCH),
                json.get("last_used_at").time().orElse(Instant.EPOCH),
                json);
    }
}
