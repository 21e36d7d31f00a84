package dev.berth.session;

import dev.berth.sandbox.Capability;
import dev.berth.sandbox.SandboxException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jdbi.v3.core.Handle;

/**
 * Moves sessions down the ladder when their time has come, on any number of servers at once: each step is taken in
 * custody of the session, and whoever does not get that leaves it to whoever has it.
 *
 * <p>One thread looks at the ladder when the next step is due, and whenever it is told that a step may be due sooner. The
 * steps are taken by others, a few at a time. A session whose time is over waits neither for one that takes long to be
 * packed away nor for those that are idle: these have places of their own.
 */
final class Janitor {
    private static final int AT_ONCE = 200;
    /** All together fewer than there are connections for transitions, which requests need too. */
    private static final int STEPS = 4;

    private static final int ENDS = 6;
    private static final int PACKINGS = 2;
    /** How long a step that failed for a reason of its own is left alone, if its row does not say. */
    private static final Duration AFTER_FAILURE = Duration.ofSeconds(1);
    /** How soon the end of a session is tried again that somebody is busy with. */
    private static final Duration WHILE_BUSY = Duration.ofMillis(100);
    /** Steps that are due soon after one another are found together. */
    private static final Duration GATHERING = Duration.ofMillis(10);

    /** Of several steps that are due, the highest rank is taken; see the view. From this one on it is not for idleness. */
    private static final int EXPIRED = 5;

    private static final int LIFETIME_IS_OVER = 6;

    private record Due(SessionKey key, String step, int rank) {}

    private final Parts parts;
    private final PutToSleep sleep;
    private final Removal removal;
    private final Runnable flush;
    private final Semaphore ends = new Semaphore(ENDS, true);
    private final Semaphore steps = new Semaphore(STEPS, true);
    private final Semaphore packings = new Semaphore(PACKINGS, true);
    /** By the step, and not by its session: an end is not to wait for a step of idleness that waits for its place. */
    private final Map<Due, CompletableFuture<Void>> underWay = new ConcurrentHashMap<>();

    private final Thread thread;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    /** When to look next, by {@link System#nanoTime}. Guarded by the lock. */
    private long next = System.nanoTime();
    /** How many steps were taken. */
    private final AtomicLong ended = new AtomicLong();
    /** Whether the end of a step is a reason to look again. */
    private volatile boolean looksAfterSteps;
    /** Written under the lock. */
    private volatile boolean stopping;

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

    /** To be told when a step may be due before the time that was planned for; costs next to nothing if it is not. */
    void expectStep(Duration fromNow) {
        lock.lock();
        try {
            long at = System.nanoTime() + fromNow.toNanos();
            if (at - next < 0) {
                next = at;
                changed.signal();
            }
        } finally {
            lock.unlock();
        }
    }

