package dev.berth.gateway.e2b.envd;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A part of a file that is asked for, within its size.
 *
 * @param last inclusive, as HTTP has it
 */
record ByteRange(long first, long last) {
    private static final Pattern ONE = Pattern.compile("bytes=\\s*([0-9]{0,18})\\s*-\\s*([0-9]{0,18})\\s*");

    /** What a {@code Range} asks for. */
    sealed interface Asked {
        /** The whole, as it is no range or several, which nobody has to serve, or one of nothing. */
        record Whole() implements Asked {}

        record Part(ByteRange range) implements Asked {}

        /** Nothing that the file has. */
        record Unsatisfiable() implements Asked {}
    }

    long length() {
        return last - first + 1;
    }

    static Asked of(Optional<String> header, long size) {
        Matcher one = ONE.matcher(header.orElse(""));
        // Of nothing there is no part; Go, which E2B's daemon is written in, sends the whole of it.
        if (size == 0
                || !one.matches()
                || (one.group(1).isEmpty() && one.group(2).isEmpty())) {
            return new Asked.Whole();
        }
        long first;
        long last = size - 1;
        if (one.group(1).isEmpty()) {
            long suffix = Long.parseLong(one.group(2));
            if (suffix == 0) {
                return new Asked.Unsatisfiable();
            }
            first = Math.max(0, size - suffix);
        } else {
            first = Long.parseLong(one.group(1));
            if (!one.group(2).isEmpty()) {
                long end = Long.parseLong(one.group(2));
                if (end < first) {
                    return new Asked.Whole();
                }
                last = Math.min(last, end);
            }
        }
        return first >= size ? new Asked.Unsatisfiable() : new Asked.Part(new ByteRange(first, last));
    }
}
