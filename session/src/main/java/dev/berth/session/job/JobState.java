package dev.berth.session.job;

import java.util.Locale;

/** What became of a job. */
public enum JobState {
    /** It runs, or is frozen together with its session. */
    RUNNING,
    /** It ended with exit code 0. */
    COMPLETED,
    /** It ended in any other way, or with its sandbox. */
    FAILED,
    /** Somebody stopped it. */
    STOPPED;

    public static JobState parse(String name) {
        return valueOf(name.toUpperCase(Locale.ROOT));
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
