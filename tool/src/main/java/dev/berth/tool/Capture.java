package dev.berth.tool;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/**
 * The beginning and the end of a stream, whatever its length. From the byte on that does not fit, all of it also goes to
 * the spool. Used by one thread at a time.
 */
final class Capture {
    /** Where the whole stream is kept, or heard. */
    interface Spool {
        void write(byte[] bytes, int offset, int length);
    }

    private final int headLimit;
    private final int tailLimit;
    private final Spool spool;
    private final Spool tap;
    private final ByteArrayOutputStream head = new ByteArrayOutputStream();
    /** The last bytes beyond the head; the one that is overwritten next is at {@code (total - head) % tailLimit}. */
    private byte[] tail = new byte[0];

    private long total;

    Capture(int limit, Spool spool) {
        this(limit, spool, (_, _, _) -> {});
    }

    /** @param tap hears everything as it comes */
    Capture(int limit, Spool spool, Spool tap) {
        this.headLimit = limit / 2;
        this.tailLimit = limit - limit / 2;
        this.spool = spool;
        this.tap = tap;
    }

    void write(byte[] bytes, int offset, int length) {
        tap.write(bytes, offset, length);
        if (cut()) {
            spool.write(bytes, offset, length);
        } else if (total + length > headLimit + tailLimit) {
            spoolAll();
            spool.write(bytes, offset, length);
        }
        int first = Math.min(length, headLimit - head.size());
        head.write(bytes, offset, first);
        keepLast(bytes, offset + first, length - first);
        total += length;
    }

    private void keepLast(byte[] bytes, int offset, int length) {
        if (length == 0) {
            return;
        }
        if (tail.length == 0) {
            tail = new byte[tailLimit];
        }
        long beyond = Math.max(0, total - headLimit);
        int skipped = Math.max(0, length - tailLimit);
        int at = (int) ((beyond + skipped) % tailLimit);
        int n = length - skipped;
        int untilEnd = Math.min(n, tailLimit - at);
        System.arraycopy(bytes, offset + skipped, tail, at, untilEnd);
        System.arraycopy(bytes, offset + skipped + untilEnd, tail, 0, n - untilEnd);
    }

    boolean cut() {
        return total > headLimit + tailLimit;
    }

    /** Whether {@link #text} has every byte. */
    boolean exact() {
        if (cut()) {
            return false;
        }
        try {
            StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(kept()));
            return true;
        } catch (CharacterCodingException e) {
            return false;
        }
    }

    /** Gives everything to the spool, which has nothing of a stream that is not {@link #cut()}. */
    void spoolAll() {
        byte[] all = kept();
        spool.write(all, 0, all.length);
    }

    long total() {
        return total;
    }

    /** @param missing how the line in the middle goes on after the number of missing bytes */
    String text(String missing) {
        if (!cut()) {
            return new String(kept(), StandardCharsets.UTF_8);
        }
        byte[] start = head.toByteArray();
        byte[] end = lastBytes();
        int startLength = wholeCharacters(start);
        int endFrom = firstCharacter(end);
        long left = total - startLength - (end.length - endFrom);
        return new String(start, 0, startLength, StandardCharsets.UTF_8) + "\n[" + left + " bytes are left out here; "
                + missing + "]\n" + new String(end, endFrom, end.length - endFrom, StandardCharsets.UTF_8);
    }

    private byte[] kept() {
        byte[] start = head.toByteArray();
        byte[] end = lastBytes();
        byte[] all = new byte[start.length + end.length];
        System.arraycopy(start, 0, all, 0, start.length);
        System.arraycopy(end, 0, all, start.length, end.length);
        return all;
    }

    private byte[] lastBytes() {
        long beyond = Math.max(0, total - headLimit);
        int length = (int) Math.min(beyond, tailLimit);
        int oldest = beyond > tailLimit ? (int) (beyond % tailLimit) : 0;
        byte[] last = new byte[length];
        int untilEnd = Math.min(length, tailLimit - oldest);
        System.arraycopy(tail, oldest, last, 0, untilEnd);
        System.arraycopy(tail, 0, last, untilEnd, length - untilEnd);
        return last;
    }

    /** How many of the bytes are left when a character that is cut at the end is left out. */
    static int wholeCharacters(byte[] bytes) {
        for (int back = 1; back <= Math.min(3, bytes.length); back++) {
            int b = Byte.toUnsignedInt(bytes[bytes.length - back]);
            if (b >= 0xc0) {
                int needed = b >= 0xf0 ? 4 : b >= 0xe0 ? 3 : 2;
                return needed > back ? bytes.length - back : bytes.length;
            }
            if (b < 0x80) {
                break;
            }
        }
        return bytes.length;
    }

    /** Where the first character begins, if the bytes begin inside of one. */
    static int firstCharacter(byte[] bytes) {
        int at = 0;
        while (at < Math.min(3, bytes.length) && (bytes[at] & 0xc0) == 0x80) {
            at++;
        }
        return at;
    }
}
