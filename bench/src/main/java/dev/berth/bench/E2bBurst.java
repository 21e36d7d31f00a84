package dev.berth.bench;

import dev.berth.bench.report.Quantity;
import dev.berth.bench.report.Row;
import dev.berth.bench.report.Series;
import java.util.ArrayList;
import java.util.List;

/**
 * Fifty sandboxes at once, made with E2B's own SDK, with Python in each: what E2B's users would see. Beside it stands what
 * the same program takes against a server that does nothing, which is what the client itself costs.
 */
final class E2bBurst implements Measurement {
    private static final String NOTHING = "server that does nothing";
    private static final int COUNT = 50;
    private static final int ROUNDS = 3;

    @Override
    public String name() {
        return "e2b";
    }

    @Override
    public List<Row> measure(Rig rig) throws Exception {
        int count = Math.min(COUNT, rig.scale().burst());
        rig.progress().begin("E2B's SDK: " + count + " sandboxes at once");
        List<Long> creates = new ArrayList<>();
        List<Long> commands = new ArrayList<>();
        List<Long> nothingCreated = new ArrayList<>();
        List<Long> nothingDone = new ArrayList<>();
        try (E2bSite site = E2bSite.open(rig, count)) {
            for (int i = -1; i < Math.min(ROUNDS, rig.scale().bursts()); i++) {
                E2bSite.Times alone = site.againstNothing();
                E2bSite.Times ours = site.againstBerth();
                if (i < 0) {
                    continue; // for caches and the compiler
                }
                nothingCreated.addAll(alone.creates());
                nothingDone.addAll(alone.commands());
                creates.addAll(ours.creates());
                commands.addAll(ours.commands());
            }
        }
        List<Row> rows = new ArrayList<>();
        rows.addAll(rows("E2B's SDK, " + count + " at once: create", new Series(creates), new Series(nothingCreated)));
        rows.addAll(
                rows("E2B's SDK, " + count + " at once: first command", new Series(commands), new Series(nothingDone)));
        return rows;
    }

    private static List<Row> rows(String what, Series ours, Series nothing) {
        return List.of(
                row(what + ", p50", ours.median(), nothing.median()),
                row(what + ", p95", ours.p95(), nothing.p95()),
                row(what + ", p99", ours.p99(), nothing.p99()));
    }

    private static Row row(String what, Quantity ours, Quantity nothing) {
        return Row.compare(what, ours, NOTHING, nothing);
    }
}
