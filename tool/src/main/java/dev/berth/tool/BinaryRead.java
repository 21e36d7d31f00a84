package dev.berth.tool;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.io.InputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.HexFormat;

/**
 * Reads a whole file as bytes.
 *
 * @param path relative to the workspace
 * @param maxBytes a larger file is refused
 */
public record BinaryRead(String path, long maxBytes) {
    public static final long DEFAULT_BYTES = 10L << 20;
    public static final long MOST_BYTES = 64L << 20;

    public BinaryRead {
        path = Workspace.path(path);
        if (maxBytes < 1 || maxBytes > MOST_BYTES) {
            throw SandboxException.invalid("max_bytes has to be 1 to " + MOST_BYTES + ", not " + maxBytes);
        }
    }

    public static BinaryRead of(String path) {
        return new BinaryRead(path, DEFAULT_BYTES);
    }

    /** What a file had in it. */
    public record Content(String path, byte[] bytes, String mimeType, String sha256) {
        public long size() {
            return bytes.length;
        }

        public String base64() {
            return Base64.getEncoder().encodeToString(bytes);
        }
    }

    public Content run(Workspace workspace) {
        try (InputStream file = FileSource.open(workspace, "read", path)) {
            byte[] bytes = file.readNBytes((int) maxBytes + 1);
            if (bytes.length > maxBytes) {
                throw SandboxException.limit("could not read " + path + ": it has more than " + maxBytes
                                + " bytes; raise max_bytes (up to " + MOST_BYTES + "), or cut it with a command first")
                        .with(SandboxException.ALLOWED, maxBytes);
            }
            return new Content(path, bytes, MimeTypes.of(path, bytes), sha256(bytes));
        } catch (IOException e) {
            throw FileSource.unreadable("read", path, e);
        }
    }

    private static String sha256(byte[] bytes) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }
}
