package dev.berth.tool;

import dev.berth.sandbox.Change;
import dev.berth.sandbox.Limit;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * How a call ended, and what it printed.
 *
 * @param exitCode the program's own; 128 and the signal if one ended it; {@link #TIMED_OUT} if the timeout did
 * @param stdout as text; of a long output the beginning and the end, with a line in between that says what is missing
 * @param truncated whether some of the output is missing here
 * @param limitsHit the limits that it, or something beside it in the sandbox, ran into meanwhile
 * @param outputId names the whole output in the {@link OutputStore}; there whenever this has not every byte of it, as it
 *     was too long or not UTF-8
 * @param changes the files that differ from before the call, if that was asked for
 */
public record RunResult(
        int exitCode,
        boolean timedOut,
        Duration duration,
        String stdout,
        String stderr,
        boolean truncated,
        Set<Limit> limitsHit,
        Optional<String> outputId,
        Optional<List<Change>> changes) {
    /** As timeout(1) has it. */
    public static final int TIMED_OUT = 124;

    public RunResult {
        limitsHit = Set.copyOf(limitsHit);
        changes = changes.map(List::copyOf);
    }

    /** Of a call that ran nothing and has a text to tell. */
    public static RunResult text(String text, Duration took) {
        return new RunResult(0, false, took, text, "", false, Set.of(), Optional.empty(), Optional.empty());
    }

    public boolean ok() {
        return exitCode == 0;
    }

    RunResult withChanges(List<Change> found) {
        return new RunResult(
                exitCode, timedOut, duration, stdout, stderr, truncated, limitsHit, outputId, Optional.of(found));
    }
}
