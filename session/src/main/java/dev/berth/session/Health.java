package dev.berth.session;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import java.time.Duration;
import java.util.Optional;
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

    private static boolean answers(Sandbox sandbox) {
        try {
            var _ = sandbox.commands();
            return true;
        } catch (SandboxException e) {
            if (e.code() == ErrorCode.GONE) {
                throw e;
            }
            return false;
        }
    }

    private void retry(SessionKey key, String what) {
        journal.tell(key, SessionEvent.of("sandbox.health.retry").with("of", what), Level.WARN);
    }

    private static void sleep(Duration pause) {
        try {
            Thread.sleep(pause);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("interrupted while waiting for a sandbox", e);
        }
    }
}
