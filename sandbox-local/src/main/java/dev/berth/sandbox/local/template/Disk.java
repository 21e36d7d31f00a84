package dev.berth.sandbox.local.template;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** Makes sure that what is renamed into place is on the disk before its new name is. */
final class Disk {
    private static final Duration PATIENCE = Duration.ofMinutes(5);

    private Disk() {}

    /** syncfs(2), by {@code sync -f}: one call for thousands of files. */
    static void flush(Path directory) throws IOException {
        ExternalCommand.of(List.of("sync", "-f", directory.toString()))
                .within(PATIENCE)
                .run(line -> {})
                .orThrow();
    }
}
