package dev.berth.session;

import dev.berth.sandbox.CommandInfo;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import org.slf4j.event.Level;

/** Makes sure that a sandbox, and what has to run in it, answers. */
final class Health {
    private static final Duration FIRST_POLL = Duration.ofMillis(20);

    private final SessionsConfig config;
    private final Journal journal;

    Health(SessionsConfig config, Journal journal) {
        this.config = config;
        this.journal = journal;
    }

    /**
     * For a sandbox that should be running. If its supervisor does not answer it is started again, which costs its
     * processes but none of its files.
     */
    Optional<Loss> ensureAnswering(SessionKey key, Sandbox sandbox) {
        if (answers(sandbox)) {
            return Optional.empty();
        }
        retry(key, "supervisor");
        sandbox.stop();
        sandbox.wake();
        awaitAnswer(key, sandbox);
        return Optional.of(
                new Loss(Loss.Kind.PROCESSES, "its supervisor did not answer any more", "the files are all there"));
    }

    /** For a sandbox that was just started. Where the provider tells by itself when it is ready, nobody is asked. */
    void awaitAnswer(SessionKey key, Sandbox sandbox) {
        if (!sandbox.ready()) {
            poll(key, "supervisor", () -> answers(sandbox));
        }
    }

    /** Starts the resident if it is down, and waits until it answers. Returns whether it had to be started. */
    boolean ensureResident(SessionInfo session, Sandbox sandbox, Resident resident) {
        if (resident.healthy(sandbox)) {
            return false;
        }
        resident.start(sandbox, session);
        poll(session.key(), "agent", () -> resident.healthy(sandbox));
        return true;
    }

    private void poll(SessionKey key, String what, BooleanSupplier healthy) {
        Deadline deadline = Deadline.after(config.healthLimit());
        Duration pause = FIRST_POLL;
        while (!healthy.getAsBoolean()) {
            if (deadline.passed()) {
                throw SandboxException.unavailable("the " + what + " of session " + key + " did not answer within "
                        + config.healthLimit().toSeconds() + " s; it is tried again with the next request");
            }
            retry(key, what);
            sleep(pause);
            pause = pause.multipliedBy(2).compareTo(config.healthPoll()) < 0
                    ? pause.multipliedBy(2)
                    : config.healthPoll();
        }
    }

    /** Asks on a thread of its own: whoever does not answer may keep the one who asked waiting. */
    private boolean answers(Sandbox sandbox) {
        FutureTask<List<CommandInfo>> question = new FutureTask<>(sandbox::commands);
        Thread.ofVirtual().name("health of " + sandbox.id()).start(question);
        try {
            question.get(config.healthProbe().toNanos(), TimeUnit.NANOSECONDS);
            return true;
        } catch (TimeoutException e) {
            return false;
        } catch (ExecutionException e) {
            if (e.getCause() instanceof SandboxException known && known.code() == ErrorCode.GONE) {
                throw known;
            }
            return false;
        } catch (InterruptedException e) {
            throw interrupted(e);
        }
    }

    private void retry(SessionKey key, String what) {
        journal.tell(key, SessionEvent.of("sandbox.health.retry").with("of", what), Level.WARN);
    }

    private static void sleep(Duration pause) {
        try {
            Thread.sleep(pause);
        } catch (InterruptedException e) {
            throw interrupted(e);
        }
    }

    private static SandboxException interrupted(InterruptedException e) {
        Thread.currentThread().interrupt();
        return SandboxException.unavailable("interrupted while waiting for a sandbox", e);
    }
}
