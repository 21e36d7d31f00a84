package dev.berth.gateway.webhook;

import dev.berth.gateway.config.SealedColumn;
import dev.berth.gateway.config.Sealer;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.job.Job;
import dev.berth.session.job.JobListener;
import dev.berth.session.store.Database;
import java.security.SecureRandom;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.Base64;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.StatementContext;
import tools.jackson.databind.json.JsonMapper;

/** The webhooks of tenants, and what they are told. A delivery is written in the transaction that ends the job. */
public final class Webhooks implements JobListener, AutoCloseable {
    public static final String FINISHED = "agent.finished";

    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int MOST = 50;
    private static final int SECRET_BYTES = 24;

    /** What is sealed of them. */
    public static final SealedColumn SEALED =
            new SealedColumn("webhooks", List.of("id"), "secret_sealed", key -> place(key.getFirst()));

    /** A webhook; its secret is not told. */
    public record Webhook(String id, String url, List<String> events, boolean enabled, Instant createdAt) {}

    /** One that was just made, with the secret that is not told again. */
    public record Made(Webhook webhook, String secret) {}

    /** What a webhook was told, or is to be told. */
    public record Delivery(
            String id,
            String event,
            String job,
            String state,
            int attempts,
            OptionalInt lastStatus,
            Optional<String> lastError,
            Instant createdAt,
            Optional<Instant> nextAttemptAt,
            Optional<Instant> deliveredAt) {}

    private final Database database;
    private final Sealer sealer;
    private final WebhooksConfig config;
    private final SecureRandom random = new SecureRandom();
    private final Sender sender;

    public Webhooks(Database database, Sealer sealer, WebhooksConfig config) {
        this.database = database;
        this.sealer = sealer;
        this.config = config;
        this.sender = new Sender(database, sealer, config, random);
    }

    // ---- for tenants ---------------------------------------------------------------------------------------------

    public Made make(String tenant, String url, List<String> events) {
        Target.of(url, config.privateAddresses());
        String id = "wh_" + random();
        byte[] key = new byte[SECRET_BYTES];
        random.nextBytes(key);
        String secret = Signature.SECRET_PREFIX + Base64.getEncoder().encodeToString(key);
        return database.query(handle -> handle.createQuery("""
                        INSERT INTO webhooks (id, tenant, url, events, secret_sealed)
                        SELECT :id, :tenant, :url, :events, :secret
                        WHERE (SELECT count(*) FROM webhooks WHERE tenant = :tenant) < :most
                        RETURNING id, url, events, created_at, disabled_at""")
                .bind("id", id)
                .bind("tenant", tenant)
                .bind("url", url)
                .bindArray("events", String.class, events)
                .bind("secret", sealer.seal(place(id), secret))
                .bind("most", MOST)
                .map(Webhooks::webhook)
                .findOne()
                .map(webhook -> new Made(webhook, secret))
                .orElseThrow(() -> SandboxException.limit(
                        "a tenant can have " + MOST + " webhooks; remove one that is not needed")));
    }

    public List<Webhook> list(String tenant) {
        return database.query(handle -> handle.createQuery("""
                        SELECT id, url, events, created_at, disabled_at FROM webhooks
                        WHERE tenant = :tenant ORDER BY created_at, id""")
                .bind("tenant", tenant)
                .map(Webhooks::webhook)
                .list());
    }

    public void remove(String tenant, String id) {
        int removed =
                database.query(handle -> handle.createUpdate("DELETE FROM webhooks WHERE id = :id AND tenant = :tenant")
                        .bind("id", id)
                        .bind("tenant", tenant)
                        .execute());
        if (removed == 0) {
            throw unknown();
        }
    }

    /** The newest first. */
    public List<Delivery> deliveries(String tenant, String id, int limit) {
        if (list(tenant).stream().noneMatch(webhook -> webhook.id().equals(id))) {
            throw unknown();
        }
        return database.query(handle -> handle.createQuery("""
                        SELECT * FROM webhook_deliveries WHERE webhook = :id ORDER BY created_at DESC, id LIMIT :limit""")
                .bind("id", id)
                .bind("limit", limit)
                .map(Webhooks::delivery)
                .list());
    }

