package dev.berth.bench;

import dev.berth.bench.report.Must;
import dev.berth.bench.report.Quantity;
import dev.berth.bench.report.Row;
import dev.berth.bench.report.Series;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.local.LocalProvider;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Many creates at once, each timed from the moment all were asked for. Once with nothing prepared, once with a warm pool
 * that holds as many.
 */
final class Burst implements Measurement {
    @Override
    public String name() {
        return "burst";
    }

    @Override
    public List<Row> measure(Rig rig) throws Exception {
        int count = rig.scale().burst();
        String what = "burst of " + count + " creates, p99";
        Must must = new Must.AtMost(Quantity.millis(500));
        List<Row> rows = new ArrayList<>();
        rig.progress().begin(what + ", warm pool");
        try (Site site = rig.openSite(count)) {
            Series warm = bursts(rig, site.provider(), () -> {
                Rig.await(
                        "the warm pool is full",
                        () -> site.provider().warm(rig.template().name()) == count);
                return true;
            });
            rows.add(Row.of(what + ", warm pool of " + count, warm.p99()).must(must));
        }
        rig.progress().begin(what + ", cold");
        rows.add(Row.of(what + ", cold", bursts(rig, rig.provider(), () -> true).p99())
                .must(must));
        return rows;
    }

    private static Series bursts(Rig rig, LocalProvider provider, Callable<Boolean> prepare) throws Exception {
        List<Long> nanos = new ArrayList<>();
        for (int i = 0; i < rig.scale().bursts(); i++) {
            rig.progress().step(i + 1, rig.scale().bursts());
            prepare.call();
            nanos.addAll(burst(rig, provider));
        }
        return new Series(nanos);
    }

    private static List<Long> burst(Rig rig, LocalProvider provider) throws Exception {
        List<SandboxSpec> specs = new ArrayList<>();
        for (int i = 0; i < rig.scale().burst(); i++) {
            specs.add(rig.spec());
        }
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            long start = System.nanoTime();
            List<Future<Made>> asked = new ArrayList<>();
            for (SandboxSpec spec : specs) {
                asked.add(threads.submit(() -> {
                    Sandbox sandbox = provider.create(spec);
                    return new Made(sandbox, System.nanoTime() - start);
                }));
            }
            List<Long> nanos = new ArrayList<>();
            for (Future<Made> made : asked) {
                nanos.add(made.get().nanos);
            }
            for (Future<Made> made : asked) {
                made.get().sandbox.destroy();
            }
            return nanos;
        }
    }

    private record Made(Sandbox sandbox, long nanos) {}
}
