package dev.berth.bench;

import dev.berth.bench.report.Must;
import dev.berth.bench.report.Quantity;
import dev.berth.bench.report.Row;
import dev.berth.bench.rival.Docker;
import dev.berth.sandbox.Sandbox;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Run a command in a sandbox that runs. */
final class LiveCommand implements Measurement {
    private static final String WHAT = "one command, live sandbox";

    @Override
    public String name() {
        return "command";
    }

    @Override
    public List<Row> measure(Rig rig) throws Exception {
        int rounds = rig.scale().commands();
        Optional<Docker> docker = rig.docker();
        rig.progress().begin(WHAT);
        Sandbox sandbox = rig.create();
        List<Contender> contenders = new ArrayList<>(List.of(
                Rig.bareSpawn(),
                Contender.rival("crun exec … bash -c true", rig.crun().execTrue())
                        .every(10),
                Contender.berth(() -> Rig.runTrue(sandbox))));
        docker.ifPresent(engine -> contenders.add(Contender.rival("docker exec … bash -c true", engine.execTrue())
                .every(rounds / rig.scale().slow())));
        Timings timings = new Rounds(contenders).run(rounds, rig.progress());
        sandbox.destroy();
        Quantity bare = timings.of(Contender.BARE).median();
        List<Row> rows = new ArrayList<>();
        rows.add(timings.compare(WHAT, Contender.BARE).must(new Must.AtMostTimes(2)));
        rows.add(Row.compare(WHAT + ", p99", timings.of(Contender.BERTH).p99(), Contender.BARE, bare)
                .must(new Must.AtMostTimes(5)));
        rows.add(
                Row.compare("a bare spawn's own p99", timings.of(Contender.BARE).p99(), Contender.BARE, bare));
        rows.add(timings.compare(WHAT, "crun exec … bash -c true"));
        if (docker.isPresent()) {
            rows.add(timings.compare(WHAT, "docker exec … bash -c true").must(new Must.TimesFaster(20)));
        }
        return rows;
    }
}
