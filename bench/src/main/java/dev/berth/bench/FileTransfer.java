package dev.berth.bench;

import dev.berth.bench.report.Must;
import dev.berth.bench.report.Quantity;
import dev.berth.bench.report.Quantity.Unit;
import dev.berth.bench.report.Row;
import dev.berth.bench.report.Series;
import dev.berth.sandbox.local.linux.Spawn;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Copies of a large file, by {@code cp} on the host and by other ways. All in one directory of one mounted root, with
 * the source in the page cache.
 */
record FileTransfer(Path directory, int megabytes) {
    private static final String CP = "cp on the same disk";

    /** Makes the source. */
    static FileTransfer in(Path directory, int megabytes) {
        FileTransfer transfer = new FileTransfer(directory, megabytes);
        Spawn.of("dd", "if=/dev/urandom", "of=" + transfer.source(), "bs=1M", "count=" + megabytes, "status=none")
                .run();
        return transfer;
    }

    Path source() {
        return directory.resolve("source");
    }

    Path copy() {
        return directory.resolve("copy");
    }

    /** @param ways each makes {@link #copy()} of {@link #source()} */
    Timings run(Rig rig, Contender... ways) throws Exception {
        List<Contender> contenders = new ArrayList<>(List.of(ways));
        // Never by reference, which would copy nothing.
        contenders.add(
                Contender.rival(CP, Spawn.of("cp", "--reflink=never", source().toString(), copy().toString())::run));
        contenders.replaceAll(contender -> contender.before(this::quiet));
        return new Rounds(contenders).run(rig.scale().transfers(), rig.progress());
    }

    /** Each begins with no copy there and nothing left to be written to the disk. */
    private void quiet() throws Exception {
        Files.deleteIfExists(copy());
        Spawn.of("sync", "-f", directory.toString()).run();
    }

    Row row(String what, Timings timings, String way) {
        return Row.compare(what, speed(timings.of(way)), CP, speed(timings.of(CP)))
                .must(new Must.AtLeastTimes(0.5));
    }

    private Quantity speed(Series series) {
        return new Quantity(megabytes / (series.median().value() / 1000), Unit.MEGABYTES_PER_SECOND);
    }
}
