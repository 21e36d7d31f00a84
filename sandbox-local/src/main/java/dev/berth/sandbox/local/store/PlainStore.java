package dev.berth.sandbox.local.store;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.files.TreeRemoval;
import dev.berth.sandbox.local.linux.Directories;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Trees as plain directories, for machines without btrfs. Copies share blocks where the filesystem can (reflinks) and
 * are whole copies otherwise; what a tree takes cannot be limited.
 */
final class PlainStore implements Store {
    private static final String PARTIAL = ".partial";

    private final Path pool;

    PlainStore(Path pool) throws IOException {
        this.pool = Files.createDirectories(pool);
        Files.setPosixFilePermissions(pool, Trees.PRIVATE);
    }

    @Override
    public void create(String tree) throws IOException {
        Files.createDirectory(directory(tree));
        Trees.fill(directory(tree));
    }

    @Override
    public void copy(String from, String to, boolean readOnly) throws IOException {
        Path partial = partial(to);
        Directories.remove(partial);
        Files.createDirectory(partial);
        // cp keeps what Java cannot copy: holes, hard links, and the extended attributes overlayfs marks things with.
        Process process = new ProcessBuilder(
                        "cp",
                        "--archive",
                        "--reflink=auto",
                        directory(from).resolve("upper").toString(),
                        partial.resolve("upper").toString())
                .redirectErrorStream(true)
                .start();
        try {
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (process.waitFor() != 0) {
                Directories.remove(partial);
                throw SandboxException.unavailable("could not copy the sandbox's files: "
                        + output.lines().findFirst().orElse("cp failed"));
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("interrupted while copying files", e);
        }
        Files.createDirectory(partial.resolve("work"));
        Files.move(partial, directory(to));
    }

    @Override
    public boolean copiesAtomically() {
        return false;
    }

    @Override
    public void delete(String tree) throws IOException {
        // What is in it is a sandbox's doing: names of any length, and links that may change while this goes on.
        TreeRemoval.remove(pool, tree);
        TreeRemoval.remove(pool, tree + PARTIAL);
    }

    @Override
    public List<String> trees() throws IOException {
        Set<String> names = new TreeSet<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(pool)) {
            for (Path entry : entries) {
                String name = entry.getFileName().toString();
                names.add(name.endsWith(PARTIAL) ? name.substring(0, name.length() - PARTIAL.length()) : name);
            }
        }
        return List.copyOf(names);
    }

    /** A copy that is not complete; it counts as the tree that it will be. */
    private Path partial(String tree) {
        return pool.resolve(tree + PARTIAL);
    }

    @Override
    public void limit(String tree, long bytes) {
        if (bytes != 0) {
            throw SandboxException.unsupported(
                    "this machine cannot limit disk: its data directory is not on btrfs and no"
                            + " pool could be made; ask for no disk limit, or see `berth doctor`");
        }
    }

    @Override
    public long used(String tree) throws IOException {
        try (Stream<Path> files = Files.walk(upper(tree))) {
            long total = 0;
            for (Path file : (Iterable<Path>) files::iterator) {
                total += Files.isRegularFile(file, java.nio.file.LinkOption.NOFOLLOW_LINKS) ? Files.size(file) : 0;
            }
            return total;
        } catch (java.io.UncheckedIOException e) {
            throw e.getCause();
        }
    }

    @Override
    public boolean enforcesLimits() {
        return false;
    }

    @Override
    public boolean countsShared() {
        return true;
    }

    @Override
    public Path directory(String tree) {
        return pool.resolve(tree);
    }

    @Override
    public void unmount() {
        // Nothing was mounted.
    }
}
