package dev.berth.bench;

import dev.berth.bench.report.Must;
import dev.berth.bench.report.Quantity;
import dev.berth.bench.report.Quantity.Unit;
import dev.berth.bench.report.Row;
import dev.berth.bench.report.Series;
import java.util.List;

/** Much data through the way out of a sandbox, unopened. */
final class EgressTransfer implements Measurement {
    @Override
    public String name() {
        return "egress";
    }

    @Override
    public List<Row> measure(Rig rig) throws Exception {
        int megabytes = rig.scale().transferMegabytes();
        int turns = rig.scale().transfers();
        int warmUp = Scale.warmUp(turns);
        String amount = megabytes + " MB through a sandbox's network";
        try (EgressSite site = EgressSite.open(rig)) {
            rig.progress().begin("download " + amount);
            Timings download = site.plain("get", megabytes, turns, warmUp);
            rig.progress().begin("upload " + amount);
            Timings upload = site.plain("put", megabytes, turns, warmUp);
            rig.progress().begin("download and upload " + amount + ", TLS");
            Timings downloadTls = site.tls("get", megabytes, turns, warmUp);
            Timings uploadTls = site.tls("put", megabytes, turns, warmUp);
            return List.of(
                    row("download " + amount, download, megabytes),
                    row("upload " + amount, upload, megabytes),
                    row("download " + amount + ", TLS", downloadTls, megabytes),
                    row("upload " + amount + ", TLS", uploadTls, megabytes));
        }
    }

    private static Row row(String what, Timings timings, int megabytes) {
        return Row.compare(
                        what,
                        speed(timings.of(Contender.BERTH), megabytes),
                        EgressSite.DIRECT,
                        speed(timings.of(EgressSite.DIRECT), megabytes))
                .must(new Must.AtLeastTimes(0.6));
    }

    private static Quantity speed(Series series, int megabytes) {
        return new Quantity(megabytes / (series.median().value() / 1000), Unit.MEGABYTES_PER_SECOND);
    }
}
