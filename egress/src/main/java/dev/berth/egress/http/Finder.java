package dev.berth.egress.http;

import java.util.Arrays;
import java.util.Collection;
import java.util.List;

/**
 * Finds any of a few texts in bytes that come in pieces. Looks at one byte in as many as the shortest text has (Horspool's
 * way of searching, for several texts at once), as it has to keep up with large bodies.
 */
final class Finder {
    private final List<byte[]> texts;
    private final int shortest;
    private final int longest;
    private final int[] skips = new int[256];

    /** @param texts none of them empty */
    Finder(Collection<byte[]> texts) {
        this.texts = List.copyOf(texts);
        shortest = texts.stream().mapToInt(text -> text.length).min().orElse(0);
        longest = texts.stream().mapToInt(text -> text.length).max().orElse(0);
        if (!texts.isEmpty() && shortest == 0) {
            throw new IllegalArgumentException("an empty text is everywhere");
        }
        Arrays.fill(skips, shortest);
        for (byte[] text : this.texts) {
            for (int i = 0; i < shortest; i++) {
                int b = text[i] & 0xff;
                skips[b] = Math.min(skips[b], shortest - 1 - i);
            }
        }
    }

    boolean isEmpty() {
        return texts.isEmpty();
    }

    /** Where a text was found. */
    record Found(int from, int to) {}

    private static final Found NOWHERE = new Found(-1, -1);

    /** The first place where a text stands as a whole, and the longest of those there; from -1 if there is none. */
    Found find(byte[] bytes, int from, int to) {
        if (texts.isEmpty()) {
            return NOWHERE;
        }
        int end = from + shortest - 1;
        while (end < to) {
            int skip = skips[bytes[end] & 0xff];
            if (skip > 0) {
                end += skip;
                continue;
            }
            int start = end - shortest + 1;
            int length = longestAt(bytes, start, to);
            if (length > 0) {
                return new Found(start, start + length);
            }
            end++;
        }
        return NOWHERE;
    }

    private int longestAt(byte[] bytes, int start, int to) {
        int length = 0;
        for (byte[] text : texts) {
            if (text.length > length
                    && text.length <= to - start
                    && Arrays.equals(bytes, start, start + text.length, text, 0, text.length)) {
                length = text.length;
            }
        }
        return length;
    }

    /** How many of the last bytes may be the beginning of a text that goes on in what comes next. */
    int begun(byte[] bytes, int from, int to) {
        for (int start = Math.max(from, to - longest + 1); start < to; start++) {
            int length = to - start;
            for (byte[] text : texts) {
                if (text.length > length
                        && text[0] == bytes[start]
                        && Arrays.equals(bytes, start, to, text, 0, length)) {
                    return length;
                }
            }
        }
        return 0;
    }
}
