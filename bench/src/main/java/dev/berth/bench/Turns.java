package dev.berth.bench;

import dev.berth.bench.report.Series;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** As {@link Rounds}, for what measures itself because it has more than one moment that counts. */
final class Turns {
    /** Something that tells how many nanoseconds each of its moments took. */
    interface Turn {
        Map<String, Long> take() throws Exception;
    }

    private final List<Turn> turns;

    Turns(List<Turn> turns) {
        this.turns = List.copyOf(turns);
    }

    /** @return by moment */
    Timings run(int rounds, Progress progress) throws Exception {
        Map<String, List<Long>> samples = new LinkedHashMap<>();
        int warmUp = Scale.warmUp(rounds);
        for (int round = -warmUp; round < rounds; round++) {
            progress.step(round + warmUp + 1, rounds + warmUp);
            for (int i = 0; i < turns.size(); i++) {
                Map<String, Long> taken =
                        turns.get(Math.floorMod(round + i, turns.size())).take();
                if (round >= 0) {
                    taken.forEach((moment, nanos) -> samples.computeIfAbsent(moment, _ -> new ArrayList<>())
                            .add(nanos));
                }
            }
        }
        Map<String, Series> series = new LinkedHashMap<>();
        samples.forEach((moment, nanos) -> series.put(moment, new Series(nanos)));
        return new Timings(series);
    }
}