    private void work() {
        boolean failing = false;
        while (awaitNext()) {
            try {
                begin();
                untilNext().ifPresent(this::expectStep);
                failing = over(failing);
            } catch (RuntimeException e) {
                failing = failing || trouble(e);
                expectStep(AFTER_FAILURE);
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
    private boolean awaitNext() {
        lock.lock();
        try {
            for (long left = next - System.nanoTime(); left > 0 && !stopping; left = next - System.nanoTime()) {
                var _ = changed.awaitNanos(left);
            }
            next = System.nanoTime() + parts.config().janitor().toNanos();
            return !stopping;
        } catch (InterruptedException e) {
            return false;
        } finally {
            lock.unlock();
        }
    }

    /** Takes every step that is due. */
    void sweep() {
        begin();
        awaitSteps();
    }

    private void awaitSteps() {
        underWay.values().forEach(CompletableFuture::join);
    }

    /** Has every step taken that is due. */
    private void begin() {
        long endedBefore = ended.get();
        flush.run();
        List<Due> due = parts.database().query(this::due);
        long begun = due.stream().filter(this::begin).count();
        boolean more = due.size() == AT_ONCE;
        if (more && begun > 0) {
            expectStep(GATHERING);
        }
        // If all of these are under way, looking again would only find them again.
        looksAfterSteps = more && begun == 0;
        if (looksAfterSteps && ended.get() != endedBefore) {
            expectStep(GATHERING); // one of them ended while they were looked at
        }
    }

    /** Begins a step, unless it is under way. */
    private boolean begin(Due due) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        boolean mine = underWay.putIfAbsent(due, done) == null;
        if (mine) {
            Thread.ofVirtual().name("janitor " + due.key()).start(() -> {
                try {
                    inTurn(due);
                } finally {
                    underWay.remove(due);
                    done.complete(null);
                    ended.incrementAndGet();
                    if (looksAfterSteps) {
                        expectStep(GATHERING);
                    }
                }
            });
        }
        return mine;
    }

    private Semaphore places(Due due) {
        if (due.rank() >= EXPIRED) {
            return ends;
        }
        return due.step().equals("archive") ? packings : steps;
    }

    private void inTurn(Due due) {
        Semaphore places = places(due);
        places.acquireUninterruptibly();
        try {
            if (!stopping) {
                take(due);
            }
        } catch (RuntimeException e) {
            parts.journal().trouble(due.key(), SessionEvent.of("janitor.failed").with("step", due.step()), e);
            expectStep(AFTER_FAILURE);
        } finally {
            places.release();
        }
    }

    private void take(Due due) {
        try (Custody custody = parts.tryCustody(due.key()).orElse(null)) {
            if (custody == null) {
                if (due.rank() >= EXPIRED) {
                    expectStep(WHILE_BUSY);
                }
                return;
            }
            Optional<SessionInfo> row = custody.row();
            if (row.isEmpty() || !stillDue(custody, due)) {
                return;
            }
            long began = System.nanoTime();
            try {
                if (take(custody, row.get(), due)) {
                    expectStep(GATHERING); // the next step of the same session may be due already
                }
                parts.journal().took(due.step(), Duration.ofNanos(System.nanoTime() - began));
            } catch (SandboxException e) {
                putOff(custody, row.get(), due, e);
                expectStep(AFTER_FAILURE);
            }
        }
    }

    private boolean take(Custody custody, SessionInfo row, Due due) {
        boolean expired = due.rank() == EXPIRED;
        return switch (due.step()) {
            case "pause" ->
                sleep.pause(
                        custody, row, expired ? Optional.empty() : row.idle().pauseAfter());
            case "stop" ->
                sleep.stop(custody, row, expired ? Optional.empty() : row.idle().stopAfter());
            case "archive" -> sleep.archive(custody, row);
            case "delete" -> delete(custody, row, due.rank());
            default -> throw new IllegalStateException("the ladder has no step " + due.step());
        };
    }

    private boolean delete(Custody custody, SessionInfo row, int rank) {
        Live live = parts.lives().get(row.key());
        if (rank < EXPIRED && live != null && live.held()) {
            return false;
        }
        Optional<Loss> loss = row.deleteRequested()
                ? Optional.empty()
                : Optional.of(new Loss(Loss.Kind.EVERYTHING, reason(rank), "it starts anew"));
        removal.remove(custody, row, loss);
        return true;
    }

    private static String reason(int rank) {
        return switch (rank) {
            case EXPIRED -> "its time was over";
            case LIFETIME_IS_OVER -> "its lifetime was over";
            default -> "it was not used for long and was deleted";
        };
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
                        SELECT tenant, id, step, rank FROM (
                            SELECT DISTINCT ON (tenant, id) tenant, id, step, rank, due_at FROM ladder
                            WHERE due_at <= now() AND location = :location AND (step <> 'archive' OR :archives)
                            ORDER BY tenant, id, rank DESC
                        ) AS steps ORDER BY rank >= :expired DESC, due_at LIMIT :limit""")
                .bind("location", parts.provider().location())
                .bind("archives", parts.provider().capabilities().contains(Capability.ARCHIVE))
                .bind("expired", EXPIRED)
                .bind("limit", AT_ONCE)
                .map((row, context) -> new Due(
                        new SessionKey(row.getString("tenant"), row.getString("id")),
                        row.getString("step"),
                        row.getInt("rank")))
                .list();
    }

    /** Somebody may have done it, or used the session, between the look at the ladder and the custody. */
    private static boolean stillDue(Custody custody, Due due) {
        if (due.rank() == EXPIRED) {
            return custody.query(handle -> SessionTable.claimEnd(handle, due.key(), due.step(), due.rank()));
        }
        return custody.query(handle -> handle.createQuery("""
                        SELECT EXISTS (SELECT FROM ladder
                        WHERE tenant = :tenant AND id = :id AND step = :step AND rank = :rank AND due_at <= now())""")
                .bind("tenant", due.key().tenant())
                .bind("id", due.key().id())
                .bind("step", due.step())
                .bind("rank", due.rank())
                .mapTo(Boolean.class)
                .one());
    }

    private Optional<Duration> untilNext() {
        Optional<Double> seconds = parts.database()
                .query(handle -> handle.createQuery("SELECT extract(epoch FROM min(due_at) - now())::float8 FROM ladder"
                                + " WHERE due_at > now() AND location = :location")
                        .bind("location", parts.provider().location())
                        .mapTo(Double.class)
                        .findOne());
        // Activity that is not yet written down may put it off; looking once more costs little.
        return seconds.map(s -> Duration.ofMillis(Math.max(GATHERING.toMillis(), Math.round(s * 1000))));
    }

    void stop() {
        lock.lock();
        try {
            stopping = true;
            changed.signal();
        } finally {
            lock.unlock();
        }
        try {
            thread.join();
            awaitSteps();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
