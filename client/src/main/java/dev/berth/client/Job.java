package dev.berth.client;

import java.time.Instant;
import java.util.Optional;

/**
 * A command that outlives the request it was started by.
 *
 * @param state running, completed, failed or stopped
 * @param droppedBytes of output that was too much to be kept
 */
public record Job(
        String id,
        String session,
        String state,
        String command,
        Optional<Integer> exitCode,
        Optional<String> error,
        Instant createdAt,
        Optional<Instant> endedAt,
        long outputBytes,
        long droppedBytes,
        Json json) {
    public boolean running() {
        return state.equals("running");
    }

    static Job of(Json json) {
        return new Job(
                json.get("job_id").text(),
                json.get("session_id").text(),
                json.get("state").text(),
                json.get("command").text(),
                json.get("exit_code").optionalInt(),
                json.get("error").optionalText(),
                json.get("created_at").time().orElse(Instant.EPOCH),
                json.get("ended_at").time(),
                json.get("output_bytes").whole(),
                json.get("dropped_bytes").whole(),
                json);
    }
}
