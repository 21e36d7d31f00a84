package dev.berth.session;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.Usage;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Measures now and then what sessions use that are up in this server and have an {@link Expiry}: those were made by
 * programs that watch them. The others belong to conversations, may be many, and are measured when somebody asks.
 *
 * <p>To measure one is to read a few small files of the kernel. Where the provider has to walk through a sandbox's files
 * to know how much they take, a round may take long; then the next one comes later, so that no more than half of the time
 * is spent with it. A session's samples are kept in arrays, since there may be a thousand sessions with an hour of them.
 */
final class Samples {
    private static final Logger LOG = LoggerFactory.getLogger(Samples.class);

    static final Duration INTERVAL = Duration.ofSeconds(5);
    private static final Duration KEPT = Duration.ofHours(1);
    private static final int MOST = (int) KEPT.dividedBy(INTERVAL);

    private final Map<SessionKey, Live> lives;
    private final InstantSource clock;
    private final Map<SessionKey, Ring> rings = new ConcurrentHashMap<>();
    private final Thread thread = Thread.ofVirtual().name("usage samples").unstarted(this::work);

    Samples(Map<SessionKey, Live> lives, InstantSource clock) {
        this.lives = lives;
        this.clock = clock;
    }

    void start() {
        thread.start();
    }

    private void work() {
        try {
            while (true) {
                long began = System.nanoTime();
                take();
                Duration took = Duration.ofNanos(System.nanoTime() - began);
                Duration left = INTERVAL.minus(took);
                Thread.sleep(left.compareTo(took) > 0 ? left : took);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** One round. */
    void take() {
        lives.forEach((key, live) -> {
            if (live.info().expiry().isPresent() && live.usable()) {
                try {
                    add(key, live, live.sandbox().usage());
                } catch (SandboxException e) {
                    return; // it went down meanwhile
                } catch (RuntimeException e) {
                    // Of one session, and no reason to measure none of the others any more.
                    LOG.atWarn()
                            .addKeyValue("tenant", key.tenant())
                            .addKeyValue("session", key.id())
                            .setCause(e)
                            .log("session.sample.failed");
                }
            }
        });
        long old = clock.instant().minus(KEPT).toEpochMilli();
        rings.values().removeIf(ring -> ring.newest() < old);
    }

    /** While it is up: one that was removed meanwhile has been dropped, and must not come back. */
    private void add(SessionKey key, Live measured, Usage usage) {
        lives.computeIfPresent(key, (_, live) -> {
            if (live == measured) {
                rings.computeIfAbsent(key, _ -> new Ring()).add(clock.millis(), usage);
            }
            return live;
        });
    }

    UsageHistory of(SessionKey key) {
        Ring ring = rings.get(key);
        return new UsageHistory(ring == null ? List.of() : ring.samples());
    }

    /** Of a session that is gone. */
    void drop(SessionKey key) {
        rings.remove(key);
    }

    void stop() {
        thread.interrupt();
    }

    /** The last samples of one session. Grows with what there is, up to {@link #MOST}. */
    private static final class Ring {
        private static final int FIELDS = 6;

        private long[] values = new long[8 * FIELDS];
        private int size;
        private int oldest;

        private synchronized void add(long at, Usage usage) {
            if (size * FIELDS == values.length && size < MOST) {
                values = Arrays.copyOf(values, Math.min(values.length * 2, MOST * FIELDS));
            }
            int place = (oldest + size) % (values.length / FIELDS) * FIELDS;
            if (size * FIELDS == values.length) {
                oldest = (oldest + 1) % MOST;
            } else {
                size++;
            }
            values[place] = at;
            values[place + 1] = usage.memoryBytes();
            values[place + 2] = usage.pids();
            values[place + 3] = usage.cpuTime().toNanos();
            values[place + 4] = usage.diskBytes();
            values[place + 5] = usage.cacheBytes();
        }

        private synchronized long newest() {
            return values[(oldest + size - 1) % (values.length / FIELDS) * FIELDS];
        }

        private synchronized List<UsageHistory.Sample> samples() {
            List<UsageHistory.Sample> all = new ArrayList<>(size);
            for (int i = 0; i < size; i++) {
                int place = (oldest + i) % (values.length / FIELDS) * FIELDS;
                Usage usage = new Usage(
                        values[place + 1],
                        (int) values[place + 2],
                        Duration.ofNanos(values[place + 3]),
                        values[place + 4],
                        values[place + 5]);
                all.add(new UsageHistory.Sample(Instant.ofEpochMilli(values[place]), usage));
            }
            return all;
        }
    }
}
