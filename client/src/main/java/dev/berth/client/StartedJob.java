package dev.berth.client;

import java.util.Optional;

/**
 * What came of the wish to start a job: its id, or that of the approval which it waits for. The approval's result has the
 * job's id once it is there.
 */
public record StartedJob(Optional<String> id, Optional<String> approvalId, Json json) {
    static StartedJob of(Json json) {
        return new StartedJob(
                json.get("job_id").optionalText(), json.get("approval_id").optionalText(), json);
    }
}
