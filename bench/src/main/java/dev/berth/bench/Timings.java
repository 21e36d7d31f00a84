package dev.berth.bench;

import dev.berth.bench.report.Quantity;
import dev.berth.bench.report.Row;
import dev.berth.bench.report.Series;
import java.util.Map;
import java.util.Optional;

/** What came out of rounds, by contender. */
record Timings(Map<String, Series> series) {
    Series of(String contender) {
        return Optional.ofNullable(series.get(contender)).orElseThrow();
    }

    Quantity median(String contender) {
        return of(contender).median();
    }

    /** Berth's median beside a rival's. */
    Row compare(String what, String rival) {
        return Row.compare(what, median(Contender.BERTH), rival, median(rival));
    }
}
