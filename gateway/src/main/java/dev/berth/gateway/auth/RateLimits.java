package dev.berth.gateway.auth;

import dev.berth.sandbox.SandboxException;
import java.util.concurrent.ConcurrentHashMap;

/** How often each caller may ask: a bucket that fills steadily and holds a burst. */
public final class RateLimits {
    private static final int MOST_CALLERS = 100_000;

    /** Guarded by the map's own locking of its entry. */
    private record Bucket(double tokens, long at) {}

    private final double perSecond;
    private final double burst;
    private final ConcurrentHashMap<String, Bucket> buckets = new ConcurrentHashMap<>();

    /** @param perSecond 0 for no limit */
    public RateLimits(double perSecond, double burst) {
        this.perSecond = perSecond;
        this.burst = Math.max(1, burst);
    }

    public void take(Caller caller) {
        if (perSecond <= 0) {
            return;
        }
        if (buckets.size() > MOST_CALLERS) {
            buckets.clear();
        }
        Bucket after = buckets.compute(caller.name(), (_, before) -> {
            long now = System.nanoTime();
            double filled =
                    before == null ? burst : Math.min(burst, before.tokens() + (now - before.at()) * perSecond / 1e9);
            return new Bucket(filled - 1, now);
        });
        if (after.tokens() < 0) {
            // What was asked too early does not count, or one who keeps asking would never be served.
            buckets.computeIfPresent(caller.name(), (_, bucket) -> new Bucket(bucket.tokens() + 1, bucket.at()));
            long wait = (long) Math.ceil(-after.tokens() * 1000 / perSecond);
            throw SandboxException.limit("this key asks more often than " + perSecond + " times a second; slow down")
                    .with(SandboxException.LIMIT, "requests_per_second")
                    .with(SandboxException.ALLOWED, perSecond)
                    .with(SandboxException.RETRY_AFTER_MS, wait);
        }
    }
}
