package dev.berth.gateway.approval;

import dev.berth.gateway.approval.Approval.State;
import dev.berth.gateway.config.SealedColumn;
import dev.berth.gateway.config.Sealer;
import dev.berth.gateway.http.Exchange;
import dev.berth.session.SessionKey;
import dev.berth.session.store.Database;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** The tables {@code approvals} and {@code approval_grants}. Each step is one statement that only one can win. */
final class ApprovalTable {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int MOST = 1000;
    private static final int LEFT = 100;

    static final List<SealedColumn> SEALED = List.of(sealed("body"), sealed("result"));

    private final Database database;
    private final Sealer sealer;

    ApprovalTable(Database database, Sealer sealer) {
        this.database = database;
        this.sealer = sealer;
    }

    void insert(String id, Exchange exchange, String tenant, ApprovalNeeded needed, Duration patience) {
        byte[] body = sealer.seal(place(id, "body"), JSON.writeValueAsString(exchange.body()));
        database.query(handle -> handle.createUpdate("""
                        INSERT INTO approvals
                            (id, tenant, session, tool, operation, path, body, request_id, requested_by, expires_at)
                        VALUES (:id, :tenant, :session, :tool, :operation, :path::jsonb, :body, :request, :by,
                            now() + :ms * interval '1 millisecond')""")
                .bind("id", id)
                .bind("tenant", tenant)
                .bind("session", needed.session().map(SessionKey::id).orElse(null))
                .bind("tool", needed.tool())
                .bind("operation", exchange.operation())
                .bind("path", JSON.writeValueAsString(exchange.path()))
                .bind("body", body)
                .bind("request", exchange.id())
                .bind("by", exchange.caller().name())
                .bind("ms", patience.toMillis())
                .execute());
    }

    /** Whether it was not asked before. */
    boolean insert(String id, AgentQuestion question, Duration patience) {
        byte[] body = sealer.seal(place(id, "body"), JSON.writeValueAsString(question.arguments()));
        return database.query(handle -> handle.createUpdate("""
                                INSERT INTO approvals
                                    (id, tenant, session, tool, operation, path, body, request_id, requested_by, expires_at,
                                        run, question, title)
                                VALUES (:id, :tenant, :session, :tool, 'agent', '{}', :body, :run, :by,
                                    now() + :ms * interval '1 millisecond', :run, :question, :title)
                                ON CONFLICT (run, question) WHERE run IS NOT NULL DO NOTHING""")
                        .bind("id", id)
                        .bind("tenant", question.session().tenant())
                        .bind("session", question.session().id())
                        .bind("tool", question.tool())
                        .bind("body", body)
                        .bind("run", question.run())
                        .bind("by", question.actor())
                        .bind("ms", patience.toMillis())
                        .bind("question", question.id())
                        .bind("title", question.title())
                        .execute())
                == 1;
    }

    Optional<Approval> find(String run, String question) {
        return database.query(
                handle -> handle.createQuery("SELECT * FROM approvals WHERE run = :run AND question = :question")
                        .bind("run", run)
                        .bind("question", question)
                        .map((row, _) -> approval(row))
                        .findOne());
    }

    Optional<Approval> find(String id) {
        return database.query(handle -> handle.createQuery("SELECT * FROM approvals WHERE id = :id")
                .bind("id", id)
                .map((row, _) -> approval(row))
                .findOne());
    }

    /** @param tenant of all if empty */
    List<Approval> list(Optional<String> tenant, Optional<State> state, Optional<String> session, int limit) {
        return database.query(handle -> handle.createQuery("""
                        SELECT * FROM approvals WHERE (:tenant::text IS NULL OR tenant = :tenant)
                            AND (:state::text IS NULL OR state = :state)
                            AND (:session::text IS NULL OR session = :session)
                        ORDER BY requested_at DESC LIMIT :limit""")
                .bind("tenant", tenant.orElse(null))
                .bind("state", state.map(State::toString).orElse(null))
                .bind("session", session.orElse(null))
                .bind("limit", Math.min(limit, MOST))
                .map((row, _) -> approval(row))
                .list());
    }

    /** Whether it was still open, and is now decided. */
    boolean decide(String id, State decision, String who, Optional<String> reason) {
        return database.query(handle -> handle.createUpdate("""
                                UPDATE approvals SET state = :state, decided_by = :who, decided_at = now(), reason = :reason,
                                    ended_at = CASE WHEN :state = 'denied' OR run IS NOT NULL THEN now() END
                                WHERE id = :id AND state = 'pending' AND expires_at > now()""")
                        .bind("state", decision.toString())
                        .bind("who", who)
                        .bind("reason", reason.orElse(null))
                        .bind("id", id)
                        .execute())
                == 1;
    }

