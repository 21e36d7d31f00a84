package dev.berth.client;

import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Calls that a person has to allow. */
public final class Approvals {
    private final BerthClient berth;

    Approvals(BerthClient berth) {
        this.berth = berth;
    }

    /** Those in this state, of this session. */
    public List<Approval> list(Optional<String> state, Optional<String> session) {
        Call call = Call.get("/v1/approvals").query("state", state).query("session_id", session);
        return berth.list(call, "approvals", Approval::of);
    }

    public Approval get(String id) {
        return Approval.of(berth.json(Call.get(path(id))));
    }

    public Approval decide(String id, Approval.Decision decision, Optional<String> reason) {
        Json body = Json.object()
                .with("decision", decision.name().toLowerCase(Locale.ROOT))
                .with("reason", reason);
        return Approval.of(berth.json(Call.post(path(id), body)));
    }

    private static String path(String id) {
        return "/v1/approvals/" + Call.encode(id);
    }
}
