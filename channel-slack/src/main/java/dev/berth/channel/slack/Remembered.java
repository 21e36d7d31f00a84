package dev.berth.channel.slack;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Answers that hold for a while: the last used ones. */
final class Remembered<K, V> {
    private record Kept<V>(V value, Instant until) {}

    private final Duration fresh;
    private final InstantSource clock;
    /** Guarded by itself. */
    private final Map<K, Kept<V>> entries;

    Remembered(int most, Duration fresh, InstantSource clock) {
        this.fresh = fresh;
        this.clock = clock;
        this.entries = new LinkedHashMap<>(16, 0.75f, true) {
            @Override
            protected boolean removeEldestEntry(Map.Entry<K, Kept<V>> eldest) {
                return size() > most;
            }
        };
    }

    /** Asks outside of any lock: two threads may ask the same at a time. */
    V get(K key, Function<K, V> ask) {
        @Nullable V known = peek(key);
        if (known != null) {
            return known;
        }
        V value = ask.apply(key);
        put(key, value);
        return value;
    }

    @Nullable
    V peek(K key) {
        synchronized (entries) {
            Kept<V> entry = entries.get(key);
            return entry != null && clock.instant().isBefore(entry.until) ? entry.value : null;
        }
    }

    void put(K key, V value) {
        synchronized (entries) {
            entries.put(key, new Kept<>(value, clock.instant().plus(fresh)));
        }
    }

    /** Whether it was not there yet; it is, after this. */
    boolean add(K key, V value) {
        synchronized (entries) {
            boolean known = peek(key) != null;
            put(key, value);
            return !known;
        }
    }

    void forget(K key) {
        synchronized (entries) {
            entries.remove(key);
        }
    }
}
