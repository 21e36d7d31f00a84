package dev.berth.bench;

import dev.berth.bench.report.Must;
import dev.berth.bench.report.Row;
import dev.berth.sandbox.Checkpoint;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.Result;
import dev.berth.sandbox.Sandbox;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;

/** Checkpoint and fork: with much in the sandbox against with little. Each time something has changed since the last. */
final class Copies implements Measurement {
    private static final String LITTLE = "with 5 files";
    private static final String MUCH = "with 5,000 files + 200 MB";

    @Override
    public String name() {
        return "checkpoint";
    }

    @Override
    public List<Row> measure(Rig rig) throws Exception {
        rig.progress().begin("checkpoint and fork");
        Sandbox little = rig.create();
        Sandbox much = rig.create();
        fill(little, "for i in 1 2 3 4 5; do echo $i > f$i; done");
        fill(much, "for i in $(seq 5000); do echo $i > f$i; done; head -c 200M /dev/urandom > big; sync -f . || sync");
        int rounds = rig.scale().copies();
        Timings checkpoints = new Rounds(List.of(checkpoint(rig, LITTLE, little), checkpoint(rig, MUCH, much)))
                .run(rounds, rig.progress());
        Timings forks =
                new Rounds(List.of(fork(rig, LITTLE, little), fork(rig, MUCH, much))).run(rounds, rig.progress());
        little.destroy();
        much.destroy();
        return List.of(row("checkpoint ", checkpoints), row("fork ", forks));
    }

    private static Row row(String what, Timings timings) {
        return Row.compare(
                        what + MUCH,
                        timings.of(MUCH).median(),
                        what + LITTLE,
                        timings.of(LITTLE).median())
                .must(new Must.AtMostTimes(1.5));
    }

    private static Contender checkpoint(Rig rig, String name, Sandbox sandbox) {
        AtomicReference<Checkpoint> taken = new AtomicReference<>();
        return Contender.berth(name, () -> taken.set(sandbox.checkpoint("bench")))
                .before(() -> change(sandbox))
                .after(() -> rig.provider().deleteCheckpoint(taken.get().id()));
    }

    private static Contender fork(Rig rig, String name, Sandbox sandbox) {
        AtomicReference<List<Sandbox>> made = new AtomicReference<>();
        return Contender.berth(
                        name,
                        () -> made.set(
                                rig.provider().fork(sandbox, List.of(rig.spec().id()))))
                .before(() -> change(sandbox))
                .after(() -> made.get().forEach(Sandbox::destroy));
    }

    private static void change(Sandbox sandbox) {
        byte[] line = Long.toString(System.nanoTime()).getBytes(StandardCharsets.US_ASCII);
        sandbox.files().write("changed", new ByteArrayInputStream(line));
    }

    private static void fill(Sandbox sandbox, String script) {
        Result result = sandbox.run(Command.shell(script).withTimeout(Duration.ofMinutes(5)));
        if (result.code() != 0) {
            throw new IllegalStateException("could not fill a sandbox with files: " + result.stderr());
        }
    }
}
