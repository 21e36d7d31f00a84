package dev.berth.channel;

import dev.berth.agent.run.Run;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.EventFollower;
import dev.berth.session.LoggedEvent;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Shows one run in its place, from its first event to its last. It reads what happens from the session's log, and gives
 * the channel a new board whenever there is one and the call before has returned; so a slow service sees fewer boards,
 * and nothing is kept for it.
 */
final class Delivery {
    private static final Logger LOG = LoggerFactory.getLogger(Delivery.class);
    /** After so long without an event it is asked whether the run still goes on. */
    private static final Duration LOOK = Duration.ofSeconds(5);
    /** So many pages of events are read before something is shown. */
    private static final int PAGES = 100;

    private enum Shown {
        TAKEN,
        LATER,
        /** It is all shown, or this is not the server's any more, or the service does not want it. */
        OVER
    }

    private final Parts parts;
    private final Channel channel;
    private final DeliveryTable.Open open;
    private final Files files;
    /** Held while something is shown, which should not be cut off halfway. */
    private final ReentrantLock showing = new ReentrantLock();

    private final Thread thread;
    private String memo;
    private int failures;
    private long paceUntil = System.nanoTime();
    private long retryAt = System.nanoTime();

    Delivery(Parts parts, Channel channel, DeliveryTable.Open open, Runnable atEnd) {
        this.parts = parts;
        this.channel = channel;
        this.open = open;
        this.memo = open.memo();
        this.files = new Shelf(parts.artifacts(), open.place().key());
        this.thread = Thread.ofVirtual().name("delivery " + open.run()).unstarted(() -> {
            try {
                run();
            } finally {
                atEnd.run();
            }
        });
    }

    void start() {
        thread.start();
    }

    private void run() {
        try {
            if (open.failure().isPresent()) {
                refuse(open.failure().get());
            } else {
                follow();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // whoever has the lease next goes on
        } catch (RuntimeException e) {
            LOG.atError().addKeyValue("run", open.run()).setCause(e).log("channel.delivery.failed");
        }
    }

    private void refuse(String error) throws InterruptedException {
        Board board = BoardBuilder.refused(open.run(), open.requester(), error);
        while (show(board) == Shown.LATER) {
            TimeUnit.NANOSECONDS.sleep(retryAt - System.nanoTime());
        }
    }

    private void follow() throws InterruptedException {
        BoardBuilder board = new BoardBuilder(open.run(), open.requester());
        long after = Math.max(0, open.firstEvent() - 1);
        try (EventFollower follower =
                parts.sessions().events().follow(open.place().key(), after)) {
            read(follower, board, Duration.ZERO);
            int ends = 0;
            while (!follower.ended()) {
                Duration wait = wait(board);
                if (board.changed() && wait.isZero()) {
                    switch (show(board.board())) {
                        case OVER -> {
                            return;
                        }
                        case LATER -> board.again();
                        case TAKEN -> {}
                    }
                    wait = wait(board);
                }
                boolean quiet = !read(follower, board, wait);
                if (quiet && !board.changed()) {
                    Optional<Run> run = parts.agents().find(open.run());
                    boolean over = run.isEmpty() || run.get().state().ended();
                    // The last event is written a moment after the row, so it is looked for once more.
                    ends = over ? ends + 1 : 0;
                    if (ends > 1) {
                        run.ifPresentOrElse(board::endAs, board::endLost);
                    }
                }
            }
        }
    }

    /** How long nothing may be shown, or need not be. */
    private Duration wait(BoardBuilder board) {
        if (!board.changed()) {
            return LOOK;
        }
        long now = System.nanoTime();
        long left = Math.max(retryAt - now, board.ended() ? 0 : paceUntil - now);
        return left > 0 ? Duration.ofNanos(left) : Duration.ZERO;
    }

    /** Reads all there is, or waits for something. @return whether there was anything */
    private boolean read(EventFollower follower, BoardBuilder board, Duration wait) throws InterruptedException {
        try {
            List<LoggedEvent> events = follower.next(wait);
            boolean any = !events.isEmpty();
            for (int page = 0; page < PAGES && !events.isEmpty(); page++) {
                events.forEach(board::add);
                events = follower.next(Duration.ZERO);
            }
            events.forEach(board::add);
            return any;
        } catch (SandboxException e) {
            // The database is away. It says so itself; here it only takes longer.
            LOG.atDebug().addKeyValue("run", open.run()).setCause(e).log("channel.delivery.waits");
            Thread.sleep(parts.config().firstRetry());
            return true;
        }
    }

    private Shown show(Board board) throws InterruptedException {
        showing.lockInterruptibly();
        try {
            memo = channel.show(open.place().place(), open.reply(), board, files, memo);
            failures = 0;
            paceUntil = System.nanoTime() + parts.config().pace().toNanos();
            boolean last = board.end().isPresent();
            return keep(last ? "done" : "open") && !last ? Shown.TAKEN : Shown.OVER;
        } catch (ChannelException e) {
            return failed(e, e.lasting(), e.retryAfter());
        } catch (SandboxException e) {
            return failed(e, false, Optional.empty());
        } finally {
            showing.unlock();
        }
    }

    /** Writes down what the channel said, as long as it takes: what was shown cannot be taken back. */
    private boolean keep(String state) throws InterruptedException {
        for (int tried = 1; ; tried++) {
            try {
                return parts.database()
                        .query(handle -> DeliveryTable.shown(handle, open.run(), parts.server(), memo, state));
            } catch (SandboxException e) {
                LOG.atDebug().addKeyValue("run", open.run()).setCause(e).log("channel.delivery.waits");
                Thread.sleep(parts.config().retry(tried));
            }
        }
    }

    private Shown failed(RuntimeException e, boolean lasting, Optional<Duration> retryAfter)
            throws InterruptedException {
        failures++;
        boolean tooLong = open.since().plus(parts.config().patience()).isBefore(Instant.now());
        if (lasting || tooLong) {
            LOG.atWarn()
                    .addKeyValue("run", open.run())
                    .addKeyValue("channel", channel.name())
                    .addKeyValue("error", e.getMessage())
                    .log("channel.delivery.given-up");
            keep("given_up");
            return Shown.OVER;
        }
        LOG.atInfo()
                .addKeyValue("run", open.run())
                .addKeyValue("channel", channel.name())
                .addKeyValue("error", e.getMessage())
                .log("channel.delivery.retried");
        Duration pause = parts.config().retry(failures);
        Duration asked = retryAfter.orElse(Duration.ZERO);
        retryAt = System.nanoTime() + (asked.compareTo(pause) > 0 ? asked : pause).toNanos();
        return Shown.LATER;
    }

    /** Ends it, after what is being shown if that does not take too long. Somebody else goes on later. */
    void halt(Duration patience) {
        boolean free = false;
        try {
            free = showing.tryLock(patience.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        thread.interrupt();
        if (free) {
            showing.unlock();
        }
    }
}
