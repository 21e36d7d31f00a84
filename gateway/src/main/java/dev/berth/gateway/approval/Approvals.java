package dev.berth.gateway.approval;

import dev.berth.agent.run.RunEvent;
import dev.berth.gateway.approval.Approval.State;
import dev.berth.gateway.auth.Caller;
import dev.berth.gateway.auth.Scope;
import dev.berth.gateway.config.SealedColumn;
import dev.berth.gateway.config.Sealer;
import dev.berth.gateway.http.Answer;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.Exchange;
import dev.berth.gateway.http.Prefer;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.EventLog;
import dev.berth.session.SessionEvent;
import dev.berth.session.SessionKey;
import dev.berth.session.Sessions;
import dev.berth.session.store.Database;
import dev.berth.session.store.Signals;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.random.RandomGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.MDC;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Asks people before calls are made that a session wants to be asked for. The request is written down; when it is allowed,
 * the server that hears of it makes the call and writes down what came of it. Whoever made the request waits for that, or
 * comes back for it: in either case it is the row that tells, so neither a client nor a server that goes away loses it.
 *
 * <p>What an agent asks is decided in the same way. There the agent acts, so the decision is all that comes of it.
 */
public final class Approvals {
    private static final Logger LOG = LoggerFactory.getLogger(Approvals.class);
    private static final JsonMapper JSON = JsonMapper.builder().build();
    /** Somebody who waits looks by himself after this. */
    private static final Duration LOOK = Duration.ofSeconds(10);

    private static final Duration LEASE = Duration.ofSeconds(60);
    private static final Duration KEPT = Duration.ofDays(7);

    /** What is sealed of them. */
    public static final List<SealedColumn> SEALED = ApprovalTable.SEALED;

    private final Database database;
    private final ApprovalTable table;
    private final Sessions sessions;
    private final RandomGenerator random;
    private final Duration patience;
    private final Map<String, Endpoint> endpoints = new HashMap<>();
    private final Set<String> running = ConcurrentHashMap.newKeySet();

    /** @param patience how long a person has; then it is as if the answer had been no */
    public Approvals(Database database, Sealer sealer, Sessions sessions, RandomGenerator random, Duration patience) {
        this.database = database;
        this.table = new ApprovalTable(database, sealer);
        this.sessions = sessions;
        this.random = random;
        this.patience = patience;
    }

    /** The endpoint of an operation, whose calls may need to be allowed. */
    public Endpoint around(String operation, Endpoint endpoint) {
        endpoints.put(operation, endpoint);
        return exchange -> {
            try {
                return endpoint.answer(exchange);
            } catch (ApprovalNeeded needed) {
                return ask(exchange, needed);
            }
        };
    }

    /** Whether calls of a tool were allowed for the rest of a session. */
    public boolean granted(SessionKey key, String tool) {
        return table.granted(key, tool);
    }

    private String newId() {
        byte[] bytes = new byte[16];
        random.nextBytes(bytes);
        return "apr_" + HexFormat.of().formatHex(bytes);
    }

    /**
     * Asks whether an agent may do something, and waits for as long as a person has to decide. A question that was asked
     * before, by this server or another, is the same question.
     *
     * @throws InterruptedException if this server stops before there is an answer
     */
    public boolean ask(AgentQuestion question) throws InterruptedException {
        String id = newId();
        boolean first = table.insert(id, question, patience);
        Approval asked = table.find(question.run(), question.id()).orElseThrow(Approvals::unknown);
        if (first) {
            log(asked, "approval.requested", question.actor(), question.detail());
        }
        Approval answered = await(asked, Instant.MAX);
        if (answered.state() == State.PENDING) {
            throw new InterruptedException("the server stops");
        }
        return answered.state() == State.APPROVED;
    }

    private Answer ask(Exchange exchange, ApprovalNeeded needed) throws InterruptedException {
        String id = newId();
        String tenant = needed.session()
                .map(SessionKey::tenant)
                .orElse(exchange.caller().tenant());
        table.insert(id, exchange, tenant, needed, patience);
        Approval asked = table.find(id).orElseThrow();
        log(asked, "approval.requested", exchange.caller().name());
        exchange.events().event("approval", Approvals.show(asked));
        Approval answered = await(asked, Instant.now().plus(wait(exchange)));
        return switch (answered.state()) {
            case PENDING, APPROVED, RUNNING -> Answer.accepted(show(answered));
            case DONE -> new Answer.Json(answered.status(), requireResult(answered));
            case DENIED ->
                throw SandboxException.denied(answered.decidedBy().orElse("somebody") + " did not allow '"
                        + answered.tool() + "'"
                        + answered.reason().map(reason -> ": " + reason).orElse(""));
            case EXPIRED ->
                throw SandboxException.denied(
                        "nobody allowed '" + answered.tool() + "' in time; ask a person and try again");
            case FAILED -> throw failed(answered);
        };
    }

