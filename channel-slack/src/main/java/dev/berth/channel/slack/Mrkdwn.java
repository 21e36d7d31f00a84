package dev.berth.channel.slack;

import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Markdown in the way Slack writes it. Whatever the text says, it mentions nobody: everything that Slack would read as a
 * mention is escaped, and links go to web and mail addresses only.
 */
final class Mrkdwn {
    private static final Pattern HEADING = Pattern.compile(" {0,3}#{1,6}\\s+(.*?)\\s*#*");
    private static final Pattern ITEM = Pattern.compile("(\\s*)[-*+]\\s+(?:\\[([ xX])]\\s+)?(.*)");
    private static final Pattern RULE = Pattern.compile("\\s*([-*_])(\\s*\\1){2,}\\s*");
    private static final Pattern LINK = Pattern.compile(
            "!?\\[([^\\[\\]\\n]*)]\\(\\s*<?([^\\s<>()]*(?:\\([^\\s<>()]*\\)[^\\s<>()]*)*)>?(?:\\s+\"[^\"]*\")?\\s*\\)");
    private static final Pattern AUTOLINK = Pattern.compile("<((?:https?://|mailto:)[^\\s<>|]+)>");
    private static final String FENCE = "```";

    private Mrkdwn() {}

    static String of(String markdown) {
        StringBuilder out = new StringBuilder();
        Optional<Fence> fence = Optional.empty();
        boolean table = false;
        for (String line : markdown.split("\n", -1)) {
            Optional<Fence> opened = fence.isEmpty() ? Fence.opening(line) : Optional.empty();
            boolean row = fence.isEmpty()
                    && line.strip().startsWith("|")
                    && line.strip().length() > 1;
            if (table != row) {
                // A table is read best with letters of one width.
                out.append(FENCE).append('\n');
                table = row;
            }
            if (opened.isPresent()) {
                fence = opened;
                out.append(FENCE);
            } else if (fence.isPresent() && fence.get().closedBy(line)) {
                fence = Optional.empty();
                out.append(FENCE);
            } else {
                out.append(fence.isPresent() || table ? code(line) : line(line));
            }
            out.append('\n');
        }
        if (fence.isPresent() || table) {
            out.append(FENCE).append('\n');
        }
        out.setLength(out.length() - 1);
        return out.toString();
    }

    static String escape(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
    }

    /** Text for inside a code block: it cannot end the block. */
    static String code(String text) {
        return escape(text).replace(FENCE, "`\u200b`\u200b`");
    }

    /** Text as it is, in which nothing is formatted. */
    static String plain(String text) {
        return escape(text.replaceAll("\\s+", " ").strip()).replaceAll("([*_~`])", "\u200b$1");
    }

    private static String line(String line) {
        Matcher heading = HEADING.matcher(line);
        if (heading.matches()) {
            String text = inline(heading.group(1).replace("**", "").replace("__", ""));
            return text.isBlank() ? "" : "*" + text + "*";
        }
        if (RULE.matcher(line).matches()) {
            return "———";
        }
        Matcher item = ITEM.matcher(line);
        if (item.matches()) {
            String box = item.group(2) == null ? "•" : item.group(2).isBlank() ? "☐" : "☑";
            return item.group(1) + box + " " + inline(item.group(3));
        }
        String stripped = line.stripLeading();
        if (stripped.startsWith(">")) {
            return "> " + inline(stripped.substring(1).stripLeading());
        }
        return inline(line);
    }

    private static String inline(String text) {
        StringBuilder out = new StringBuilder();
        Matcher link = LINK.matcher(text);
        Matcher autolink = AUTOLINK.matcher(text);
        int i = 0;
        while (i < text.length()) {
            char c = text.charAt(i);
            if (c == '\\' && i + 1 < text.length() && "\\`*_{}[]()#+-.!~|<>".indexOf(text.charAt(i + 1)) >= 0) {
                out.append(escape(String.valueOf(text.charAt(i + 1))));
                i += 2;
            } else if (c == '`') {
                int ticks = run(text, i, '`');
                int end = text.indexOf("`".repeat(ticks), i + ticks);
                if (end < 0) {
                    out.append("`".repeat(ticks));
                    i += ticks;
                } else {
                    String code = text.substring(i + ticks, end).strip();
                    out.append('`').append(escape(code)).append('`');
                    i = end + ticks;
                }
            } else if ((c == '[' || c == '!') && link.region(i, text.length()).lookingAt()) {
                out.append(link(link.group(1), link.group(2)));
                i = link.end();
            } else if (c == '<' && autolink.region(i, text.length()).lookingAt()) {
                out.append(link("", autolink.group(1)));
                i = autolink.end();
            } else if (pair(text, i, "**") || pair(text, i, "__")) {
                int end = text.indexOf(text.substring(i, i + 2), i + 2);
                out.append('*').append(inline(text.substring(i + 2, end))).append('*');
                i = end + 2;
            } else if (pair(text, i, "~~")) {
                int end = text.indexOf("~~", i + 2);
                out.append('~').append(inline(text.substring(i + 2, end))).append('~');
                i = end + 2;
            } else if (pair(text, i, "*")) {
                int end = text.indexOf('*', i + 1);
                out.append('_').append(inline(text.substring(i + 1, end))).append('_');
                i = end + 1;
            } else {
                out.append(escape(String.valueOf(c)));
                i++;
            }
        }
        return out.toString();
    }

    /** Whether a mark opens here, with something in it, and is closed again. */
    private static boolean pair(String text, int at, String mark) {
        int from = at + mark.length();
        if (!text.startsWith(mark, at) || from >= text.length() || Character.isWhitespace(text.charAt(from))) {
            return false;
        }
        int end = text.indexOf(mark, from);
        return end > from && !Character.isWhitespace(text.charAt(end - 1));
    }

    private static int run(String text, int at, char c) {
        int end = at;
        while (end < text.length() && text.charAt(end) == c) {
            end++;
        }
        return end - at;
    }

    private static String link(String label, String url) {
        String scheme = url.toLowerCase(Locale.ROOT);
        if (!scheme.startsWith("https://") && !scheme.startsWith("http://") && !scheme.startsWith("mailto:")) {
            return escape(label.isBlank() ? url : label + " (" + url + ")");
        }
        String address = escape(url.replace("|", "%7C").replace("<", "%3C").replace(">", "%3E"));
        String shown = escape(label.replace("|", "¦").replaceAll("[*_`~]", ""));
        return shown.isBlank() ? "<" + address + ">" : "<" + address + "|" + shown + ">";
    }
}
