package dev.berth.session;

/**
 * What a session lost when its computer had to be made again or started anew, in words that a model can be told.
 *
 * @param kind what is gone
 * @param reason what happened to it
 * @param remains what the session has instead
 */
public record Loss(Kind kind, String reason, String remains) {
    /** How much is gone. */
    public enum Kind {
        /** Running processes; files are all there. */
        PROCESSES,
        /** Processes, and what was written since a point in time. */
        RECENT_FILES,
        /** Everything. */
        EVERYTHING
    }

    /** One sentence or two, for a conversation. */
    public String sentence() {
        return switch (kind) {
            case PROCESSES ->
                "The sandbox was restarted (" + reason + "): processes that ran are gone, " + remains + ".";
            case RECENT_FILES -> "The sandbox was lost (" + reason + ") and made again: " + remains + ".";
            case EVERYTHING ->
                "The sandbox was lost (" + reason + ") and made again: files and processes of before are gone, "
                        + remains + ".";
        };
    }
}
