package dev.berth.egress.internet;

import dev.berth.egress.policy.Binding;
import dev.berth.egress.policy.Policy;
import dev.berth.egress.policy.Use;
import dev.berth.egress.policy.Visit;
import dev.berth.sandbox.Network;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A policy that a test makes, changes, and looks into. */
public final class Rules implements Policy {
    private final BlockingQueue<Visit> visits = new LinkedBlockingQueue<>();
    private final BlockingQueue<Use> uses = new LinkedBlockingQueue<>();
    private final Map<String, String> values = new ConcurrentHashMap<>();
    private volatile Network network;
    private volatile List<Binding> bindings = List.of();
    private volatile long carried;

    public Rules(Network network) {
        this.network = network;
    }

    public void network(Network now) {
        network = now;
    }

    public Rules bind(Binding binding, String value) {
        bindings = java.util.stream.Stream.concat(bindings.stream(), java.util.stream.Stream.of(binding))
                .toList();
        values.put(binding.secret(), value);
        return this;
    }

    public void revoke(String secret) {
        values.remove(secret);
    }

    public Rules carried(long bytes) {
        carried = bytes;
        return this;
    }

    /** The next visit that is told, for which this waits. */
    public Visit visit() throws InterruptedException {
        Visit visit = visits.poll(60, TimeUnit.SECONDS);
        if (visit == null) {
            throw new AssertionError("no visit was told");
        }
        return visit;
    }

    /** The next use of a secret that is told, for which this waits. */
    public Use use() throws InterruptedException {
        Use use = uses.poll(60, TimeUnit.SECONDS);
        if (use == null) {
            throw new AssertionError("no use of a secret was told");
        }
        return use;
    }

    /** What was told and not yet looked at. */
    public List<Visit> unseenVisits() {
        return List.copyOf(visits);
    }

    public List<Use> unseenUses() {
        return List.copyOf(uses);
    }

    @Override
    public Network network() {
        return network;
    }

    @Override
    public List<Binding> bindings() {
        return bindings;
    }

    @Override
    public Optional<String> reveal(String secret) {
        return Optional.ofNullable(values.get(secret));
    }

    @Override
    public long carried() {
        return carried;
    }

    @Override
    public void visited(Visit visit) {
        visits.add(visit);
    }

    @Override
    public void used(Use use) {
        uses.add(use);
    }
}