    private static JsonNode requireResult(Approval approval) {
        JsonNode result = approval.result();
        if (result == null) {
            throw new IllegalStateException(approval.id() + " is done and has no result");
        }
        return result;
    }

    private static SandboxException failed(Approval approval) {
        JsonNode result = approval.result();
        return result == null
                ? SandboxException.unavailable("the server was stopped while '" + approval.tool()
                        + "' ran, nobody knows how far it came; look before trying again")
                : new SandboxException(
                        ErrorCode.parse(result.path("code").asString()).orElse(ErrorCode.UNAVAILABLE),
                        result.path("detail").asString());
    }

    /** A stream waits for as long as it takes. */
    private Duration wait(Exchange exchange) {
        return exchange.wantsEvents() ? patience.plus(Duration.ofDays(1)) : Prefer.wait(exchange);
    }

    private Approval await(Approval asked, Instant until) throws InterruptedException {
        try (Signals.Waiter waiter = sessions.signals().waiter(topic(asked.id()))) {
            while (true) {
                Approval now = table.find(asked.id()).orElseThrow(Approvals::unknown);
                Duration left = until.equals(Instant.MAX) ? LOOK : Duration.between(Instant.now(), until);
                if (now.ended() || !left.isPositive() || waiter.ended()) {
                    return now;
                }
                if (now.state() == State.PENDING && !now.expiresAt().isAfter(Instant.now())) {
                    sweep();
                } else {
                    Duration untilExpiry =
                            Duration.between(Instant.now(), now.expiresAt()).plusMillis(20);
                    waiter.await(shortest(left, LOOK, now.state() == State.PENDING ? untilExpiry : LOOK));
                }
            }
        }
    }

    private static Duration shortest(Duration... durations) {
        return java.util.Arrays.stream(durations).min(Duration::compareTo).orElseThrow();
    }

    // ---- deciding ------------------------------------------------------------------------------------------------

    /** What a person says. */
    public enum Decision {
        APPROVE,
        DENY,
        ALWAYS
    }

    Approval decide(Caller who, String id, Decision decision, Optional<String> reason) {
        return decide(get(who, id), who.name(), decision, reason);
    }

    /**
     * Decides for a person whom a channel knows, about something in a session that the person may talk in.
     *
     * @param who how the person is called in the log
     * @throws SandboxException {@code not_found} if there is no such question in this session, {@code conflict} if it was
     *     decided already
     */
    public void decide(SessionKey session, String id, String who, Decision decision) {
        decide(find(session, id).orElseThrow(Approvals::unknown), who, decision, Optional.empty());
    }

    /** On whose message somebody acts who waits for this; empty if nobody waits in this session for what has this id. */
    public Optional<String> requester(SessionKey session, String id) {
        return find(session, id)
                .filter(approval -> approval.state() == State.PENDING)
                .map(Approval::requestedBy);
    }

    private Optional<Approval> find(SessionKey session, String id) {
        return table.find(id)
                .filter(it -> it.tenant().equals(session.tenant())
                        && it.session().filter(session.id()::equals).isPresent());
    }

    private Approval decide(Approval approval, String who, Decision decision, Optional<String> reason) {
        String id = approval.id();
        State wanted = decision == Decision.DENY ? State.DENIED : State.APPROVED;
        if (decision == Decision.ALWAYS && approval.session().isEmpty()) {
            throw SandboxException.invalid(
                    "this call has no session that anything could be allowed for; approve it alone");
        }
        if (!table.decide(id, wanted, who, reason)) {
            sweep(); // one that has just run out should say so
            throw SandboxException.conflict(
                    "this was " + table.find(id).orElseThrow(Approvals::unknown).state() + " already");
        }
        if (decision == Decision.ALWAYS) {
            table.grant(approval.tenant(), approval.session().orElseThrow(), approval.tool(), who);
        }
        log(approval, decision == Decision.DENY ? "approval.denied" : "approval.approved", who);
        sessions.signals().tell(topic(id));
        if (wanted == State.APPROVED && approval.run().isEmpty()) {
            Thread.ofVirtual().name("approved " + id).start(() -> make(approval));
        }
        return table.find(id).orElseThrow(Approvals::unknown);
    }

