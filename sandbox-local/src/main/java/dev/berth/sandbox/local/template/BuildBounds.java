package dev.berth.sandbox.local.template;

import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/**
 * What a build may take that somebody asked for: it holds up the builds of others, and the disk is everybody's.
 *
 * @param longest how long it may work
 * @param leastFree the bytes of the disk that have to stay free, whatever its size
 * @param mostFree and the bytes that are enough on a large one
 */
record BuildBounds(Duration longest, long leastFree, long mostFree) {
    static final BuildBounds DEFAULT = new BuildBounds(Duration.ofMinutes(60), 2L << 30, 16L << 30);

    private static final int SHARE = 20;

    /** A twentieth of the disk, within the bounds. */
    long floor(Path directory) throws IOException {
        long share = Files.getFileStore(directory).getTotalSpace() / SHARE;
        return Math.max(leastFree, Math.min(mostFree, share));
    }

    static long free(Path directory) throws IOException {
        FileStore disk = Files.getFileStore(directory);
        return disk.getUsableSpace();
    }
}
