package dev.berth.bench.report;

import java.util.List;

/**
 * All that a run found.
 *
 * @param failures the measurements that could not be made, and why
 */
public record Report(MachineFacts machine, List<Row> rows, List<Failure> failures) {
    /** A measurement that could not be made. */
    public record Failure(String measurement, String why) {}

    public Report {
        rows = List.copyOf(rows);
        failures = List.copyOf(failures);
    }
}
