package dev.berth.bench;

import com.sun.management.ThreadMXBean;
import dev.berth.bench.report.Must;
import dev.berth.bench.report.Quantity;
import dev.berth.bench.report.Row;
import dev.berth.bench.report.Series;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;

/** Ask for a session that is up, and let go of it: what each request pays before it does anything. */
final class ResolveLive implements Measurement {
    private static final String WHAT = "resolve a live session";
    /** For each command that another measurement would run. */
    private static final int CALLS = 100;

    private record Outcome(Series series, double bytes) {}

    @Override
    public String name() {
        return "resolve";
    }

    @Override
    public List<Row> measure(Rig rig) throws Exception {
        rig.progress().begin(WHAT);
        int calls = CALLS * rig.scale().commands();
        try (SessionSite site = rig.openSessions()) {
            site.resolve().close();
            // On a platform thread, since what a virtual one allocates is not counted.
            FutureTask<Outcome> task = new FutureTask<>(() -> {
                time(site, Scale.warmUp(calls) + CALLS * CALLS);
                return time(site, calls);
            });
            Thread.ofPlatform().name("resolve").start(task);
            Outcome outcome = task.get();
            return List.of(
                    Row.of(WHAT, micros(outcome.series().median())).must(new Must.AtMost(Quantity.micros(20))),
                    Row.of(WHAT + ", p99", micros(outcome.series().p99())),
                    Row.of(WHAT + ", garbage", Quantity.bytes(outcome.bytes())));
        }
    }

    private static Outcome time(SessionSite site, int calls) {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long[] nanos = new long[calls];
        long before = threads.getCurrentThreadAllocatedBytes();
        for (int i = 0; i < calls; i++) {
            long start = System.nanoTime();
            site.resolve().close();
            nanos[i] = System.nanoTime() - start;
        }
        double bytes = (double) (threads.getCurrentThreadAllocatedBytes() - before) / calls;
        List<Long> samples = new ArrayList<>(calls);
        for (long sample : nanos) {
            samples.add(sample);
        }
        return new Outcome(new Series(samples), bytes);
    }

    private static Quantity micros(Quantity millis) {
        return Quantity.micros(millis.value() * 1000);
    }
}
