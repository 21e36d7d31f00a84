package dev.berth.session;

import dev.berth.sandbox.SandboxException;
import java.time.Duration;
import java.util.Optional;

/**
 * What becomes of a session that nobody uses. Each step can be left out.
 *
 * @param pauseAfter idle for so long, its processes are frozen
 * @param stopAfter idle for so long, its processes are ended
 * @param archiveAfter stopped for so long, its files are packed away
 * @param deleteAfter idle for so long, everything of it is removed
 * @param lifetime so long after it was made it is removed, idle or not
 */
public record IdlePolicy(
        Optional<Duration> pauseAfter,
        Optional<Duration> stopAfter,
        Optional<Duration> archiveAfter,
        Optional<Duration> deleteAfter,
        Optional<Duration> lifetime) {

    public static final IdlePolicy DEFAULT = new IdlePolicy(
            Optional.of(Duration.ofMinutes(10)),
            Optional.of(Duration.ofMinutes(60)),
            Optional.of(Duration.ofHours(2)),
            Optional.of(Duration.ofDays(7)),
            Optional.empty());

    /** Nothing happens by itself. */
    public static final IdlePolicy NEVER =
            new IdlePolicy(Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty());

    public IdlePolicy {
        check("pause after", pauseAfter);
        check("stop after", stopAfter);
        check("archive after", archiveAfter);
        check("delete after", deleteAfter);
        check("lifetime", lifetime);
    }

    public IdlePolicy pauseAfter(Duration idle) {
        return new IdlePolicy(Optional.of(idle), stopAfter, archiveAfter, deleteAfter, lifetime);
    }

    public IdlePolicy stopAfter(Duration idle) {
        return new IdlePolicy(pauseAfter, Optional.of(idle), archiveAfter, deleteAfter, lifetime);
    }

    public IdlePolicy archiveAfter(Duration stopped) {
        return new IdlePolicy(pauseAfter, stopAfter, Optional.of(stopped), deleteAfter, lifetime);
    }

    public IdlePolicy deleteAfter(Duration idle) {
        return new IdlePolicy(pauseAfter, stopAfter, archiveAfter, Optional.of(idle), lifetime);
    }

    public IdlePolicy lifetime(Duration whole) {
        return new IdlePolicy(pauseAfter, stopAfter, archiveAfter, deleteAfter, Optional.of(whole));
    }

    private static void check(String what, Optional<Duration> duration) {
        duration.ifPresent(it -> {
            if (it.isNegative() || it.compareTo(Duration.ofDays(3650)) > 0) {
                throw SandboxException.invalid("'" + what + "' has to be between 0 and ten years");
            }
        });
    }
}
