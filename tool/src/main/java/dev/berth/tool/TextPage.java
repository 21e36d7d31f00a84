package dev.berth.tool;

import java.util.OptionalLong;

/**
 * Some lines of a text file.
 *
 * <p>A line ends with a newline. The content has the lines as they are in the file, with their line ends, a carriage
 * return before the newline included; so the contents of all pages one after another are the file. Exceptions are a line
 * that was cut, a byte order mark, which is left out, and what is not in the file's encoding, which shows as U+FFFD.
 *
 * @param totalLines of the whole file; empty if it is too large to be counted
 * @param startLine the line that was asked for first
 * @param endLine the last line here, one less than the first if there is none
 * @param truncated whether a line was cut, or the page ended before the limit because it is long
 * @param encoding of the file: {@code utf-8}, {@code utf-16le} or {@code utf-16be}; the content is a string all the same
 */
public record TextPage(
        String path,
        String content,
        OptionalLong totalLines,
        long startLine,
        long endLine,
        boolean hasMore,
        boolean truncated,
        String encoding) {

    /** For a model: each line with its number, without carriage returns, and what to do to see the rest. */
    public String numbered() {
        StringBuilder out = new StringBuilder();
        long number = startLine;
        for (String line : content.isEmpty() && endLine < startLine ? new String[0] : lines()) {
            String shown = line.endsWith("\r") ? line.substring(0, line.length() - 1) : line;
            out.append(String.format("%6d\t", number++)).append(shown).append('\n');
        }
        if (hasMore) {
            out.append("[lines ").append(startLine).append(" to ").append(endLine);
            totalLines.ifPresent(total -> out.append(" of ").append(total));
            out.append("; read on with offset ").append(endLine + 1).append("]\n");
        } else if (endLine < startLine) {
            long total = totalLines.orElse(0);
            out.append(
                    total == 0
                            ? "[the file is empty]\n"
                            : "[the file has " + total + " lines; use an offset of at most that]\n");
        }
        return out.toString();
    }

    private String[] lines() {
        String body = content.endsWith("\n") ? content.substring(0, content.length() - 1) : content;
        return body.split("\n", -1);
    }
}
