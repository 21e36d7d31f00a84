package dev.berth.session.postgres;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;

/**
 * PostgreSQL's programs, unpacked. They are named by their content: a new version stands beside the one that is running.
 *
 * @param directory with {@code bin}, {@code lib} and {@code share}
 */
record Programs(Path directory) {
    private static final String PARTIAL = "partial-";

    /** Unpacks them unless they are there. Any number of processes may do so at once: the first to finish wins. */
    static Programs unpack(ProgramArchive archive, Path binaries) throws IOException {
        if (!Files.isDirectory(binaries)) {
            Files.createDirectories(binaries);
            Files.setPosixFilePermissions(binaries, PosixFilePermissions.fromString("rwxr-xr-x"));
        }
        Path directory = binaries.resolve(archive.name());
        if (!Files.isDirectory(directory)) {
            removeAbandoned(binaries);
            Path partial = Files.createTempDirectory(binaries, PARTIAL);
            try {
                Files.setPosixFilePermissions(partial, PosixFilePermissions.fromString("rwxr-xr-x"));
                archive.extract(partial);
                Trees.force(partial);
                Files.move(partial, directory, StandardCopyOption.ATOMIC_MOVE);
                Trees.forceOne(binaries);
            } catch (FileSystemException e) {
                // rename(2) does not replace a directory that has something in it
                if (!Files.isDirectory(directory)) {
                    throw e;
                }
            } finally {
                Trees.remove(partial);
            }
        }
        return new Programs(directory);
    }

    Path postgres() {
        return directory.resolve("bin/postgres");
    }

    Path initdb() {
        return directory.resolve("bin/initdb");
    }

    Path pgCtl() {
        return directory.resolve("bin/pg_ctl");
    }

    /** The major version, as initdb reads it too: {@code # PostgreSQL 18}. */
    String major() throws IOException {
        try (BufferedReader reader = Files.newBufferedReader(directory.resolve("share/postgresql/postgres.bki"))) {
            String line = String.valueOf(reader.readLine());
            return line.substring(line.lastIndexOf(' ') + 1);
        }
    }

    /** Unpacking takes seconds; what is an hour old was left behind by a process that was killed. */
    private static void removeAbandoned(Path binaries) throws IOException {
        Instant old = Instant.now().minus(Duration.ofHours(1));
        try (DirectoryStream<Path> partials = Files.newDirectoryStream(binaries, PARTIAL + "*")) {
            for (Path partial : partials) {
                try {
                    if (Files.getLastModifiedTime(partial).toInstant().isBefore(old)) {
                        Trees.remove(partial);
                    }
                } catch (NoSuchFileException e) {
                    // its process has finished it meanwhile
                }
            }
        }
    }
}
