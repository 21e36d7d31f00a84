package dev.berth.bench.report;

import java.util.List;

/**
 * The durations of one thing done many times.
 *
 * @param nanos in ascending order
 */
public record Series(List<Long> nanos) {
    public Series {
        if (nanos.isEmpty()) {
            throw new IllegalArgumentException("a series needs a sample");
        }
        nanos = nanos.stream().sorted().toList();
    }

    public Quantity median() {
        int middle = nanos.size() / 2;
        double value = nanos.size() % 2 == 1 ? nanos.get(middle) : (nanos.get(middle - 1) + nanos.get(middle)) / 2.0;
        return millis(value);
    }

    /** What 99 of 100 samples do not exceed, by the nearest rank: one that was measured, not one between two. */
    public Quantity p99() {
        return nearest(0.99);
    }

    /** The same of 95. */
    public Quantity p95() {
        return nearest(0.95);
    }

    private Quantity nearest(double share) {
        int rank = (int) Math.ceil(nanos.size() * share);
        return millis(nanos.get(rank - 1));
    }

    public Quantity fastest() {
        return millis(nanos.getFirst());
    }

    private static Quantity millis(double nanos) {
        return new Quantity(nanos / 1e6, Quantity.Unit.MILLISECONDS);
    }
}
