package dev.berth.agent.chat;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * By which a run is told to stop, wherever it waits. Threads are not interrupted for it: one of them may be with the
 * listener, whose connection to the database would not survive that.
 */
final class Stop {
    /** What the run is to leave behind. */
    enum Kind {
        /** An end, told to everybody. */
        ABORT,
        /** Nothing: somebody else goes on with it, or nobody. */
        LET_GO
    }

    /** Thrown where a run waits when it is told to stop. */
    static final class Stopped extends Exception {
        private static final long serialVersionUID = 1L;
        private final Kind kind;

        private Stopped(Kind kind) {
            super("the run was told to stop", null, false, false);
            this.kind = kind;
        }

        Kind kind() {
            return kind;
        }
    }

    private final CompletableFuture<Kind> asked = new CompletableFuture<>();

    void ask(Kind kind) {
        asked.complete(kind);
    }

    /** Does something as soon as it is asked for. */
    void then(Runnable action) {
        CompletableFuture<Void> _ = asked.thenRun(action);
    }

    void check() throws Stopped {
        if (asked.isDone()) {
            throw new Stopped(asked.join());
        }
    }

    void sleep(Duration time) throws Stopped {
        try {
            throw new Stopped(asked.get(time.toMillis(), TimeUnit.MILLISECONDS));
        } catch (TimeoutException e) {
            // What it should do.
        } catch (ExecutionException e) {
            throw new IllegalStateException("never fails", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new Stopped(Kind.LET_GO);
        }
    }

    /** Waits for something that never fails. */
    <T> T await(CompletableFuture<T> other) throws Stopped {
        CompletableFuture.anyOf(asked, other).join();
        if (other.isDone()) {
            return other.join();
        }
        throw new Stopped(asked.join());
    }
}
