package dev.berth.bench;

import dev.berth.bench.report.Must;
import dev.berth.bench.report.Quantity;
import dev.berth.bench.report.Row;
import dev.berth.sandbox.Sandbox;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;

/** Create a sandbox and run a command in it, with one in the warm pool. */
final class WarmCreate implements Measurement {
    private static final String WHAT = "create + first command, warm pool";
    private static final int POOL = 2;

    @Override
    public String name() {
        return "warm";
    }

    @Override
    public List<Row> measure(Rig rig) throws Exception {
        rig.progress().begin(WHAT);
        try (Site site = rig.openSite(POOL)) {
            AtomicReference<Sandbox> made = new AtomicReference<>();
            Contender berth = Contender.berth(() -> {
                        Sandbox sandbox = site.provider().create(rig.spec());
                        made.set(sandbox);
                        Rig.runTrue(sandbox);
                    })
                    .before(() -> full(rig, site))
                    .after(() -> {
                        made.get().destroy();
                        full(rig, site);
                    });
            Timings timings =
                    new Rounds(List.of(Rig.bareSpawn(), berth)).run(rig.scale().creates(), rig.progress());
            Quantity bare = timings.of(Contender.BARE).median();
            return List.of(
                    Row.compare(WHAT, timings.of(Contender.BERTH).median(), Contender.BARE, bare)
                            .must(new Must.AtMostTimes(3)),
                    Row.compare(WHAT + ", p99", timings.of(Contender.BERTH).p99(), Contender.BARE, bare));
        }
    }

    private static void full(Rig rig, Site site) throws InterruptedException {
        Rig.await(
                "the warm pool is full",
                () -> site.provider().warm(rig.template().name()) == POOL);
    }
}
