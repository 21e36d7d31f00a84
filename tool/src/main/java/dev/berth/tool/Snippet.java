package dev.berth.tool;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Shows one change of a text with the lines around it, in the manner of a unified diff, and not at length. */
final class Snippet {
    private static final int AROUND = 3;
    private static final int LINES = 12;
    private static final int CHARS = 200;

    private Snippet() {}

    /** @param start where the change begins in both, at which the texts are the same so far */
    static String of(byte[] before, int start, int end, byte[] after, int afterEnd) {
        int from = lineStart(before, start);
        int first = line(before, from);
        List<String> above = above(before, from);
        List<String> old = lines(before, from, lineEnd(before, end));
        List<String> changed = lines(after, lineStart(after, start), lineEnd(after, afterEnd));
        List<String> below = below(before, lineEnd(before, end));
        StringBuilder out = new StringBuilder();
        int top = first - above.size();
        int around = above.size() + below.size();
        out.append("@@ -%d,%d +%d,%d @@\n".formatted(top, around + old.size(), top, around + changed.size()));
        append(out, " ", above);
        append(out, "-", old);
        append(out, "+", changed);
        append(out, " ", below);
        return out.toString();
    }

    /** The number of the line that a place is in, from 1. */
    static int line(byte[] text, int at) {
        int line = 1;
        for (int i = 0; i < at; i++) {
            if (text[i] == '\n') {
                line++;
            }
        }
        return line;
    }

    private static void append(StringBuilder out, String mark, List<String> lines) {
        lines.stream()
                .limit(LINES)
                .forEach(line -> out.append(mark).append(line).append('\n'));
        if (lines.size() > LINES) {
            out.append(mark).append("… ").append(lines.size() - LINES).append(" more lines\n");
        }
    }

    private static int lineStart(byte[] text, int at) {
        int start = at;
        while (start > 0 && text[start - 1] != '\n') {
            start--;
        }
        return start;
    }

    /** Behind the newline of the line that ends at or after a place; a change that ends with a newline ends there. */
    private static int lineEnd(byte[] text, int at) {
        if (at > 0 && text[at - 1] == '\n') {
            return at;
        }
        int end = at;
        while (end < text.length && text[end] != '\n') {
            end++;
        }
        return Math.min(end + 1, text.length);
    }

    private static List<String> above(byte[] text, int from) {
        int start = from;
        for (int i = 0; i < AROUND && start > 0; i++) {
            start = lineStart(text, start - 1);
        }
        return lines(text, start, from);
    }

    private static List<String> below(byte[] text, int from) {
        int end = from;
        for (int i = 0; i < AROUND && end < text.length; i++) {
            end = lineEnd(text, end + 1);
        }
        return lines(text, from, end);
    }

    private static List<String> lines(byte[] text, int from, int to) {
        List<String> lines = new ArrayList<>();
        for (int start = from; start < to; ) {
            int end = start;
            while (end < to && text[end] != '\n') {
                end++;
            }
            int kept = end > start && text[end - 1] == '\r' ? end - 1 : end;
            String line = new String(text, start, Math.min(kept - start, 4 * CHARS), StandardCharsets.UTF_8);
            lines.add(Texts.cut(line, CHARS));
            start = end + 1;
        }
        return lines;
    }
}
