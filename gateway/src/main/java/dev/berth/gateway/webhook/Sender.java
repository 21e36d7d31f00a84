package dev.berth.gateway.webhook;

import dev.berth.gateway.config.Sealer;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.store.Database;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends what is due, on any number of servers at once: each delivery is leased to one of them while it is sent. What a
 * server that died had leased is sent by another when the lease is over.
 */
final class Sender implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Sender.class);
    private static final int AT_ONCE = 16;
    /** Longer than one attempt can take. */
    private static final Duration LEASE = Duration.ofSeconds(30);

    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(30);
    private static final Duration LONGEST_RETRY = Duration.ofHours(1);
    private static final Duration KEPT = Duration.ofDays(7);
    private static final Duration STOPPING = Duration.ofSeconds(15);
    private static final int GONE = 410;

    private record Due(
            String id, String webhook, String url, byte[] secret, String body, int attempts, Instant createdAt) {}

    private final Database database;
    private final Sealer sealer;
    private final WebhooksConfig config;
    private final RandomGenerator random;
    private final Semaphore woken = new Semaphore(0);
    private final Semaphore places = new Semaphore(AT_ONCE);
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile boolean closed;

    Sender(Database database, Sealer sealer, WebhooksConfig config, RandomGenerator random) {
        this.database = database;
        this.sealer = sealer;
        this.config = config;
        this.random = random;
        Thread.ofVirtual().name("webhooks").start(this::work);
    }

    void wake() {
        woken.release();
    }

    private void work() {
        try {
            while (!closed) {
                Duration pause = LONGEST_PAUSE;
                try {
                    sendDue();
                    pause = untilNext();
                } catch (SandboxException e) {
                    LOG.atWarn().addKeyValue("error", e.getMessage()).log("webhook.failed");
                }
                boolean _ = woken.tryAcquire(pause.toMillis(), TimeUnit.MILLISECONDS);
                woken.drainPermits();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            ended.countDown();
        }
    }

    private void sendDue() throws InterruptedException {
        while (!closed) {
            places.acquire(); // before it is leased, or the lease might run out while it waits
            Optional<Due> due = Optional.empty();
            try {
                due = database.query(handle -> claim(handle));
            } finally {
                if (due.isEmpty()) {
                    places.release();
                }
            }
            if (due.isEmpty()) {
                return;
            }
            Due delivery = due.get();
            Thread.ofVirtual().name("webhook " + delivery.id()).start(() -> {
                try {
                    send(delivery);
                } catch (RuntimeException e) {
                    LOG.atWarn()
                            .addKeyValue("delivery", delivery.id())
                            .setCause(e)
                            .log("webhook.failed");
                } finally {
                    places.release();
                }
            });
        }
    }

    private static Optional<Due> claim(org.jdbi.v3.core.Handle handle) {
        return handle.createQuery("""
                        UPDATE webhook_deliveries AS d
                        SET leased_until = now() + :lease * interval '1 millisecond', attempts = attempts + 1
                        FROM webhooks AS w
                        WHERE w.id = d.webhook AND d.id = (
                            SELECT id FROM webhook_deliveries
                            WHERE state = 'waiting' AND next_attempt_at <= now()
                            AND (leased_until IS NULL OR leased_until < now())
                            ORDER BY next_attempt_at LIMIT 1 FOR UPDATE SKIP LOCKED)
                        RETURNING d.id, d.webhook, w.url, w.secret_sealed, d.body, d.attempts, d.created_at""")
                .bind("lease", LEASE.toMillis())
                .map((row, context) -> new Due(
                        Objects.requireNonNull(row.getString("id")),
                        Objects.requireNonNull(row.getString("webhook")),
                        Objects.requireNonNull(row.getString("url")),
                        Objects.requireNonNull(row.getBytes("secret_sealed")),
                        Objects.requireNonNull(row.getString("body")),
                        row.getInt("attempts"),
                        Objects.requireNonNull(row.getTimestamp("created_at")).toInstant()))
                .findOne();
    }

    private void send(Due due) {
        int status = 0;
        String error = null;
        try {
            Target target = Target.of(due.url(), config.privateAddresses());
            String secret = sealer.open(Webhooks.place(due.webhook()), due.secret());
            long seconds = Instant.now().getEpochSecond();
            Map<String, String> headers = new LinkedHashMap<>();
            headers.put("Content-Type", "application/json");
            headers.put("User-Agent", "Berth");
            headers.put("webhook-id", due.id());
            headers.put("webhook-timestamp", Long.toString(seconds));
            headers.put("webhook-signature", Signature.of(secret, due.id(), seconds, due.body()));
            status = Post.send(target, headers, due.body());
        } catch (IOException | SandboxException e) {
            error = String.valueOf(e.getMessage());
        }
        if (status >= 200 && status < 300) {
            delivered(due, status);
        } else if (status == GONE) {
            disable(due);
        } else {
            failed(due, status, error == null ? "it answered with status " + status : error);
        }
    }

    private void delivered(Due due, int status) {
        database.query(handle -> handle.createUpdate("""
                        UPDATE webhook_deliveries
                        SET state = 'delivered', delivered_at = now(), last_status = :status, last_error = NULL, leased_until = NULL
                        WHERE id = :id""")
                .bind("id", due.id())
                .bind("status", status)
                .execute());
    }

    /** It says that it is not there any more, for good. */
    private void disable(Due due) {
        database.transaction(handle -> {
            handle.createUpdate("UPDATE webhooks SET disabled_at = now() WHERE id = :id AND disabled_at IS NULL")
                    .bind("id", due.webhook())
                    .execute();
            return handle.createUpdate("""
                            UPDATE webhook_deliveries SET state = 'given_up', last_status = :status, leased_until = NULL,
                                last_error = 'it answered that it is gone'
                            WHERE webhook = :webhook AND state = 'waiting'""")
                    .bind("webhook", due.webhook())
                    .bind("status", GONE)
                    .execute();
        });
    }

    private void failed(Due due, int status, String error) {
        Duration pause = pause(due.attempts());
        boolean last = Instant.now().plus(pause).isAfter(due.createdAt().plus(config.patience()));
        @Nullable Integer answered = status == 0 ? null : status;
        database.query(handle -> handle.createUpdate("""
                        UPDATE webhook_deliveries SET
                            -- Somebody may have read it while it was on its way.
                            state = CASE WHEN EXISTS (
                                SELECT FROM jobs WHERE jobs.id = job_id AND observed_at IS NOT NULL
                            ) THEN 'observed' ELSE :state END,
                            last_status = :status, last_error = :error,
                            leased_until = NULL, next_attempt_at = now() + :pause * interval '1 millisecond'
                        WHERE id = :id AND state = 'waiting'""")
                .bind("id", due.id())
                .bind("state", last ? "given_up" : "waiting")
                .bind("status", answered)
                .bind("error", error)
                .bind("pause", pause.toMillis())
                .execute());
        wake();
    }

    /** Twice as long after each attempt, and never the same for all who failed together. */
    private Duration pause(int attempts) {
        double exact = config.firstRetry().toMillis() * Math.pow(2, Math.min(attempts - 1, 30));
        double bounded = Math.min(exact, (double) LONGEST_RETRY.toMillis());
        return Duration.ofMillis(Math.round(bounded * random.nextDouble(0.75, 1.25)));
    }

    /** Also forgets what was settled long ago. */
    private Duration untilNext() {
        List<Double> seconds = database.query(handle -> {
            handle.createUpdate(
                            "DELETE FROM webhook_deliveries WHERE created_at < now() - :kept * interval '1 millisecond'")
                    .bind("kept", KEPT.toMillis())
                    .execute();
            return handle.createQuery("""
                            SELECT extract(epoch FROM min(greatest(next_attempt_at, leased_until)) - now())::float8 AS seconds
                            FROM webhook_deliveries WHERE state = 'waiting' HAVING count(*) > 0""").mapTo(Double.class).list();
        });
        Duration next = seconds.isEmpty()
                ? LONGEST_PAUSE
                : Duration.ofMillis(Math.max(10, Math.round(seconds.getFirst() * 1000)));
        return next.compareTo(LONGEST_PAUSE) < 0 ? next : LONGEST_PAUSE;
    }

    @Override
    public void close() {
        closed = true;
        wake();
        try {
            boolean over = ended.await(STOPPING.toMillis(), TimeUnit.MILLISECONDS)
                    && places.tryAcquire(AT_ONCE, STOPPING.toMillis(), TimeUnit.MILLISECONDS);
            if (!over) {
                LOG.warn("some webhooks do not answer; they are told again later");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
