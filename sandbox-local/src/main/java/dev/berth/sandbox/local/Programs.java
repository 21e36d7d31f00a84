package dev.berth.sandbox.local;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * The static C programs, unpacked from the guest jar into the data directory. They are named by their content: a new
 * version stands beside the one that running sandboxes were started with.
 */
record Programs(Path guest, Path launch) {
    static Programs unpack(Path data) throws IOException {
        Path directory = Files.createDirectories(data.resolve("programs"));
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
        return new Programs(unpack(directory, "berth-guest"), unpack(directory, "berth-launch"));
    }

    private static Path unpack(Path directory, String name) throws IOException {
        byte[] bytes;
        try (InputStream resource = Programs.class.getResourceAsStream("/dev/berth/guest/" + name)) {
            if (resource == null) {
                throw new IOException(name + " is missing from the class path; build with ./berth build");
            }
            bytes = resource.readAllBytes();
        }
        Path file = directory.resolve(name + "-" + hash(bytes));
        if (!Files.exists(file)) {
            Path partial = Files.createTempFile(directory, name, ".partial");
            Files.write(partial, bytes);
            Files.setPosixFilePermissions(partial, PosixFilePermissions.fromString("rwxr-xr-x"));
            Files.move(partial, file, StandardCopyOption.ATOMIC_MOVE);
        }
        return file;
    }

    private static String hash(byte[] bytes) {
        try {
            return HexFormat.of()
                    .formatHex(MessageDigest.getInstance("SHA-256").digest(bytes))
                    .substring(0, 16);
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError("every JDK has SHA-256", e);
        }
    }
}
