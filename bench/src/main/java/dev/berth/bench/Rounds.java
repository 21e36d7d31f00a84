package dev.berth.bench;

import dev.berth.bench.report.Series;
import dev.berth.bench.rival.Timed;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/**
 * Times several things in turns: each round has each of them once, beginning with another one every time. So whatever
 * else the machine does at a moment, it does it to all of them, and their ratio holds.
 */
final class Rounds {
    private final List<Contender> contenders;

    Rounds(List<Contender> contenders) {
        this.contenders = List.copyOf(contenders);
    }

    Timings run(int rounds, Progress progress) throws Exception {
        return run(rounds, Scale.warmUp(rounds), progress);
    }

    /** @param warmUp rounds before those, which do not count */
    Timings run(int rounds, int warmUp, Progress progress) throws Exception {
        Map<String, List<Long>> samples = new LinkedHashMap<>();
        for (int round = -warmUp; round < rounds; round++) {
            progress.step(round + warmUp + 1, rounds + warmUp);
            for (int i = 0; i < contenders.size(); i++) {
                Contender contender = contenders.get(Math.floorMod(round + i, contenders.size()));
                if (Math.floorMod(round, contender.every()) == 0) {
                    long nanos = time(contender);
                    if (round >= 0) {
                        samples.computeIfAbsent(contender.name(), _ -> new ArrayList<>())
                                .add(nanos);
                    }
                }
            }
        }
        Map<String, Series> series = new LinkedHashMap<>();
        samples.forEach((name, nanos) -> series.put(name, new Series(nanos)));
        return new Timings(series);
    }

    private static long time(Contender contender) throws Exception {
        contender.before().run();
        long nanos = contender.onVirtualThread() ? onVirtualThread(contender.timed()) : time(contender.timed());
        contender.after().run();
        return nanos;
    }

    private static long onVirtualThread(Timed timed) throws Exception {
        FutureTask<Long> task = new FutureTask<>(() -> time(timed));
        Thread.ofVirtual().start(task);
        try {
            return task.get();
        } catch (ExecutionException e) {
            throw e.getCause() instanceof Exception cause ? cause : e;
        }
    }

    private static long time(Timed timed) throws Exception {
        long start = System.nanoTime();
        timed.run();
        return System.nanoTime() - start;
    }
}
