package dev.berth.session.job;

import java.net.URI;
import java.time.Duration;
import java.util.Optional;

/**
 * How jobs are looked after.
 *
 * @param most how many may run at a time in one session
 * @param outputBytes how much of the output of one job is kept
 * @param kept how long a job is kept after its end
 * @param settle how often jobs are looked for that nobody follows
 * @param address where sandboxes can reach this server, if they can: for providers that cannot tell how a job ended
 */
public record JobsConfig(int most, long outputBytes, Duration kept, Duration settle, Optional<URI> address) {
    public static final JobsConfig DEFAULT =
            new JobsConfig(10, 16L << 20, Duration.ofDays(7), Duration.ofMinutes(1), Optional.empty());

    public JobsConfig withKept(Duration newKept) {
        return new JobsConfig(most, outputBytes, newKept, settle, address);
    }

    public JobsConfig withOutput(long bytes) {
        return new JobsConfig(most, bytes, kept, settle, address);
    }

    public JobsConfig withAddress(Optional<URI> newAddress) {
        return new JobsConfig(most, outputBytes, kept, settle, newAddress);
    }
}
