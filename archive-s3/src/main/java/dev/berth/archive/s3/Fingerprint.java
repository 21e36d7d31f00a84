package dev.berth.archive.s3;

import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;

/**
 * What a file has to be when it arrives: its size, its SHA-256 in hexadecimal, and the SHA-256 of each part of it, in
 * base64 as S3 wants them. Found in one reading before anything is sent, so that the store can refuse what differs.
 */
record Fingerprint(long size, String sha256, long partSize, List<String> parts) {
    static Fingerprint of(RandomAccessFile file, long partSize) throws IOException {
        long size = file.length();
        MessageDigest whole = newSha256();
        MessageDigest part = newSha256();
        List<String> parts = new ArrayList<>();
        byte[] buffer = new byte[64 * 1024];
        long start = 0;
        do {
            long length = Math.min(partSize, size - start);
            try (InputStream slice = new Slice(file, start, length)) {
                for (int n = slice.read(buffer); n > 0; n = slice.read(buffer)) {
                    whole.update(buffer, 0, n);
                    part.update(buffer, 0, n);
                }
            }
            parts.add(Base64.getEncoder().encodeToString(part.digest()));
            start += length;
        } while (start < size);
        return new Fingerprint(size, HexFormat.of().formatHex(whole.digest()), partSize, List.copyOf(parts));
    }

    /** The length of a part, which begins at its index times the size of a part. */
    long length(int part) {
        return Math.min(partSize, size - part * partSize);
    }

    static MessageDigest newSha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }
}
