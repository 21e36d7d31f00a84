package dev.berth.channel;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.Map;

/** How many messages everybody has left: each person has a bucket of tokens, which fills up again with time. */
final class Buckets {
    /** Whoever has not written for longest is forgotten first, and has a full one then. */
    private static final int PEOPLE = 10_000;

    /** What one message costs: then so many a minute are as many for each millisecond. */
    private static final long MESSAGE = 60_000;

    private record Bucket(long tokens, Instant at) {}

    private final InstantSource clock;
    private final Map<String, Bucket> buckets = new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Bucket> eldest) {
            return size() > PEOPLE;
        }
    };

    Buckets(InstantSource clock) {
        this.clock = clock;
    }

    /** Whether one more is allowed, which is counted. */
    synchronized boolean take(String who, Rules.Rate rate) {
        Instant now = clock.instant();
        long full = rate.burst() * MESSAGE;
        Bucket before = buckets.getOrDefault(who, new Bucket(full, now));
        long passed = Math.clamp(Duration.between(before.at(), now).toMillis(), 0, full);
        long tokens = Math.min(full, before.tokens() + passed * rate.perMinute());
        boolean allowed = tokens >= MESSAGE;
        buckets.put(who, new Bucket(allowed ? tokens - MESSAGE : tokens, now));
        return allowed;
    }
}
