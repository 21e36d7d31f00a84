package dev.berth.gateway.e2b.envd;

import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Usage;
import dev.berth.session.Session;
import dev.berth.session.SessionKey;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** {@code GET /metrics}: what a sandbox uses now, and of the processors since it was last asked. */
final class Metrics {
    private static final long MIB = 1 << 20;
    private static final int MOST_REMEMBERED = 4096;

    private final InstantSource clock;

    /** What was measured last, of those that were asked last. Guarded by itself. */
    private final Map<SessionKey, Measured> last = new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<SessionKey, Measured> eldest) {
            return size() > MOST_REMEMBERED;
        }
    };

    private record Measured(Instant at, Duration cpuTime) {}

    Metrics(InstantSource clock) {
        this.clock = clock;
    }

    Map<String, Object> of(Session session) {
        Usage usage = session.sandbox().usage();
        Measured now = new Measured(clock.instant(), usage.cpuTime());
        Limits limits = session.info().limits();
        Measured before;
        synchronized (last) {
            before = last.put(session.key(), now);
        }
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("ts", now.at().getEpochSecond());
        json.put(
                "cpu_count",
                limits.cpus() > 0
                        ? (int) Math.ceil(limits.cpus())
                        : Runtime.getRuntime().availableProcessors());
        json.put("cpu_used_pct", percent(before, now));
        json.put("mem_total", limits.memoryBytes());
        json.put("mem_used", usage.memoryBytes());
        json.put("mem_cache", usage.cacheBytes());
        json.put("mem_total_mib", limits.memoryBytes() / MIB);
        json.put("mem_used_mib", usage.memoryBytes() / MIB);
        json.put("disk_used", usage.diskBytes());
        json.put("disk_total", limits.diskBytes());
        return json;
    }

    /** Of one processor. */
    private static double percent(@Nullable Measured before, Measured now) {
        if (before == null) {
            return 0;
        }
        long used = now.cpuTime().minus(before.cpuTime()).toMillis();
        long passed = Math.max(1, Duration.between(before.at(), now.at()).toMillis());
        return Math.max(0, Math.round(10_000.0 * used / passed) / 100.0);
    }
}
