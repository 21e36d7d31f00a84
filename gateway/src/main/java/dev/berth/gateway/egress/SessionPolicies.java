package dev.berth.gateway.egress;

import dev.berth.egress.policy.Binding;
import dev.berth.egress.policy.Policy;
import dev.berth.egress.policy.Refusal;
import dev.berth.egress.policy.Use;
import dev.berth.egress.policy.Visit;
import dev.berth.gateway.egress.EventGathering.Happened;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.Sandbox;
import dev.berth.session.SessionKey;
import dev.berth.session.Sessions;
import dev.berth.session.store.Database;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * What the sandboxes of sessions may do on their way out, and what is told of it: in the session's events, in the counts
 * for the operator, and in the sum that its cap on bytes is compared with.
 *
 * <p>What is asked for every request needs no SQL: the sandbox knows its network, and the book of secrets is quick.
 */
public final class SessionPolicies implements AutoCloseable {
    private static final int MOST_VISITS = 60;
    private static final int MOST_BLOCKED = 60;
    /** Every use of a secret is of interest, so it takes more before they are summed up. */
    private static final int MOST_USES = 600;

    private static final int MOST_CALLS = 16;
    private static final int MOST_CHARACTERS = 500;
    private static final int SERVER_ERRORS = 500;

    private final Sessions sessions;
    private final SecretBook secrets;
    private final RunningCalls calls;
    private final Traffic traffic;
    private final EventGathering events;
    private final MeterRegistry meters;

    public SessionPolicies(
            Sessions sessions,
            Database database,
            SecretBook secrets,
            RunningCalls calls,
            MeterRegistry meters,
            InstantSource clock) {
        this.sessions = sessions;
        this.secrets = secrets;
        this.calls = calls;
        this.traffic = new Traffic(database);
        this.events = new EventGathering(sessions.events()::append, clock);
        this.meters = meters;
    }

    /** What a sandbox may do. One that belongs to no session may do nothing. */
    public Policy of(Sandbox sandbox) {
        return sessions.owner(sandbox)
                .<Policy>map(session -> new OfSession(session, sandbox))
                .orElseGet(NoPolicy::new);
    }

    /** Tells and writes down what was gathered since the last time. */
    public void flush() {
        events.flush();
        traffic.flush();
    }

    @Override
    public void close() {
        events.close();
        traffic.flush();
    }

    private final class OfSession implements Policy {
        private final SessionKey session;
        private final Sandbox sandbox;

        OfSession(SessionKey session, Sandbox sandbox) {
            this.session = session;
            this.sandbox = sandbox;
        }

        @Override
        public Network network() {
            return sandbox.network();
        }

        @Override
        public List<Binding> bindings() {
            List<String> named = network().secrets();
            return named.isEmpty() ? List.of() : secrets.bindings(session, named);
        }

        @Override
        public Optional<String> reveal(String secret) {
            return network().secrets().contains(secret) ? secrets.reveal(session, secret) : Optional.empty();
        }

        @Override
        public long carried() {
            return traffic.carried(session);
        }

        @Override
        public void visited(Visit visit) {
            String decision = visit.refused().map(SessionPolicies::decision).orElse("allowed");
            traffic.add(session, visit.sent(), visit.received());
            meters.counter("berth.egress.connections", "decision", decision).increment();
            meters.counter("berth.egress.bytes", "direction", "sent").increment((double) visit.sent());
            meters.counter("berth.egress.bytes", "direction", "received").increment((double) visit.received());
            Map<String, Object> facts = new TreeMap<>();
            facts.put("host", visit.target().host());
            facts.put("port", visit.target().port());
            facts.put("decision", decision);
            visit.refused().ifPresent(reason -> facts.put("reason", reason.toString()));
            events.add(session, new Happened("egress.visit", facts, MOST_VISITS), visit.sent(), visit.received());
            if (visit.refused().filter(Refusal.Reason.PLACEHOLDER::equals).isPresent()) {
                meters.counter("berth.egress.secrets", "outcome", "blocked").increment();
                Map<String, Object> blocked = new TreeMap<>();
                blocked.put("host", visit.target().host());
                blocked.put("port", visit.target().port());
                blocked.put("detail", brief(visit.detail()));
                blocked.put("calls", running());
                events.add(session, new Happened("secret.blocked", blocked, MOST_BLOCKED), 0, 0);
            }
        }

        @Override
        public void used(Use use) {
            secrets.used(session, use);
            meters.counter("berth.egress.secrets", "outcome", "used").increment();
            Map<String, Object> facts = new TreeMap<>();
            facts.put("secret", use.secret());
            facts.put("host", use.target().host());
            facts.put("port", use.target().port());
            facts.put("method", brief(use.method()));
            facts.put("path", brief(use.path()));
            facts.put("status", use.status());
            facts.put("calls", running());
            events.add(session, new Happened("secret.used", facts, MOST_USES), 0, 0);
        }

        private List<String> running() {
            return calls.in(session).stream().limit(MOST_CALLS).toList();
        }
    }

    /** Of a sandbox that nobody answers for. */
    private static final class NoPolicy implements Policy {
        @Override
        public Network network() {
            return Network.NONE;
        }

        @Override
        public List<Binding> bindings() {
            return List.of();
        }

        @Override
        public Optional<String> reveal(String secret) {
            return Optional.empty();
        }

        @Override
        public long carried() {
            return 0;
        }

        @Override
        public void visited(Visit visit) {}

        @Override
        public void used(Use use) {}
    }

    /** What this server did not let through, and what failed beyond it. */
    private static String decision(Refusal.Reason reason) {
        return reason.status() >= SERVER_ERRORS ? "failed" : "refused";
    }

    /** What comes from a sandbox can be long. */
    private static String brief(String text) {
        return text.length() <= MOST_CHARACTERS ? text : text.substring(0, MOST_CHARACTERS) + "…";
    }
}
