package dev.berth.session.postgres;

import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;

/**
 * The file that PostgreSQL's output goes to, and one earlier file of the same size.
 *
 * <p>PostgreSQL keeps it open, so it is emptied and not replaced. That is sound because it is open with O_APPEND: the next
 * line goes to the new end (open(2)). Lines written between the copy and the emptying are lost.
 */
final class ServerLog {
    static final long LARGEST = 8 << 20;
    private static final int TAIL_BYTES = 4096;
    private static final int TAIL_LINES = 12;

    private final Path file;

    private ServerLog(Path file) {
        this.file = file;
    }

    static ServerLog open(Path file) throws IOException {
        if (!Files.exists(file)) {
            Files.createFile(file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        }
        ServerLog log = new ServerLog(file);
        log.bound();
        return log;
    }

    Path file() {
        return file;
    }

    ProcessBuilder.Redirect redirect() {
        return ProcessBuilder.Redirect.appendTo(file.toFile());
    }

    void bound() throws IOException {
        if (Files.size(file) > LARGEST) {
            Files.copy(
                    file,
                    file.resolveSibling(file.getFileName() + ".1"),
                    StandardCopyOption.REPLACE_EXISTING,
                    StandardCopyOption.COPY_ATTRIBUTES);
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                channel.truncate(0);
            }
        }
    }

    /** Where the next line will stand. */
    long end() {
        try {
            return Files.size(file);
        } catch (IOException e) {
            return 0;
        }
    }

    /** The last lines written after a place; nothing if the file cannot be read, as this only explains other failures. */
    String tail(long after) {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            long size = channel.size();
            channel.position(Math.max(after > size ? 0 : after, size - TAIL_BYTES));
            byte[] bytes = Channels.newInputStream(channel).readNBytes(TAIL_BYTES);
            List<String> lines = new String(bytes, StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> !line.isBlank())
                    .toList();
            return String.join("\n", lines.subList(Math.max(0, lines.size() - TAIL_LINES), lines.size()));
        } catch (IOException e) {
            return "";
        }
    }
}
