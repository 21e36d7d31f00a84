package dev.berth.bench;

import dev.berth.bench.report.Must;
import dev.berth.bench.report.Quantity;
import dev.berth.bench.report.Quantity.Unit;
import dev.berth.bench.report.Row;
import dev.berth.bench.rival.Timed;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.local.linux.Spawn;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Commands per second with all cores: a sandbox and a caller for each, against a bare spawner for each. */
final class Throughput implements Measurement {
    private static final String WHAT = "commands per second, all cores";

    @Override
    public String name() {
        return "throughput";
    }

    @Override
    public List<Row> measure(Rig rig) throws Exception {
        rig.progress().begin(WHAT);
        int cores = Runtime.getRuntime().availableProcessors();
        List<Timed> inSandboxes = new ArrayList<>();
        List<Sandbox> sandboxes = new ArrayList<>();
        for (int i = 0; i < cores; i++) {
            Sandbox sandbox = rig.create();
            sandboxes.add(sandbox);
            inSandboxes.add(() -> Rig.runTrue(sandbox));
        }
        try (ExecutorService virtual = Executors.newVirtualThreadPerTaskExecutor()) {
            Row row = compare(rig, WHAT, virtual, inSandboxes);
            sandboxes.forEach(Sandbox::destroy);
            return List.of(row);
        }
    }

    /** What callers reach together, each on a thread of its own, beside as many bare spawners. */
    static Row compare(Rig rig, String what, ExecutorService threads, List<Timed> callers) throws Exception {
        List<Timed> spawners = Collections.nCopies(callers.size(), Spawn.of("bash", "-c", "true")::run);
        List<Double> berthRates = new ArrayList<>();
        List<Double> bareRates = new ArrayList<>();
        try (ExecutorService platform = Executors.newFixedThreadPool(spawners.size())) {
            int slices = rig.scale().slices();
            for (int slice = -1; slice < slices; slice++) {
                rig.progress().step(slice + 2, slices + 1);
                double berthRate = rate(threads, callers, rig.scale().sliceMillis());
                double bareRate = rate(platform, spawners, rig.scale().sliceMillis());
                if (slice >= 0) {
                    berthRates.add(berthRate);
                    bareRates.add(bareRate);
                }
            }
        }
        return Row.compare(what, median(berthRates), Contender.BARE, median(bareRates))
                .must(new Must.AtLeastTimes(0.6));
    }

    private static double rate(ExecutorService threads, List<Timed> tasks, int millis) throws Exception {
        long start = System.nanoTime();
        long end = start + TimeUnit.MILLISECONDS.toNanos(millis);
        List<Callable<Integer>> loops = new ArrayList<>();
        for (Timed task : tasks) {
            loops.add(() -> {
                int count = 0;
                while (System.nanoTime() < end) {
                    task.run();
                    count++;
                }
                return count;
            });
        }
        int total = 0;
        for (Future<Integer> loop : threads.invokeAll(loops)) {
            total += loop.get();
        }
        return total / ((System.nanoTime() - start) / 1e9);
    }

    private static Quantity median(List<Double> rates) {
        List<Double> sorted = rates.stream().sorted().toList();
        return new Quantity(sorted.get(sorted.size() / 2), Unit.PER_SECOND);
    }
}
