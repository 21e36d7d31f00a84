package dev.berth.egress.http;

import dev.berth.egress.policy.Binding;
import dev.berth.egress.policy.Policy;
import dev.berth.egress.policy.Use;
import dev.berth.egress.policy.Visit;
import dev.berth.sandbox.Network;
import java.util.List;
import java.util.Optional;

/**
 * A policy as it was when a request came. All that is decided about the request is decided by the same rules, which are
 * asked for once. A value is asked for when it is needed.
 */
record Moment(Policy policy, Network network, List<Binding> bindings) implements Policy {
    static Moment of(Policy policy) {
        return new Moment(policy, policy.network(), policy.bindings());
    }

    @Override
    public Optional<String> reveal(String secret) {
        return policy.reveal(secret);
    }

    @Override
    public long carried() {
        return policy.carried();
    }

    @Override
    public void visited(Visit visit) {
        policy.visited(visit);
    }

    @Override
    public void used(Use use) {
        policy.used(use);
    }
}
