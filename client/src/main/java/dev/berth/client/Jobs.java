package dev.berth.client;

import java.util.List;
import java.util.Optional;

/** The jobs of a tenant. {@link SessionClient#background} starts one. */
public final class Jobs {
    private final BerthClient berth;

    Jobs(BerthClient berth) {
        this.berth = berth;
    }

    /**
     * The newest first.
     *
     * @param state those in this state only
     */
    public List<Job> list(Optional<String> state, int limit) {
        Call call = Call.get("/v1/jobs").query("state", state).query("limit", limit);
        return berth.list(call, "jobs", Job::of);
    }

    public Job get(String id) {
        return Job.of(berth.json(Call.get(path(id))));
    }

    /** What it printed, behind the chunk of this number; 0 for all from the beginning. */
    public JobLogs logs(String id, long after) {
        return JobLogs.of(berth.json(Call.get(path(id) + "/logs").query("after", after)));
    }

    /** Ends its processes. */
    public Job stop(String id) {
        return Job.of(berth.json(Call.post(path(id) + "/stop")));
    }

    private static String path(String id) {
        return "/v1/jobs/" + Call.encode(id);
    }
}
