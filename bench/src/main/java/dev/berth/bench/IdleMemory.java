package dev.berth.bench;

import dev.berth.bench.report.MachineFacts;
import dev.berth.bench.report.Must;
import dev.berth.bench.report.Quantity;
import dev.berth.bench.report.Row;
import dev.berth.sandbox.Sandbox;
import java.util.ArrayList;
import java.util.List;

/**
 * What a sandbox that does nothing costs: how much less memory the machine has available with many of them than without.
 * That counts everything: guests, kernel, cgroups, mounts, and what the server keeps of each.
 *
 * <p>It also counts what everybody else on the machine does meanwhile. So it is measured twice, when they are made and when
 * they are destroyed, and where the two differ much nothing is concluded.
 */
final class IdleMemory implements Measurement {
    private static final double TOLERANCE = 0.25;

    @Override
    public String name() {
        return "memory";
    }

    @Override
    public List<Row> measure(Rig rig) throws Exception {
        int count = rig.scale().idle();
        rig.progress().begin("memory of " + count + " idle sandboxes");
        rig.create().destroy();
        double before = settledMegabytes();
        double heapBefore = heapMegabytes();
        List<Sandbox> sandboxes = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            rig.progress().step(i + 1, count);
            sandboxes.add(rig.create());
        }
        double after = settledMegabytes();
        double heapAfter = heapMegabytes();
        sandboxes.forEach(Sandbox::destroy);
        double again = settledMegabytes();
        return List.of(
                cost(count, (before - after) / count, (again - after) / count),
                Row.of("of it in the server's heap", Quantity.megabytes((heapAfter - heapBefore) / count)),
                Row.of("server's heap with " + count + " sandboxes", Quantity.megabytes(heapAfter))
                        .must(new Must.AtMost(Quantity.megabytes(512))));
    }

    /** The larger of what one took and what it gave back, with a verdict only if they agree. */
    static Row cost(int count, double taken, double returned) {
        Quantity most = Quantity.megabytes(Math.max(taken, returned));
        boolean agree = Math.min(taken, returned) >= (1 - TOLERANCE) * most.value() && most.value() > 0;
        String what = "memory of an idle sandbox (of " + count + ")";
        return agree
                ? Row.of(what, most).must(new Must.AtMost(Quantity.megabytes(3)))
                : Row.of(
                        what + ", undecided: took " + Quantity.megabytes(taken) + ", gave back "
                                + Quantity.megabytes(returned),
                        most);
    }

    /** Available memory when garbage is gone and the kernel has freed what it frees later. */
    private static double settledMegabytes() throws InterruptedException {
        double most = 0;
        for (int i = 0; i < 5; i++) {
            System.gc();
            Thread.sleep(300);
            most = Math.max(most, MachineFacts.availableMegabytes());
        }
        return most;
    }

    private static double heapMegabytes() {
        Runtime runtime = Runtime.getRuntime();
        return (runtime.totalMemory() - runtime.freeMemory()) / 1024.0 / 1024.0;
    }
}
