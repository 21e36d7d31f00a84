package dev.berth.session.job;

import dev.berth.session.SessionKey;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * A job as it is written down.
 *
 * @param command its text, for people
 * @param exitCode as shells count it, once it ended
 * @param error why it failed
 * @param stdoutEnd how much of its standard output was written down
 * @param droppedBytes how much of what was written down, or of what nobody was there to read, is gone again
 * @param server the one that reads what it prints
 */
public record Job(
        String id,
        SessionKey key,
        JobState state,
        String command,
        String actor,
        Optional<String> callId,
        OptionalInt exitCode,
        Optional<String> error,
        Instant createdAt,
        Optional<Instant> endedAt,
        Optional<Instant> observedAt,
        long stdoutEnd,
        long stderrEnd,
        long droppedBytes,
        Optional<String> server,
        boolean stopRequested) {

    public long outputBytes() {
        return stdoutEnd + stderrEnd;
    }

    public boolean running() {
        return state == JobState.RUNNING;
    }
}
