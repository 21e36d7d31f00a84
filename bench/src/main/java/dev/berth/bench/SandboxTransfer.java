package dev.berth.bench;

import dev.berth.bench.report.Row;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxFiles;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.util.List;

/** A large file read and written through the files interface, with the other end in the same directory. */
final class SandboxTransfer implements Measurement {
    private static final String READ = "read";
    private static final String WRITE = "write";

    @Override
    public String name() {
        return "files";
    }

    @Override
    public List<Row> measure(Rig rig) throws Exception {
        String amount = rig.scale().transferMegabytes() + " MB through the files interface";
        rig.progress().begin("read and write " + amount);
        Sandbox sandbox = rig.create();
        SandboxFiles files = sandbox.files();
        FileTransfer transfer = FileTransfer.in(
                rig.site().root(sandbox.id()).resolve("var/tmp"), rig.scale().transferMegabytes());
        Timings timings = transfer.run(
                rig,
                Contender.berth(WRITE, () -> {
                    try (InputStream content = Files.newInputStream(transfer.source())) {
                        files.write("/var/tmp/copy", content);
                    }
                }),
                Contender.berth(READ, () -> {
                    try (InputStream content = files.read("/var/tmp/source");
                            OutputStream out = Files.newOutputStream(transfer.copy())) {
                        content.transferTo(out);
                    }
                }));
        sandbox.destroy();
        return List.of(
                transfer.row(READ + " " + amount, timings, READ), transfer.row(WRITE + " " + amount, timings, WRITE));
    }
}
