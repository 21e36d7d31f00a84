package dev.berth.sandbox.local;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.UUID;

/** The identity of a data directory, made when it is first opened and kept in it, wherever it is moved to. */
final class Location {
    private Location() {}

    static String of(Path data) throws IOException {
        Path file = data.resolve("location");
        if (!Files.exists(file)) {
            make(data, file);
        }
        String identity = Files.readString(file).strip();
        try {
            return "local:" + UUID.fromString(identity);
        } catch (IllegalArgumentException e) {
            throw SandboxException.unavailable(
                    file + " should hold the identity of the data directory, and does not; put back what was in it", e);
        }
    }

    /** Gives a complete file its name in a step that fails if there is one: of several at once, all read the same. */
    private static void make(Path data, Path file) throws IOException {
        UUID identity = UUID.randomUUID();
        Path draft = data.resolve("location." + identity);
        try (FileChannel channel = FileChannel.open(draft, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap((identity + "\n").getBytes(StandardCharsets.US_ASCII)));
            channel.force(true);
        }
        try {
            Files.createLink(file, draft);
        } catch (FileAlreadyExistsException e) {
            // Another process was first.
        } finally {
            Files.deleteIfExists(draft);
        }
    }
}
