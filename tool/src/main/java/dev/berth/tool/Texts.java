package dev.berth.tool;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;

/** What is text, and how much of it is shown. */
final class Texts {
    /** How much of a file decides whether it is text. */
    static final int HEAD = 8192;
    /** More than one byte in so many that is not UTF-8 makes it binary; a text in Latin-1 has fewer. */
    private static final int TOLERANCE = 10;

    private Texts() {}

    /** What a file's first bytes say that it is. */
    enum Kind {
        UTF_8("utf-8"),
        UTF_16LE("utf-16le"),
        UTF_16BE("utf-16be"),
        BINARY("binary");

        private final String label;

        Kind(String label) {
            this.label = label;
        }

        @Override
        public String toString() {
            return label;
        }
    }

    /** @param head the first {@link #HEAD} bytes, or all if there are fewer */
    static Kind kind(byte[] head) {
        if (head.length >= 2 && (head[0] & 0xff) == 0xff && (head[1] & 0xff) == 0xfe) {
            return Kind.UTF_16LE;
        }
        if (head.length >= 2 && (head[0] & 0xff) == 0xfe && (head[1] & 0xff) == 0xff) {
            return Kind.UTF_16BE;
        }
        for (byte b : head) {
            if (b == 0) {
                return Kind.BINARY;
            }
        }
        return malformed(head) * TOLERANCE > head.length ? Kind.BINARY : Kind.UTF_8;
    }

    private static int malformed(byte[] head) {
        CharsetDecoder decoder = StandardCharsets.UTF_8
                .newDecoder()
                .onMalformedInput(CodingErrorAction.REPORT)
                .onUnmappableCharacter(CodingErrorAction.REPORT);
        ByteBuffer in = ByteBuffer.wrap(head);
        CharBuffer out = CharBuffer.allocate(head.length);
        int malformed = 0;
        // Not the end of input: a character that the head cuts in two is no fault.
        for (CoderResult result = decoder.decode(in, out, false);
                result.isError();
                result = decoder.decode(in, out, false)) {
            malformed += result.length();
            in.position(in.position() + result.length());
        }
        return malformed;
    }

    /** The beginning of a text, at most so many chars, not ending in half a character. */
    static String cut(String text, int length) {
        if (text.length() <= length) {
            return text;
        }
        return text.substring(0, Character.isHighSurrogate(text.charAt(length - 1)) ? length - 1 : length);
    }
}
