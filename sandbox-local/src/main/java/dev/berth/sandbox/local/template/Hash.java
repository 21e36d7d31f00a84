package dev.berth.sandbox.local.template;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** SHA-256 over a sequence of values, each with its length in front, so that no two sequences look the same. */
final class Hash {
    /** Short enough that a hundred names fit into the one page that mount(2) takes. */
    private static final int LENGTH = 24;

    private final MessageDigest digest;

    Hash() {
        try {
            digest = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    static String of(String... values) {
        Hash hash = new Hash();
        for (String value : values) {
            hash.add(value);
        }
        return hash.result();
    }

    static String ofFile(Path file) throws IOException {
        try (var in = Files.newInputStream(file)) {
            return new Hash().add(in, Files.size(file)).result();
        }
    }

    Hash add(String value) {
        return add(value.getBytes(StandardCharsets.UTF_8));
    }

    Hash add(byte[] bytes) {
        return add(bytes.length).raw(bytes, bytes.length);
    }

    Hash add(List<String> values) {
        add(values.size());
        values.forEach(this::add);
        return this;
    }

    Hash add(Map<String, String> values) {
        add(values.size());
        new TreeMap<>(values).forEach((name, value) -> add(name).add(value));
        return this;
    }

    Hash add(long number) {
        digest.update(ByteBuffer.allocate(Long.BYTES).putLong(number).array());
        return this;
    }

    Hash add(InputStream in, long length) throws IOException {
        add(length);
        byte[] buffer = new byte[1 << 16];
        for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
            raw(buffer, n);
        }
        return this;
    }

    String result() {
        return HexFormat.of().formatHex(digest.digest()).substring(0, LENGTH);
    }

    private Hash raw(byte[] bytes, int length) {
        digest.update(bytes, 0, length);
        return this;
    }
}
