package dev.berth.channel;

import java.time.Duration;

/**
 * How conversations are looked after.
 *
 * @param lease for how long what a server does belongs to it if it says nothing more; then another goes on with it
 * @param sweep how often it is looked for what others left, and for what has to be told
 * @param pace the least time between two boards of one run
 * @param firstRetry how long to wait after a service did not take something; after each time twice as long
 * @param patience how long to try in all
 * @param attachmentBytes how large a file may be that comes with a message
 * @param workspace where agents work, in the home of the sandbox's user
 */
public record ConversationsConfig(
        Duration lease,
        Duration sweep,
        Duration pace,
        Duration firstRetry,
        Duration patience,
        long attachmentBytes,
        String workspace) {
    public static final ConversationsConfig DEFAULT = new ConversationsConfig(
            Duration.ofSeconds(15),
            Duration.ofSeconds(2),
            Duration.ofMillis(250),
            Duration.ofSeconds(1),
            Duration.ofHours(24),
            1L << 30,
            "workspace");

    private static final Duration LONGEST_RETRY = Duration.ofMinutes(1);

    /** How long to wait after so many failures in a row. */
    Duration retry(int failures) {
        Duration exact = firstRetry.multipliedBy(1L << Math.min(Math.max(failures - 1, 0), 16));
        return exact.compareTo(LONGEST_RETRY) < 0 ? exact : LONGEST_RETRY;
    }
}
