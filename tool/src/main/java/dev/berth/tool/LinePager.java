package dev.berth.tool;

import java.io.ByteArrayOutputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** Counts the lines of UTF-8 text that goes by, and keeps one page of them. */
final class LinePager {
    /** What is longer is cut, with a note. */
    static final int LINE_CHARS = 2000;

    static final int PAGE_CHARS = 256 * 1024;
    /** No character takes more than four bytes. */
    private static final int LINE_BYTES = 4 * LINE_CHARS;

    private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());
    private static final long NEWLINES = 0x0a0a_0a0a_0a0a_0a0aL;
    private static final long LOW_BITS = 0x7f7f_7f7f_7f7f_7f7fL;

    private final long first;
    private final int limit;
    private final StringBuilder content = new StringBuilder();
    private final ByteArrayOutputStream line = new ByteArrayOutputStream();

    private long newlines;
    private boolean inLine;
    private long lineBytes;
    private int pageLines;
    private boolean ended;
    private boolean truncated;

    LinePager(long first, int limit) {
        this.first = first;
        this.limit = limit;
    }

    void feed(byte[] bytes, int length) {
        if (length == 0) {
            return;
        }
        int at = newlines + 1 < first ? skip(bytes, length) : 0;
        while (at < length && !ended) {
            int end = indexOfNewline(bytes, at, length);
            line.write(bytes, at, Math.min(end - at, LINE_BYTES + 1 - line.size()));
            lineBytes += end - at;
            at = end;
            if (end < length) {
                add("\n");
                newlines++;
                at++;
            }
        }
        newlines += count(bytes, at, length);
        inLine = bytes[length - 1] != '\n';
    }

    /** @return where the first line of the page begins, or the end */
    private int skip(byte[] bytes, int length) {
        int in = count(bytes, 0, length);
        if (newlines + in + 1 < first) {
            newlines += in;
            return length;
        }
        int at = 0;
        while (newlines + 1 < first) {
            at = indexOfNewline(bytes, at, length) + 1;
            newlines++;
        }
        return at;
    }

    /** To be called once all was fed. */
    void end() {
        if (inLine && !ended && newlines + 1 >= first) {
            add("");
        }
        ended = true;
    }

    private void add(String lineEnd) {
        String text = line.toString(StandardCharsets.UTF_8);
        if (newlines == 0 && text.startsWith("\uFEFF")) {
            text = text.substring(1);
        }
        boolean cut = lineBytes > LINE_BYTES || text.length() > LINE_CHARS;
        if (cut) {
            text = Texts.cut(text, LINE_CHARS) + " [cut: the line has " + lineBytes + " bytes]";
        }
        line.reset();
        lineBytes = 0;
        if (pageLines > 0 && content.length() + text.length() + 1 > PAGE_CHARS) {
            truncated = true;
            ended = true;
            return;
        }
        content.append(text).append(lineEnd);
        truncated |= cut;
        pageLines++;
        ended = pageLines == limit;
    }

    boolean pageEnded() {
        return ended;
    }

    String content() {
        return content.toString();
    }

    int pageLines() {
        return pageLines;
    }

    boolean truncated() {
        return truncated;
    }

    /** How many lines went by; one that has no newline at the end of the file counts. */
    long lines() {
        return newlines + (inLine ? 1 : 0);
    }

    private static int indexOfNewline(byte[] bytes, int from, int to) {
        int at = from;
        while (at < to && bytes[at] != '\n') {
            at++;
        }
        return at;
    }

    /** Eight bytes at a time: a byte of {@code other} is zero where there is a newline, and only there its top bit stays clear. */
    private static int count(byte[] bytes, int from, int to) {
        int found = 0;
        int at = from;
        for (; at <= to - Long.BYTES; at += Long.BYTES) {
            long other = (long) LONGS.get(bytes, at) ^ NEWLINES;
            long marked = ((other & LOW_BITS) + LOW_BITS) | other | LOW_BITS;
            found += Long.bitCount(~marked);
        }
        for (; at < to; at++) {
            if (bytes[at] == '\n') {
                found++;
            }
        }
        return found;
    }
}
