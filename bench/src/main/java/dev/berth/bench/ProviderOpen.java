package dev.berth.bench;

import dev.berth.bench.report.Quantity;
import dev.berth.bench.report.Row;
import java.util.List;

/** Open the provider on a data directory with sandboxes in it: the local provider's part of a server's start. */
final class ProviderOpen implements Measurement {
    private static final int SANDBOXES = 10;

    @Override
    public String name() {
        return "open";
    }

    @Override
    public List<Row> measure(Rig rig) throws Exception {
        rig.progress().begin("opening the provider");
        long start = System.nanoTime();
        try (Site site = rig.openSite(0)) {
            double first = (System.nanoTime() - start) / 1e6;
            for (int i = 0; i < SANDBOXES; i++) {
                site.provider().create(rig.spec());
            }
            Contender again =
                    Contender.berth(site::reopen).before(() -> site.provider().close());
            Timings timings = new Rounds(List.of(again)).run(rig.scale().copies(), rig.progress());
            return List.of(
                    Row.of("open the provider, new data directory", Quantity.millis(first)),
                    Row.of(
                            "open the provider, " + SANDBOXES + " sandboxes running",
                            timings.of(Contender.BERTH).median()));
        }
    }
}
