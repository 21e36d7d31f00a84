package dev.berth.session;

import dev.berth.sandbox.Usage;
import java.time.Instant;
import java.util.List;

/**
 * What a session used, the oldest first. See {@link Sessions#samples}.
 *
 * @param samples five seconds apart while it was up, and of the last hour it was up at most
 */
public record UsageHistory(List<Sample> samples) {
    /** What it used at a moment; the processor time is counted from its last boot. */
    public record Sample(Instant at, Usage usage) {}

    public UsageHistory {
        samples = List.copyOf(samples);
    }
}
