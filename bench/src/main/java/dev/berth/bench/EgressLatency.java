package dev.berth.bench;

import dev.berth.bench.report.Must;
import dev.berth.bench.report.Quantity;
import dev.berth.bench.report.Row;
import java.util.List;
import java.util.stream.Stream;

/** What the way out of a sandbox adds to the time that a small request takes. */
final class EgressLatency implements Measurement {
    private static final int AT_A_TIME = 20;

    @Override
    public String name() {
        return "egress-latency";
    }

    @Override
    public List<Row> measure(Rig rig) throws Exception {
        int turns = rig.scale().commands() / AT_A_TIME;
        int warmUp = rig.scale().serverWarmUp() / AT_A_TIME;
        String fresh = "small request out of a sandbox, fresh connection";
        String kept = "small request out of a sandbox, kept connection";
        try (EgressSite site = EgressSite.open(rig)) {
            rig.progress().begin(fresh);
            Timings onFresh = site.plain("fresh", AT_A_TIME, turns, warmUp);
            rig.progress().begin(kept);
            Timings onKept = site.plain("kept", AT_A_TIME, turns, warmUp);
            return Stream.concat(rows(fresh, onFresh).stream(), rows(kept, onKept).stream())
                    .toList();
        }
    }

    private static List<Row> rows(String what, Timings timings) {
        return List.of(
                timings.compare(what, EgressSite.DIRECT),
                added(what, timings).must(new Must.AtMost(Quantity.millis(2))),
                Row.of(
                        what + ", added at p99",
                        difference(
                                timings.of(Contender.BERTH).p99(),
                                timings.of(EgressSite.DIRECT).p99())));
    }

    /** How much longer the median is. */
    static Row added(String what, Timings timings) {
        return Row.of(
                what + ", added at p50",
                difference(timings.median(Contender.BERTH), timings.median(EgressSite.DIRECT)));
    }

    private static Quantity difference(Quantity measured, Quantity compared) {
        return Quantity.millis(measured.value() - compared.value());
    }
}
