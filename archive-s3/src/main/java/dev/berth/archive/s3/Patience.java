package dev.berth.archive.s3;

import java.time.Duration;
import software.amazon.awssdk.awscore.AwsRequestOverrideConfiguration;

/**
 * How long to wait for a store.
 *
 * @param connect for a connection
 * @param silence for the next byte of an answer
 * @param attempt for an answer to a request that moves no bytes to speak of; what moves some has longer
 * @param bytesPerSecond slower than this, a connection counts as broken
 */
record Patience(Duration connect, Duration silence, Duration attempt, long bytesPerSecond) {
    static final Patience DEFAULT =
            new Patience(Duration.ofSeconds(5), Duration.ofSeconds(60), Duration.ofSeconds(15), 256 * 1024);

    /** No upload lasts longer, whatever its size: what is older was left by a crash. */
    static final Duration LONGEST = Duration.ofHours(12);

    /** For one attempt to move so many bytes. */
    Duration attemptFor(long bytes) {
        Duration needed = attempt.plusSeconds(bytes / bytesPerSecond);
        return needed.compareTo(LONGEST) < 0 ? needed : LONGEST;
    }

    /** For all attempts together. The SDK makes three, with pauses of some hundred milliseconds. */
    Duration totalFor(long bytes) {
        return attemptFor(bytes).multipliedBy(2);
    }

    AwsRequestOverrideConfiguration forBytes(long bytes) {
        return AwsRequestOverrideConfiguration.builder()
                .apiCallAttemptTimeout(attemptFor(bytes))
                .apiCallTimeout(totalFor(bytes))
                .build();
    }
}
