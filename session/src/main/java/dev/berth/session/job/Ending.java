package dev.berth.session.job;

import dev.berth.sandbox.Exit;
import dev.berth.sandbox.Limit;
import dev.berth.sandbox.Signal;
import org.jspecify.annotations.Nullable;

/** How a job ended. */
record Ending(JobState state, int exitCode, @Nullable String error) {
    private static final int KILLED = 128 + Signal.KILL.number();
    private static final int TERMINATED = 128 + Signal.TERM.number();

    /** It went with its sandbox, or was never there. */
    static Ending lost(String why) {
        return new Ending(JobState.FAILED, KILLED, why);
    }

    /** By the guest's own report. */
    static Ending of(Exit exit, boolean stopped) {
        if (stopped) {
            return new Ending(JobState.STOPPED, exit.signal() == 0 ? exit.code() : TERMINATED, null);
        }
        if (exit.timedOut()) {
            return new Ending(JobState.FAILED, exit.code(), "it ran for longer than its timeout and was ended");
        }
        if (exit.signal() != 0) {
            String why = exit.limitsHit().contains(Limit.MEMORY) ? "; the sandbox was out of memory meanwhile" : "";
            return new Ending(JobState.FAILED, exit.code(), "it was ended by signal " + exit.signal() + why);
        }
        return exit.success()
                ? new Ending(JobState.COMPLETED, 0, null)
                : new Ending(JobState.FAILED, exit.code(), "it ended with exit code " + exit.code());
    }
}
