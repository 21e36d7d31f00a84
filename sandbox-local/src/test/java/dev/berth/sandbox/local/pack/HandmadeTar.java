package dev.berth.sandbox.local.pack;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.ByteArrayOutputStream;
import java.util.Arrays;

/** A tar stream written entry by entry, as no tree could be and no honest tar would. */
final class HandmadeTar {
    private static final int BLOCK = 512;

    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

    HandmadeTar root() {
        return entry('5', "./", "", "");
    }

    HandmadeTar directory(String path) {
        return entry('5', path, "", "");
    }

    HandmadeTar file(String path, String content) {
        return entry('0', path, "", content);
    }

    HandmadeTar link(String path, String target) {
        return entry('2', path, target, "");
    }

    HandmadeTar hardLink(String path, String target) {
        return entry('1', path, target, "");
    }

    HandmadeTar entry(char type, String path, String target, String content) {
        byte[] header = new byte[BLOCK];
        put(header, 0, path);
        put(header, 100, "0000644");
        put(header, 108, "0000000");
        put(header, 116, "0000000");
        put(header, 124, String.format("%011o", content.length()));
        put(header, 136, "00000000000");
        header[156] = (byte) type;
        put(header, 157, target);
        put(header, 257, "ustar\00000");
        Arrays.fill(header, 148, 156, (byte) ' ');
        int sum = 0;
        for (byte b : header) {
            sum += b & 0xff;
        }
        put(header, 148, String.format("%06o\0", sum));
        bytes.writeBytes(header);
        bytes.writeBytes(content.getBytes(ISO_8859_1));
        bytes.writeBytes(new byte[-content.length() & BLOCK - 1]);
        return this;
    }

    /** A record of pax(1) for the entry that follows. */
    HandmadeTar record(String key, String value) {
        String rest = " " + key + "=" + value + "\n";
        int length = rest.length();
        while (length != rest.length() + Integer.toString(length).length()) {
            length = rest.length() + Integer.toString(length).length();
        }
        return entry('x', "./PaxHeaders/x", "", length + rest);
    }

    byte[] end() {
        bytes.writeBytes(new byte[2 * BLOCK]);
        return bytes.toByteArray();
    }

    byte[] withoutEnd() {
        return bytes.toByteArray();
    }

    private static void put(byte[] header, int offset, String text) {
        byte[] raw = text.getBytes(ISO_8859_1);
        System.arraycopy(raw, 0, header, offset, raw.length);
    }
}
