package dev.berth.sandbox.local.store;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.Mounts;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A btrfs filesystem in a file, for machines whose disk is something else. The file is sparse: it takes the space that
 * is used inside, and gives it back when that is freed.
 */
final class PoolFile {
    private static final long MINIMUM = 512L << 20;

    private final Path image;
    private final Path mountPoint;

    PoolFile(Path image, Path mountPoint) {
        this.image = image;
        this.mountPoint = mountPoint;
    }

    /** Makes and mounts it unless that was done before. */
    void mount(long bytes) throws IOException {
        Files.createDirectories(mountPoint);
        if (mounted()) {
            return;
        }
        if (!Files.exists(image)) {
            make(bytes);
        }
        // noatime: reading must not write. discard: what is freed inside is freed in the file. commit: what a removed
        // sandbox held is free after the next commit, which would otherwise be up to 30 s away.
        run("mount", "-o", "loop,noatime,discard=async,commit=5", image.toString(), mountPoint.toString());
    }

    boolean exists() {
        return Files.exists(image);
    }

    void unmount() throws IOException {
        Mounts.unmount(mountPoint);
    }

    boolean mounted() throws IOException {
        return Mounts.all().stream()
                .anyMatch(m -> m.target().equals(mountPoint) && m.type().equals("btrfs"));
    }

    private void make(long bytes) throws IOException {
        long size = bytes > 0
                ? bytes
                : Files.getFileStore(image.resolveSibling(".")).getUsableSpace() / 10 * 8;
        if (size < MINIMUM) {
            throw SandboxException.limit("the disk at " + image.resolveSibling("") + " is too full for a pool of "
                    + (MINIMUM >> 20) + " MB; free some space or choose another data directory");
        }
        Path partial = image.resolveSibling(image.getFileName() + ".partial");
        try (RandomAccessFile file = new RandomAccessFile(partial.toFile(), "rw")) {
            file.setLength(size);
        }
        run("mkfs.btrfs", "--quiet", "--force", "--nodiscard", "--metadata", "single", partial.toString());
        Files.move(partial, image, StandardCopyOption.ATOMIC_MOVE);
    }

    private static void run(String... command) throws IOException {
        Process process;
        try {
            process = new ProcessBuilder(command).redirectErrorStream(true).start();
        } catch (IOException e) {
            throw SandboxException.unsupported(
                    command[0] + " is missing; install it with: apt-get install -y btrfs-progs mount");
        }
        try {
            process.getOutputStream().close();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (!process.waitFor(120, TimeUnit.SECONDS) || process.exitValue() != 0) {
                process.destroyForcibly();
                throw SandboxException.unsupported("could not make a btrfs pool: " + List.of(command) + ": "
                        + output.strip() + "; use another disk or the plain store");
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("interrupted while making the pool", e);
        }
    }
}
