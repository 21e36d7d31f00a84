package dev.berth.sandbox.local.linux;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Removal of directories that are the provider's own, where no sandbox can interfere. */
public final class Directories {
    /** Java walks by whole paths, which the kernel takes up to 4096 bytes of, and holds a descriptor for each level. */
    private static final int DEEP = 64;

    /** In characters, of which one may be three bytes; and a name of 255 bytes more has to fit. */
    private static final int LONG = 1024;

    private Directories() {}

    /**
     * Removes a directory with all that is in it, following no links; nothing happens if it is not there. However deep
     * somebody made it: what is below a certain depth is left to rm(1), which walks by descriptors and has no bound.
     */
    public static void remove(Path directory) throws IOException {
        if (!Files.exists(directory, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        Files.walkFileTree(directory, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path dir, BasicFileAttributes attributes) throws IOException {
                if (dir.getNameCount() - directory.getNameCount() < DEEP
                        && dir.toString().length() < LONG) {
                    return FileVisitResult.CONTINUE;
                }
                removeDeep(dir);
                return FileVisitResult.SKIP_SUBTREE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.deleteIfExists(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException failure) throws IOException {
                if (failure instanceof NoSuchFileException) {
                    return FileVisitResult.CONTINUE;
                }
                throw failure;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path dir, @Nullable IOException failure) throws IOException {
                if (failure != null) {
                    throw failure;
                }
                Files.deleteIfExists(dir);
                return FileVisitResult.CONTINUE;
            }
        });
    }

    private static void removeDeep(Path directory) throws IOException {
        Process process = new ProcessBuilder(List.of("rm", "-rf", "--", directory.toString()))
                .redirectErrorStream(true)
                .start();
        String said;
        try (InputStream in = process.getInputStream()) {
            said = new String(in.readNBytes(1000), StandardCharsets.UTF_8);
        }
        Uninterrupted.run(() -> {
            try {
                int status = process.waitFor();
                if (status != 0) {
                    throw new IOException("rm ended with status " + status + ": " + said.strip());
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupted while removing " + directory, e);
            }
        });
    }
}
