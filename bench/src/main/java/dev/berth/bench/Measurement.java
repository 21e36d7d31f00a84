package dev.berth.bench;

import dev.berth.bench.report.Row;
import java.util.List;

/** One part of the benchmark. */
interface Measurement {
    /** What {@code --only} calls it. */
    String name();

    /** Leaves nothing behind but what belongs to the rig. */
    List<Row> measure(Rig rig) throws Exception;
}