    /** Makes the call, unless somebody else does. */
    private void make(Approval approval) {
        if (!table.claim(approval.id(), LEASE)) {
            return;
        }
        MDC.put("correlation", approval.requestId());
        running.add(approval.id());
        try {
            Endpoint endpoint = Optional.ofNullable(endpoints.get(approval.operation()))
                    .orElseThrow(() -> SandboxException.unsupported("this server does not know the call any more"));
            Caller caller = new Caller(approval.requestedBy(), approval.tenant(), false, Scope.ALL);
            Exchange again = Exchange.allowed(
                    approval.operation(), approval.requestId(), caller, approval.path(), approval.body());
            if (!(endpoint.answer(again) instanceof Answer.Json(int status, Object value))) {
                throw new IllegalStateException(approval.operation() + " has no answer that could be kept");
            }
            table.end(approval.id(), State.DONE, status, JSON.valueToTree(value));
        } catch (SandboxException e) {
            table.end(
                    approval.id(),
                    State.FAILED,
                    0,
                    JSON.valueToTree(Map.of("code", e.code().wireName(), "detail", e.getMessage())));
        } catch (Exception e) {
            LOG.atError().setCause(e).log("approval.failed");
            table.end(
                    approval.id(),
                    State.FAILED,
                    0,
                    JSON.valueToTree(
                            Map.of("code", "internal", "detail", "this should not have happened; the log has more")));
        } finally {
            running.remove(approval.id());
            log(approval, "approval.ended", SessionEvent.BERTH);
            sessions.signals().tell(topic(approval.id()));
            MDC.remove("correlation");
        }
    }

    // ---- looking after them --------------------------------------------------------------------------------------

    /** What nobody decided in time is over, what was allowed and not made is made, what died is told to have. */
    public void sweep() {
        running.forEach(id -> table.renew(id, LEASE));
        for (Approval expired : table.expire()) {
            log(expired, "approval.expired", SessionEvent.BERTH);
            sessions.signals().tell(topic(expired.id()));
        }
        for (Approval abandoned : table.abandon()) {
            log(abandoned, "approval.ended", SessionEvent.BERTH);
            sessions.signals().tell(topic(abandoned.id()));
        }
        for (Approval left : table.left()) {
            Thread.ofVirtual().name("approved " + left.id()).start(() -> make(left));
        }
        table.forget(KEPT);
    }

    private void log(Approval approval, String type, String actor) {
        log(approval, type, actor, "");
    }

    private void log(Approval approval, String type, String actor, String detail) {
        Map<String, Object> facts = new HashMap<>();
        facts.put("approval_id", approval.id());
        facts.put("tool", approval.tool());
        approval.run().ifPresent(run -> facts.put(RunEvent.RUN, run));
        approval.title().ifPresent(title -> facts.put("title", title));
        if (!detail.isEmpty()) {
            facts.put("detail", detail);
        }
        SessionEvent event = new SessionEvent(type, actor, facts);
        approval.session()
                .map(session -> SessionKey.of(approval.tenant(), session))
                .ifPresent(session -> {
                    if (approval.run().isPresent()) {
                        // At once: the agent goes on with the answer, and what it does must not stand before it.
                        database.transaction(handle -> EventLog.append(handle, session, event));
                        sessions.events().wrote(session);
                    } else {
                        sessions.events().append(session, event);
                    }
                });
    }

    private static String topic(String id) {
        return "approvals/" + id;
    }

    // ---- looking -------------------------------------------------------------------------------------------------

    Approval get(Caller who, String id) {
        return table.find(id)
                .filter(approval -> who.admin() || approval.tenant().equals(who.tenant()))
                .orElseThrow(Approvals::unknown);
    }

    List<Approval> list(Optional<String> tenant, Optional<State> state, Optional<String> session, int limit) {
        return table.list(tenant, state, session, limit);
    }

    private static SandboxException unknown() {
        return SandboxException.notFound("there is no such approval");
    }

    static Map<String, Object> show(Approval approval) {
        Map<String, Object> shown = new java.util.LinkedHashMap<>();
        shown.put("approval_id", approval.id());
        shown.put("tenant_id", approval.tenant());
        approval.session().ifPresent(session -> shown.put("session_id", session));
        approval.run().ifPresent(run -> shown.put("run_id", run));
        shown.put("tool", approval.tool());
        approval.title().ifPresent(title -> shown.put("title", title));
        shown.put("input", approval.body());
        shown.put("state", approval.state().toString());
        shown.put("requested_by", approval.requestedBy());
        shown.put("requested_at", approval.requestedAt());
        shown.put("expires_at", approval.expiresAt());
        approval.decidedBy().ifPresent(who -> shown.put("decided_by", who));
        approval.decidedAt().ifPresent(at -> shown.put("decided_at", at));
        approval.reason().ifPresent(reason -> shown.put("reason", reason));
        if (approval.result() != null) {
            shown.put("result", approval.result());
        }
        return shown;
    }
}
