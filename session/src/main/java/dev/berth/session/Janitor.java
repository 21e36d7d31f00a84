package dev.berth.session;

import dev.berth.sandbox.Capability;
import dev.berth.sandbox.SandboxException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jdbi.v3.core.Handle;

/**
 * Moves idle sessions down the ladder when their time has come, on any number of servers at once: each step is taken in
 * custody of the session, and whoever does not get that leaves it to whoever has it.
 */
final class Janitor {
    private static final int AT_ONCE = 200;
    /** How long a step that failed for a reason of its own is left alone, if its row does not say. */
    private static final Duration AFTER_FAILURE = Duration.ofSeconds(1);

    /** Of several steps that are due, the highest rank is taken; see the view. */
    private static final int LIFETIME_IS_OVER = 5;

    private record Due(SessionKey key, String step, int rank) {}

    private final Parts parts;
    private final PutToSleep sleep;
    private final Removal removal;
    private final Runnable flush;
    private final CountDownLatch stopped = new CountDownLatch(1);
    private final Thread thread;

    /** @param flush writes down what is known in memory, so that the ladder is right about this server's sessions */
    Janitor(Parts parts, PutToSleep sleep, Removal removal, Runnable flush) {
        this.parts = parts;
        this.sleep = sleep;
        this.removal = removal;
        this.flush = flush;
        this.thread = Thread.ofVirtual().name("janitor").unstarted(this::work);
    }

    void start() {
        thread.start();
    }

    private void work() {
        Duration pause = Duration.ZERO;
        boolean failing = false;
        while (pausedFor(pause)) {
            try {
                Duration next = sweep() == AT_ONCE ? Duration.ZERO : untilNext();
                Duration interval = parts.config().janitor();
                pause = next.compareTo(interval) < 0 ? next : interval;
                failing = over(failing);
            } catch (RuntimeException e) {
                failing = failing || trouble(e);
                pause = AFTER_FAILURE;
            }
        }
    }

    private boolean trouble(RuntimeException e) {
        parts.journal().trouble("janitor.failed", e);
        return true;
    }

    private boolean over(boolean failing) {
        if (failing) {
            parts.journal().over("janitor.failed");
        }
        return false;
    }

    /** False if it is time to end. */
    private boolean pausedFor(Duration pause) {
        try {
            return !stopped.await(pause.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            return false;
        }
    }

    /** Takes every step that is due, and returns how many there were. */
    int sweep() {
        flush.run();
        List<Due> due = parts.database().query(this::due);
        due.forEach(this::take);
        return due.size();
    }

    private void take(Due due) {
        try (Custody custody = parts.tryCustody(due.key()).orElse(null)) {
            Optional<SessionInfo> row = custody == null ? Optional.empty() : custody.row();
            if (custody == null || row.isEmpty() || !stillDue(custody, due)) {
                return;
            }
            long began = System.nanoTime();
            try {
                take(custody, row.get(), due);
                parts.journal().took(due.step(), Duration.ofNanos(System.nanoTime() - began));
            } catch (SandboxException e) {
                putOff(custody, row.get(), due, e);
            }
        } catch (SandboxException e) {
            parts.journal().trouble(due.key(), SessionEvent.of("janitor.failed").with("step", due.step()), e);
        }
    }

    private void take(Custody custody, SessionInfo row, Due due) {
        switch (due.step()) {
            case "pause" -> sleep.pause(custody, row, row.idle().pauseAfter());
            case "stop" -> sleep.stop(custody, row, row.idle().stopAfter());
            case "archive" -> sleep.archive(custody, row);
            case "delete" -> delete(custody, row, due.rank());
            default -> throw new IllegalStateException("the ladder has no step " + due.step());
        }
    }

    private void delete(Custody custody, SessionInfo row, int rank) {
        Live live = parts.lives().get(row.key());
        if (rank < LIFETIME_IS_OVER && live != null && live.held()) {
            return;
        }
        Optional<Loss> loss = row.deleteRequested()
                ? Optional.empty()
                : Optional.of(new Loss(
                        Loss.Kind.EVERYTHING,
                        rank == LIFETIME_IS_OVER ? "its lifetime was over" : "it was not used for long and was deleted",
                        "it starts anew"));
        removal.remove(custody, row, loss);
    }

    /** Leaves a step that failed for a while, unless whatever failed has already said for how long. */
    private void putOff(Custody custody, SessionInfo row, Due due, SandboxException e) {
        parts.journal().trouble(due.key(), SessionEvent.of("janitor.failed").with("step", due.step()), e);
        if (custody.row().filter(now -> now.version() == row.version()).isPresent()) {
            RowChange change = RowChange.none()
                    .set("last_error", e.code().wireName() + ": " + e.getMessage())
                    .set("resume_fail_count", row.resumeFailCount() + 1)
                    .fromNow("retry_at", BringUp.backOff(row.resumeFailCount()));
            custody.become(row, row.state(), change, SessionEvent.of("sandbox." + due.step() + ".failed"));
        }
    }

    private List<Due> due(Handle handle) {
        return handle.createQuery("""
                        SELECT DISTINCT ON (tenant, id) tenant, id, step, rank FROM ladder
                        WHERE due_at <= now() AND location = :location AND (step <> 'archive' OR :archives)
                        ORDER BY tenant, id, rank DESC LIMIT :limit""")
                .bind("location", parts.provider().location())
                .bind("archives", parts.provider().capabilities().contains(Capability.ARCHIVE))
                .bind("limit", AT_ONCE)
                .map((row, context) -> new Due(
                        new SessionKey(row.getString("tenant"), row.getString("id")),
                        row.getString("step"),
                        row.getInt("rank")))
                .list();
    }

    /** Somebody may have done it, or used the session, between the look at the ladder and the custody. */
    private static boolean stillDue(Custody custody, Due due) {
        return custody.query(handle -> handle.createQuery("""
                        SELECT EXISTS (SELECT FROM ladder
                        WHERE tenant = :tenant AND id = :id AND step = :step AND due_at <= now())""")
                .bind("tenant", due.key().tenant())
                .bind("id", due.key().id())
                .bind("step", due.step())
                .mapTo(Boolean.class)
                .one());
    }

    private Duration untilNext() {
        Optional<Double> seconds = parts.database()
                .query(handle -> handle.createQuery("SELECT extract(epoch FROM min(due_at) - now())::float8 FROM ladder"
                                + " WHERE due_at > now() AND location = :location")
                        .bind("location", parts.provider().location())
                        .mapTo(Double.class)
                        .findOne());
        // Activity that is not yet written down may put it off; looking once more costs little.
        return seconds.map(s -> Duration.ofMillis(Math.max(10, Math.round(s * 1000))))
                .orElse(parts.config().janitor());
    }

    void stop() {
        stopped.countDown();
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
