package dev.berth.tool;

import java.util.Arrays;

/**
 * Finds a sequence of bytes in others, in time that grows with the sum of both (Knuth, Morris, Pratt), while some bytes
 * of the text are taken as if they were not there.
 */
final class Occurrences {
    /** Which bytes of the text do not count. */
    enum Ignoring {
        NOTHING {
            @Override
            boolean ignores(byte[] text, int at) {
                return false;
            }
        },
        /** A carriage return before a newline: then both kinds of line ends are alike. */
        RETURNS {
            @Override
            boolean ignores(byte[] text, int at) {
                return text[at] == '\r' && at + 1 < text.length && text[at + 1] == '\n';
            }
        },
        WHITE_SPACE {
            @Override
            boolean ignores(byte[] text, int at) {
                return text[at] == ' ' || (text[at] >= '\t' && text[at] <= '\r');
            }
        };

        abstract boolean ignores(byte[] text, int at);

        byte[] without(byte[] text) {
            byte[] kept = new byte[text.length];
            int length = 0;
            for (int i = 0; i < text.length; i++) {
                if (!ignores(text, i)) {
                    kept[length++] = text[i];
                }
            }
            return Arrays.copyOf(kept, length);
        }
    }

    /** Told of each occurrence, from the first to the last; they do not overlap. */
    interface Found {
        void at(int start, int end);
    }

    private final byte[] wanted;
    private final Ignoring ignoring;
    /** For each prefix of what is wanted, how long its longest proper prefix is that is also its end. */
    private final int[] borders;

    /** @param wanted not empty once the ignored bytes are left out */
    Occurrences(byte[] wanted, Ignoring ignoring) {
        this.wanted = ignoring.without(wanted);
        this.ignoring = ignoring;
        this.borders = borders(this.wanted);
    }

    private static int[] borders(byte[] wanted) {
        int[] borders = new int[wanted.length];
        int border = 0;
        for (int i = 1; i < wanted.length; i++) {
            while (border > 0 && wanted[i] != wanted[border]) {
                border = borders[border - 1];
            }
            if (wanted[i] == wanted[border]) {
                border++;
            }
            borders[i] = border;
        }
        return borders;
    }

    void in(byte[] text, Found found) {
        int matched = 0;
        for (int i = 0; i < text.length; i++) {
            if (ignoring.ignores(text, i)) {
                continue;
            }
            while (matched > 0 && text[i] != wanted[matched]) {
                matched = borders[matched - 1];
            }
            if (text[i] == wanted[matched]) {
                matched++;
            }
            if (matched == wanted.length) {
                found.at(start(text, i), i + 1);
                matched = 0;
            }
        }
    }

    /** Goes back from the last byte of an occurrence; a carriage return that belongs to its first byte is part of it. */
    private int start(byte[] text, int last) {
        int at = last;
        for (int left = wanted.length - 1; left > 0; ) {
            at--;
            if (!ignoring.ignores(text, at)) {
                left--;
            }
        }
        boolean returned = ignoring == Ignoring.RETURNS && at > 0 && ignoring.ignores(text, at - 1);
        return returned ? at - 1 : at;
    }
}
