package dev.berth.cli;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import java.util.Set;

/** The server's keys on the disk, each in a file of its own that only its owner can read, and where they are good for. */
final class KeyFiles {
    static final String API = "api";
    static final String ADMIN = "admin";
    static final String PREVIEW = "preview";
    /** For E2B's clients, in the form that they insist on. */
    static final String E2B = "e2b";

    static final String E2B_TOKENS = "e2b-tokens";
    static final String SEALING = "sealing";
    /** No key, but where the server that has them listens. */
    static final String URL = "url";

    private final Path directory;

    private KeyFiles(Path directory) {
        this.directory = directory;
    }

    static KeyFiles open(Path directory) {
        try {
            Files.createDirectories(directory);
            Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx------"));
            return new KeyFiles(directory);
        } catch (IOException e) {
            throw failure("make " + directory, e);
        }
    }

    /** For reading alone: what is not there is not made. */
    static KeyFiles at(Path directory) {
        return new KeyFiles(directory);
    }

    Path file(String name) {
        return directory.resolve(name);
    }

    Optional<String> read(String name) {
        try {
            String key = Files.readString(file(name)).strip();
            if (key.isEmpty()) {
                throw SandboxException.conflict(
                        file(name) + " is empty; put the key back, or remove the file to get a new one");
            }
            return Optional.of(key);
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (IOException e) {
            throw failure("read " + file(name), e);
        }
    }

    /** Replaces what was there in one step, on the disk when this returns. */
    void write(String name, String key) {
        Path partial = directory.resolve("." + name + ".partial");
        try {
            Files.deleteIfExists(partial);
            try (FileChannel channel = FileChannel.open(
                    partial,
                    Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")))) {
                channel.write(ByteBuffer.wrap((key + "\n").getBytes(StandardCharsets.UTF_8)));
                channel.force(true);
            }
            Files.move(partial, file(name), StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw failure("write " + file(name), e);
        }
    }

    private static SandboxException failure(String what, IOException e) {
        return SandboxException.unavailable("could not " + what + ": " + e.getMessage(), e);
    }
}
