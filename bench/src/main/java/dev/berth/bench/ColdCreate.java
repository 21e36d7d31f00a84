package dev.berth.bench;

import dev.berth.bench.report.Must;
import dev.berth.bench.report.Row;
import dev.berth.bench.rival.Docker;
import dev.berth.sandbox.Sandbox;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;

/** Create a sandbox and run a command in it, with nothing prepared. */
final class ColdCreate implements Measurement {
    private static final String WHAT = "create + first command, cold";

    @Override
    public String name() {
        return "create";
    }

    @Override
    public List<Row> measure(Rig rig) throws Exception {
        int rounds = rig.scale().creates();
        Optional<Docker> docker = rig.docker();
        rig.progress().begin(WHAT);
        AtomicReference<Sandbox> made = new AtomicReference<>();
        List<Contender> contenders = new ArrayList<>(List.of(
                Rig.bareSpawn(),
                Contender.rival("crun run … true", rig.crun().runTrue()),
                Contender.rival("bwrap … bash -c true", rig.crun().bubblewrap()),
                Contender.berth(() -> {
                            Sandbox sandbox = rig.create();
                            made.set(sandbox);
                            Rig.runTrue(sandbox);
                        })
                        .after(() -> made.get().destroy())));
        docker.ifPresent(engine -> contenders.add(Contender.rival("docker run --rm … true", engine.runTrue())
                .every(rounds / rig.scale().slow())));
        Timings timings = new Rounds(contenders).run(rounds, rig.progress());
        List<Row> rows = new ArrayList<>();
        rows.add(timings.compare(WHAT, "crun run … true").must(new Must.AtMostTimes(2)));
        rows.add(timings.compare(WHAT, "bwrap … bash -c true"));
        if (docker.isPresent()) {
            rows.add(timings.compare(WHAT, "docker run --rm … true").must(new Must.TimesFaster(20)));
        }
        rows.add(Row.of(WHAT + ", p99", timings.of(Contender.BERTH).p99()));
        return rows;
    }
}
