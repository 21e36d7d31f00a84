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

    private record Bucket(double tokens, Instant at) {}

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
        Bucket before = buckets.getOrDefault(who, new Bucket(rate.burst(), now));
        double minutes = Math.max(0, Duration.between(before.at(), now).toMillis() / 60_000.0);
        double tokens = Math.min(rate.burst(), before.tokens() + minutes * rate.perMinute());
        boolean allowed = tokens >= 1;
        buckets.put(who, new Bucket(allowed ? tokens - 1 : tokens, now));
        return allowed;
    }
}
