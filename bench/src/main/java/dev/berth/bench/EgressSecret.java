package dev.berth.bench;

import dev.berth.bench.report.Quantity;
import dev.berth.bench.report.Quantity.Unit;
import dev.berth.bench.report.Row;
import dev.berth.bench.report.Series;
import java.util.List;

/** Requests in TLS that is opened on the way out of a sandbox, to put a secret in. */
final class EgressSecret implements Measurement {
    private static final int AT_A_TIME = 20;
    /** Connections at the same time, as visitor.py has it. */
    private static final int CROWD = 8;

    private static final String WHAT = "HTTPS request with a secret put in, kept connection";

    @Override
    public String name() {
        return "egress-secret";
    }

    @Override
    public List<Row> measure(Rig rig) throws Exception {
        int turns = rig.scale().commands() / AT_A_TIME;
        int warmUp = rig.scale().serverWarmUp() / AT_A_TIME;
        int each = rig.scale().commands() / 4;
        try (EgressSite site = EgressSite.open(rig)) {
            rig.progress().begin(WHAT);
            Timings alone = site.keyed("http", AT_A_TIME, turns, warmUp);
            Timings crowd = site.keyed("crowd", each, rig.scale().slices(), 1);
            return List.of(
                    alone.compare(WHAT, EgressSite.DIRECT),
                    EgressLatency.added(WHAT, alone),
                    Row.compare(
                            "HTTPS requests per second with a secret put in, " + CROWD + " connections",
                            rate(crowd.of(Contender.BERTH), each),
                            EgressSite.DIRECT,
                            rate(crowd.of(EgressSite.DIRECT), each)));
        }
    }

    private static Quantity rate(Series series, int each) {
        return new Quantity(CROWD * each / (series.median().value() / 1000), Unit.PER_SECOND);
    }
}