    /** Whether the caller is the one to make the call, until the lease runs out. */
    boolean claim(String id, Duration lease) {
        return database.query(handle -> handle.createUpdate("""
                                UPDATE approvals SET state = 'running', running_until = now() + :ms * interval '1 millisecond'
                                WHERE id = :id AND state = 'approved'""")
                        .bind("ms", lease.toMillis())
                        .bind("id", id)
                        .execute())
                == 1;
    }

    /** Calls that were allowed, and that nobody makes yet. */
    List<Approval> left() {
        return database.query(handle -> handle.createQuery("""
                        SELECT * FROM approvals WHERE state = 'approved' AND run IS NULL
                        ORDER BY requested_at DESC LIMIT :limit""")
                .bind("limit", LEFT)
                .map((row, _) -> approval(row))
                .list());
    }

    void renew(String id, Duration lease) {
        database.query(handle -> handle.createUpdate("""
                        UPDATE approvals SET running_until = now() + :ms * interval '1 millisecond'
                        WHERE id = :id AND state = 'running'""")
                .bind("ms", lease.toMillis())
                .bind("id", id)
                .execute());
    }

    void end(String id, State state, int status, JsonNode result) {
        byte[] sealed = sealer.seal(place(id, "result"), JSON.writeValueAsString(result));
        database.query(handle -> handle.createUpdate("""
                        UPDATE approvals SET state = :state, status = :status, result = :result, ended_at = now()
                        WHERE id = :id AND state = 'running'""")
                .bind("state", state.toString())
                .bind("status", status)
                .bind("result", sealed)
                .bind("id", id)
                .execute());
    }

    /** Those that nobody decided in time. */
    List<Approval> expire() {
        return database.query(
                handle -> handle.createQuery("""
                        UPDATE approvals SET state = 'expired', ended_at = now()
                        WHERE state = 'pending' AND expires_at <= now() RETURNING *""").map((row, _) -> approval(row)).list());
    }

    /** Those whose server died while the call ran. */
    List<Approval> abandon() {
        return database.query(
                handle -> handle.createQuery("""
                        UPDATE approvals SET state = 'failed', ended_at = now()
                        WHERE state = 'running' AND running_until < now() RETURNING *""").map((row, _) -> approval(row)).list());
    }

    void forget(Duration age) {
        database.query(handle -> handle.createUpdate(
                        "DELETE FROM approvals WHERE ended_at < now() - :ms * interval '1 millisecond'")
                .bind("ms", age.toMillis())
                .execute());
    }

    boolean granted(SessionKey key, String tool) {
        return database.query(handle -> handle.createQuery("""
                        SELECT EXISTS (SELECT FROM approval_grants
                            WHERE tenant = :tenant AND session = :session AND tool = :tool)""")
                .bind("tenant", key.tenant())
                .bind("session", key.id())
                .bind("tool", tool)
                .mapTo(Boolean.class)
                .one());
    }

    void grant(String tenant, String session, String tool, String who) {
        database.query(handle -> handle.createUpdate("""
                        INSERT INTO approval_grants (tenant, session, tool, granted_by)
                        VALUES (:tenant, :session, :tool, :who) ON CONFLICT DO NOTHING""")
                .bind("tenant", tenant)
                .bind("session", session)
                .bind("tool", tool)
                .bind("who", who)
                .execute());
    }

    private Approval approval(ResultSet row) throws SQLException {
        String id = text(row, "id");
        byte @Nullable [] result = row.getBytes("result");
        return new Approval(
                id,
                text(row, "tenant"),
                Optional.ofNullable(row.getString("session")),
                text(row, "tool"),
                text(row, "operation"),
                JSON.readValue(text(row, "path"), new TypeReference<Map<String, String>>() {}),
                (ObjectNode) JSON.readTree(sealer.open(place(id, "body"), row.getBytes("body"))),
                text(row, "request_id"),
                State.parse(text(row, "state")),
                text(row, "requested_by"),
                time(row, "requested_at").orElseThrow(),
                time(row, "expires_at").orElseThrow(),
                Optional.ofNullable(row.getString("decided_by")),
                time(row, "decided_at"),
                Optional.ofNullable(row.getString("reason")),
                Optional.ofNullable(row.getString("run")),
                Optional.ofNullable(row.getString("title")),
                row.getInt("status"),
                result == null ? null : JSON.readTree(sealer.open(place(id, "result"), result)));
    }

    private static SealedColumn sealed(String column) {
        return new SealedColumn("approvals", List.of("id"), column, key -> place(key.getFirst(), column));
    }

    private static String place(String id, String column) {
        return "approvals/" + id + "/" + column;
    }

    private static String text(ResultSet row, String column) throws SQLException {
        return Objects.requireNonNull(row.getString(column), column);
    }

    private static Optional<Instant> time(ResultSet row, String column) throws SQLException {
        return Optional.ofNullable(row.getObject(column, OffsetDateTime.class)).map(OffsetDateTime::toInstant);
    }
}
