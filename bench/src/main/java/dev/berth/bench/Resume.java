package dev.berth.bench;

import dev.berth.bench.report.Must;
import dev.berth.bench.report.Quantity;
import dev.berth.bench.report.Row;
import dev.berth.sandbox.Sandbox;
import java.util.List;

/** Wake a paused sandbox and run a command in it. */
final class Resume implements Measurement {
    private static final String WHAT = "resume a paused sandbox + command";

    @Override
    public String name() {
        return "resume";
    }

    @Override
    public List<Row> measure(Rig rig) throws Exception {
        rig.progress().begin(WHAT);
        Sandbox sandbox = rig.create();
        Contender berth = Contender.berth(() -> {
                    sandbox.wake();
                    Rig.runTrue(sandbox);
                })
                .before(sandbox::pause);
        Timings timings =
                new Rounds(List.of(Rig.bareSpawn(), berth)).run(rig.scale().creates(), rig.progress());
        sandbox.destroy();
        Quantity bare = timings.of(Contender.BARE).median();
        return List.of(Row.compare(WHAT, timings.of(Contender.BERTH).median(), Contender.BARE, bare)
                .must(new Must.AtMostTimes(4)));
    }
}
