package dev.berth.bench;

import dev.berth.bench.report.Must;
import dev.berth.bench.report.Quantity;
import dev.berth.bench.report.Row;
import java.util.List;

/** Run a command in a live session over HTTP: one request, one answer. */
final class HttpCommand implements Measurement {
    private static final String WHAT = "one command over HTTP, live session";

    @Override
    public String name() {
        return "http";
    }

    @Override
    public List<Row> measure(Rig rig) throws Exception {
        rig.progress().begin(WHAT);
        try (SessionSite site = rig.openSessions();
                HttpSite http = HttpSite.open(site)) {
            site.resolve().close();
            Contender command = Contender.berth(http.runTrue(SessionSite.KEY)).onPlatformThread();
            Timings timings = new Rounds(List.of(Rig.bareSpawn(), command))
                    .run(rig.scale().commands(), rig.scale().serverWarmUp(), rig.progress());
            Quantity bare = timings.of(Contender.BARE).median();
            return List.of(
                    timings.compare(WHAT, Contender.BARE).must(new Must.AtMostTimes(2)),
                    Row.compare(WHAT + ", p99", timings.of(Contender.BERTH).p99(), Contender.BARE, bare)
                            .must(new Must.AtMostTimes(5)));
        }
    }
}
