package dev.berth.session;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;

/**
 * Archives as files of a directory, one each, that only their owner can read.
 *
 * <p>A file is copied beside its place, written through to the disk, and renamed into its place: a reader sees the old
 * one or the new one, and a crash leaves at most a {@code .*.partial}, which can be no archive's name. Those are removed
 * by whoever opens the directory an hour later; younger ones may be another process's work. Any number of threads and
 * processes may use one directory.
 */
public final class DirectoryArchives implements Archives {
    private static final Duration ABANDONED = Duration.ofHours(1);
    private static final String PARTIAL = ".partial";
    private static final FileAttribute<Set<PosixFilePermission>> OWNER_ONLY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
    private static final Set<OpenOption> NEW = Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);

    private final Path directory;

    private DirectoryArchives(Path directory) {
        this.directory = directory;
    }

    /** Opens a directory, which is made if it is not there. */
    public static DirectoryArchives open(Path directory) {
        return open(directory, InstantSource.system());
    }

    static DirectoryArchives open(Path directory, InstantSource clock) {
        try {
            create(directory.toAbsolutePath());
            removeAbandoned(directory, clock);
        } catch (IOException e) {
            throw SandboxException.unavailable(
                    "could not open the directory of archives " + directory + ": " + reason(e)
                            + "; check that it is a directory that this user may write to",
                    e);
        }
        return new DirectoryArchives(directory);
    }

    private static void create(Path directory) throws IOException {
        Path existing = directory;
        while (existing.getParent() != null && !Files.exists(existing)) {
            existing = existing.getParent();
        }
        Files.createDirectories(
                directory, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        for (Path made = directory.getParent(); made != null && made.startsWith(existing); made = made.getParent()) {
            syncDirectory(made);
        }
    }

    private static void removeAbandoned(Path directory, InstantSource clock) throws IOException {
        try (DirectoryStream<Path> partials = Files.newDirectoryStream(directory, ".*" + PARTIAL)) {
            for (Path partial : partials) {
                try {
                    if (Files.getLastModifiedTime(partial, LinkOption.NOFOLLOW_LINKS)
                            .toInstant()
                            .isBefore(clock.instant().minus(ABANDONED))) {
                        Files.delete(partial);
                    }
                } catch (NoSuchFileException e) {
                    // Its owner has finished, or somebody else has removed it: either way it is gone.
                }
            }
        }
    }

    @Override
    public void put(String name, Path file) {
        Archives.requireName(name);
        Path partial = directory.resolve("." + name + "." + UUID.randomUUID() + PARTIAL);
        try {
            try {
                copy(file, partial, true);
                Files.move(
                        partial,
                        directory.resolve(name),
                        StandardCopyOption.ATOMIC_MOVE,
                        StandardCopyOption.REPLACE_EXISTING);
            } finally {
                Files.deleteIfExists(partial);
            }
            syncDirectory(directory);
        } catch (IOException e) {
            throw SandboxException.unavailable(
                    "could not archive " + file + " as '" + name + "' in " + directory + ": " + reason(e)
                            + "; check the file, and the space and the permissions of the directory",
                    e);
        }
    }

    @Override
    public void get(String name, Path target) {
        Archives.requireName(name);
        Path kept = directory.resolve(name);
        if (!Files.isRegularFile(kept, LinkOption.NOFOLLOW_LINKS) && Files.isDirectory(directory)) {
            throw SandboxException.notFound("there is no archive '" + name + "' in " + directory);
        }
        try {
            copy(kept, target, false);
        } catch (FileAlreadyExistsException e) {
            throw SandboxException.conflict(
                    "could not fetch the archive '" + name + "': " + target + " is there already; choose a new file");
        } catch (IOException e) {
            throw SandboxException.unavailable(
                    "could not fetch the archive '" + name + "' from " + directory + " to " + target + ": " + reason(e)
                            + "; check the space and the permissions of both",
                    e);
        }
    }

    @Override
    public void delete(String name) {
        Archives.requireName(name);
        try {
            if (Files.deleteIfExists(directory.resolve(name))) {
                syncDirectory(directory);
            }
        } catch (IOException e) {
            throw SandboxException.unavailable(
                    "could not remove the archive '" + name + "' from " + directory + ": " + reason(e)
                            + "; check the permissions of the directory",
                    e);
        }
    }

    @Override
    public Set<String> names() {
        Set<String> names = new TreeSet<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
            for (Path file : files) {
                String name = file.getFileName().toString();
                if (Archives.isName(name) && Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
                    names.add(name);
                }
            }
        } catch (IOException e) {
            throw SandboxException.unavailable(
                    "could not list the archives in " + directory + ": " + reason(e)
                            + "; check the permissions of the directory",
                    e);
        }
        return names;
    }

    @Override
    public void close() {}

    /** Makes a new file with the bytes of another, or none at all. Where the filesystem can, the two share their blocks. */
    private static void copy(Path source, Path target, boolean durable) throws IOException {
        try (FileChannel in = FileChannel.open(source, StandardOpenOption.READ);
                FileChannel out = FileChannel.open(target, NEW, OWNER_ONLY)) {
            try {
                long size = in.size();
                for (long done = 0; done < size; ) {
                    long copied = in.transferTo(done, size - done, out);
                    if (copied == 0) {
                        throw new IOException(source + " became shorter while it was read");
                    }
                    done += copied;
                }
                if (durable) {
                    out.force(true);
                }
            } catch (IOException | RuntimeException e) {
                Files.deleteIfExists(target);
                throw e;
            }
        }
    }

    /** A rename or a removal is on the disk once the directory is: fsync(2). */
    private static void syncDirectory(Path directory) throws IOException {
        try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    /** The messages of some file exceptions are nothing but the path. */
    private static String reason(IOException e) {
        return e instanceof NoSuchFileException missing ? missing.getFile() + " is not there" : String.valueOf(e);
    }
}
