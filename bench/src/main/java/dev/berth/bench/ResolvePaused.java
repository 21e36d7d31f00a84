package dev.berth.bench;

import dev.berth.bench.report.Must;
import dev.berth.bench.report.Quantity;
import dev.berth.bench.report.Row;
import dev.berth.session.Session;
import java.util.List;

/** Ask for a session that is paused and run a command in it, with the locks and rows that go with it. */
final class ResolvePaused implements Measurement {
    private static final String WHAT = "resolve a paused session + command";

    @Override
    public String name() {
        return "resolve-paused";
    }

    @Override
    public List<Row> measure(Rig rig) throws Exception {
        rig.progress().begin(WHAT);
        try (SessionSite site = rig.openSessions()) {
            site.resolve().close();
            Contender berth = Contender.berth(() -> {
                        try (Session session = site.resolve()) {
                            Rig.runTrue(session.sandbox());
                        }
                    })
                    .before(() -> site.sessions().pause(SessionSite.KEY));
            Timings timings =
                    new Rounds(List.of(Rig.bareSpawn(), berth)).run(rig.scale().commands(), rig.progress());
            Quantity bare = timings.of(Contender.BARE).median();
            return List.of(
                    Row.compare(WHAT, timings.of(Contender.BERTH).median(), Contender.BARE, bare)
                            .must(new Must.AtMostTimes(4)),
                    Row.compare(WHAT + ", p99", timings.of(Contender.BERTH).p99(), Contender.BARE, bare));
        }
    }
}
