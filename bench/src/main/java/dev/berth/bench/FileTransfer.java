package dev.berth.bench;

import dev.berth.bench.report.Must;
import dev.berth.bench.report.Quantity;
import dev.berth.bench.report.Quantity.Unit;
import dev.berth.bench.report.Row;
import dev.berth.bench.report.Series;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxFiles;
import dev.berth.sandbox.local.linux.Spawn;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Copies a large file of a sandbox to another one there, by {@code cp} on the host, by writing through the files
 * interface, and by reading through it. All in one directory of one mounted root, with the source in the page cache.
 */
final class FileTransfer implements Measurement {
    private static final String CP = "cp on the same disk";
    private static final String READ = "read";
    private static final String WRITE = "write";

    @Override
    public String name() {
        return "files";
    }

    @Override
    public List<Row> measure(Rig rig) throws Exception {
        int megabytes = rig.scale().transferMegabytes();
        rig.progress().begin("reading and writing " + megabytes + " MB");
        Sandbox sandbox = rig.create();
        SandboxFiles files = sandbox.files();
        Path directory = rig.site().root(sandbox.id()).resolve("var/tmp");
        Path source = directory.resolve("source");
        Path copy = directory.resolve("copy");
        Spawn.of("dd", "if=/dev/urandom", "of=" + source, "bs=1M", "count=" + megabytes, "status=none")
                .run();
        List<Contender> contenders = List.of(
                // Never by reference, which would copy nothing.
                Contender.rival(CP, Spawn.of("cp", "--reflink=never", source.toString(), copy.toString())::run),
                Contender.berth(WRITE, () -> {
                    try (InputStream content = Files.newInputStream(source)) {
                        files.write("/var/tmp/copy", content);
                    }
                }),
                Contender.berth(READ, () -> {
                    try (InputStream content = files.read("/var/tmp/source");
                            OutputStream out = Files.newOutputStream(copy)) {
                        content.transferTo(out);
                    }
                }));
        Timings timings = new Rounds(contenders.stream()
                        .map(contender -> contender.before(() -> quiet(directory, copy)))
                        .toList())
                .run(rig.scale().transfers(), rig.progress());
        sandbox.destroy();
        Quantity cp = speed(megabytes, timings.of(CP));
        Must must = new Must.AtLeastTimes(0.5);
        String amount = megabytes + " MB through the files interface";
        return List.of(
                Row.compare("read " + amount, speed(megabytes, timings.of(READ)), CP, cp)
                        .must(must),
                Row.compare("write " + amount, speed(megabytes, timings.of(WRITE)), CP, cp)
                        .must(must));
    }

    /** Each begins with no copy there and nothing left to be written to the disk. */
    private static void quiet(Path directory, Path copy) throws Exception {
        Files.deleteIfExists(copy);
        Spawn.of("sync", "-f", directory.toString()).run();
    }

    private static Quantity speed(int megabytes, Series series) {
        return new Quantity(megabytes / (series.median().value() / 1000), Unit.MEGABYTES_PER_SECOND);
    }
}
