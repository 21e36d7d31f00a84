package dev.berth.egress;

import dev.berth.egress.policy.Account;
import dev.berth.egress.policy.Binding;
import dev.berth.egress.policy.Gate;
import dev.berth.egress.policy.Gate.Way;
import dev.berth.egress.policy.Policy;
import dev.berth.sandbox.Network;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;

/** What is kept of one sandbox: its account, and what of its connections is open. */
final class Seat {
    /** Connections beyond its cap that wait to be told so. Others are just closed. */
    private static final int MOST_TURNED_AWAY = 16;

    private final Account account;
    private final Set<Ride> rides = ConcurrentHashMap.newKeySet();
    private final Semaphore turnedAway = new Semaphore(MOST_TURNED_AWAY);
    private volatile Policy policy;
    private volatile Allowed allowed;
    private volatile boolean closed;

    /** All that a policy says of where connections may go. */
    private record Allowed(Network network, List<Binding> bindings) {
        static Allowed by(Policy policy) {
            return new Allowed(policy.network(), policy.bindings());
        }

        boolean includes(Allowed earlier) {
            return network.mode().compareTo(earlier.network.mode()) >= 0
                    && network.allow().containsAll(earlier.network.allow())
                    && earlier.network.deny().containsAll(network.deny())
                    && bindings.containsAll(earlier.bindings);
        }
    }

    /**
     * A connection under way.
     *
     * @param way where to; empty if each of its requests says so anew
     * @param cut ends it
     */
    record Ride(Optional<Way> way, Runnable cut) {}

    /** A ride that is on. */
    interface On extends AutoCloseable {
        @Override
        void close();
    }

    Seat(Policy policy) {
        this.policy = policy;
        this.allowed = Allowed.by(policy);
        this.account = new Account(() -> this.policy.network().caps(), policy.carried());
    }

    Account account() {
        return account;
    }

    Semaphore turnedAway() {
        return turnedAway;
    }

    void policy(Policy latest) {
        policy = latest;
    }

    On board(Gate gate, Ride ride) {
        rides.add(ride);
        // The rules may have changed after they were asked, and before there was something to cut.
        if (!stays(gate, ride, true)) {
            ride.cut().run();
        }
        return () -> rides.remove(ride);
    }

    synchronized void changed(Gate gate) {
        Allowed now = Allowed.by(policy);
        boolean wider = now.includes(allowed);
        allowed = now;
        rides.stream()
                .filter(ride -> !stays(gate, ride, wider))
                .forEach(ride -> ride.cut().run());
    }

    /** @param wider whether whatever was allowed before still is */
    private boolean stays(Gate gate, Ride ride, boolean wider) {
        return !closed && ride.way().map(way -> gate.still(policy, way)).orElse(wider);
    }

    void close() {
        closed = true;
        rides.forEach(ride -> ride.cut().run());
    }
}
