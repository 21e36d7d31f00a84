package dev.berth.sandbox.local.template;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.zip.GZIPOutputStream;

/** Writes tar files as nobody's tool would: whatever a test says is in them. */
public final class TarFile {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();

    public TarFile file(String name, String content) {
        return entry('0', name, "", 0644, 0, content.getBytes(UTF_8));
    }

    public TarFile file(String name, int mode, int owner, String content) {
        return entry('0', name, "", mode, owner, content.getBytes(UTF_8));
    }

    public TarFile directory(String name, int mode) {
        return entry('5', name, "", mode, 0, new byte[0]);
    }

    public TarFile link(String name, String target) {
        return entry('2', name, target, 0777, 0, new byte[0]);
    }

    public TarFile hardLink(String name, String target) {
        return entry('1', name, target, 0644, 0, new byte[0]);
    }

    public TarFile device(String name) {
        return entry('3', name, "", 0666, 0, new byte[0]);
    }

    public TarFile entry(char type, String name, String target, int mode, int owner, byte[] content) {
        byte[] header = new byte[512];
        put(header, 0, name);
        put(header, 100, "%07o".formatted(mode));
        put(header, 108, "%07o".formatted(owner));
        put(header, 116, "%07o".formatted(owner));
        put(header, 124, "%011o".formatted(content.length));
        put(header, 136, "%011o".formatted(1_700_000_000));
        put(header, 148, "        ");
        header[156] = (byte) type;
        put(header, 157, target);
        put(header, 257, "ustar");
        put(header, 263, "00");
        int sum = 0;
        for (byte b : header) {
            sum += b & 0xff;
        }
        put(header, 148, "%06o".formatted(sum));
        header[154] = 0;
        out.writeBytes(header);
        out.writeBytes(content);
        out.writeBytes(new byte[-content.length & 511]);
        return this;
    }

    private static void put(byte[] header, int at, String text) {
        byte[] bytes = text.getBytes(ISO_8859_1);
        System.arraycopy(bytes, 0, header, at, bytes.length);
    }

    public byte[] bytes() {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        all.writeBytes(out.toByteArray());
        all.writeBytes(new byte[1024]);
        return all.toByteArray();
    }

    public byte[] gzip() {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(packed)) {
            gzip.write(bytes());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return packed.toByteArray();
    }
}