    private static SandboxException unknown() {
        return SandboxException.notFound("there is no such webhook");
    }

    static String place(String id) {
        return "webhook " + id;
    }

    private String random() {
        byte[] value = new byte[12];
        random.nextBytes(value);
        return HexFormat.of().formatHex(value);
    }

    // ---- what happened -------------------------------------------------------------------------------------------

    @Override
    public void ended(Handle handle, Job job) {
        List<String> webhooks = handle.createQuery("""
                        SELECT id FROM webhooks WHERE tenant = :tenant AND disabled_at IS NULL AND :event = ANY (events)""")
                .bind("tenant", job.key().tenant())
                .bind("event", FINISHED)
                .mapTo(String.class)
                .list();
        for (String webhook : webhooks) {
            handle.createUpdate("""
                            INSERT INTO webhook_deliveries (id, webhook, event, job_id, body)
                            VALUES (:id, :webhook, :event, :job, :body)""")
                    .bind("id", "msg_" + random())
                    .bind("webhook", webhook)
                    .bind("event", FINISHED)
                    .bind("job", job.id())
                    .bind("body", body(job))
                    .execute();
        }
    }

    /** Without the command and what it printed, which may be secret: whoever wants them has a key to ask with. */
    private static String body(Job job) {
        Instant at = job.endedAt().orElseThrow();
        Map<String, Object> data = new LinkedHashMap<>();
        data.put("job_id", job.id());
        data.put("tenant_id", job.key().tenant());
        data.put("session_id", job.key().id());
        data.put("state", job.state().toString());
        job.exitCode().ifPresent(code -> data.put("exit_code", code));
        job.error().ifPresent(error -> data.put("error", error));
        data.put("created_at", job.createdAt().toString());
        data.put("ended_at", at.toString());
        data.put("output_bytes", job.outputBytes());
        Map<String, Object> body = new LinkedHashMap<>();
        body.put("type", FINISHED);
        body.put("timestamp", at.toString());
        body.put("data", data);
        return JSON.writeValueAsString(body);
    }

    /** Who has read it already need not be told; one that is on its way cannot be called back. */
    @Override
    public void observed(Handle handle, Job job) {
        handle.createUpdate("""
                        UPDATE webhook_deliveries SET state = 'observed'
                        WHERE job_id = :job AND state = 'waiting' AND (leased_until IS NULL OR leased_until < now())""").bind("job", job.id()).execute();
    }

    @Override
    public void written() {
        sender.wake();
    }

    /** Sends no more; what is being sent is finished. */
    @Override
    public void close() {
        sender.close();
    }

    private static Webhook webhook(ResultSet row, StatementContext context) throws SQLException {
        String[] events =
                (String[]) Objects.requireNonNull(row.getArray("events")).getArray();
        return new Webhook(
                Objects.requireNonNull(row.getString("id")),
                Objects.requireNonNull(row.getString("url")),
                List.of(events),
                row.getObject("disabled_at") == null,
                time(row, "created_at").orElseThrow());
    }

    private static Delivery delivery(ResultSet row, StatementContext context) throws SQLException {
        int status = row.getInt("last_status");
        OptionalInt lastStatus = row.wasNull() ? OptionalInt.empty() : OptionalInt.of(status);
        String state = Objects.requireNonNull(row.getString("state"));
        return new Delivery(
                Objects.requireNonNull(row.getString("id")),
                Objects.requireNonNull(row.getString("event")),
                Objects.requireNonNull(row.getString("job_id")),
                state,
                row.getInt("attempts"),
                lastStatus,
                Optional.ofNullable(row.getString("last_error")),
                time(row, "created_at").orElseThrow(),
                state.equals("waiting") ? time(row, "next_attempt_at") : Optional.empty(),
                time(row, "delivered_at"));
    }

    private static Optional<Instant> time(ResultSet row, String column) throws SQLException {
        return Optional.ofNullable(row.getObject(column, OffsetDateTime.class)).map(OffsetDateTime::toInstant);
    }
}
