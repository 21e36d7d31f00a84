package dev.berth.gateway.approval;

import dev.berth.gateway.approval.Approval.State;
import dev.berth.gateway.approval.Approvals.Decision;
import dev.berth.gateway.auth.Caller;
import dev.berth.gateway.http.Answer;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.Exchange;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import tools.jackson.databind.node.ObjectNode;

/** What waits for a person, and the person's answer. */
public final class ApprovalApi {
    private static final int PAGE = 100;

    private final Approvals approvals;

    public ApprovalApi(Approvals approvals) {
        this.approvals = approvals;
    }

    public Map<String, Endpoint> endpoints() {
        return Map.of("approvals", this::list, "approval", this::get, "decide", this::decide);
    }

    private Answer list(Exchange exchange) {
        Caller caller = exchange.caller();
        return Answer.ok(Map.of(
                "approvals",
                approvals
                        .list(
                                caller.admin() ? Optional.empty() : Optional.of(caller.tenant()),
                                exchange.query("state").map(State::parse),
                                exchange.query("session_id"),
                                exchange.query("limit").map(Integer::parseInt).orElse(PAGE))
                        .stream()
                        .map(Approvals::show)
                        .toList()));
    }

    private Answer get(Exchange exchange) {
        return Answer.ok(Approvals.show(approvals.get(exchange.caller(), exchange.path("approval_id"))));
    }

    private Answer decide(Exchange exchange) {
        ObjectNode body = exchange.body();
        Decision decision = Decision.valueOf(body.path("decision").asString().toUpperCase(Locale.ROOT));
        Optional<String> reason = Optional.ofNullable(body.get("reason")).map(node -> node.asString());
        return Answer.ok(
                Approvals.show(approvals.decide(exchange.caller(), exchange.path("approval_id"), decision, reason)));
    }
}
