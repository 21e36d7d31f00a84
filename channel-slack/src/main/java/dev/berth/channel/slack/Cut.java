package dev.berth.channel.slack;

import java.util.ArrayList;
import java.util.List;

/**
 * Cuts a long Markdown text into messages. A text that grows keeps the cuts it had: where one is made depends on what is
 * before it alone, so that only the last message changes.
 */
final class Cut {
    static final int MOST = 2_900;
    private static final String FENCE = "```";

    private final int most;

    Cut(int most) {
        this.most = most;
    }

    /** Between blank lines where there are any; a code block that goes over a cut is closed, and opened again behind it. */
    List<String> apply(String text) {
        List<String> parts = new ArrayList<>();
        String rest = text.strip();
        while (reach(rest, most) < rest.length()) {
            Place place = place(rest);
            String part = rest.substring(0, place.end).stripTrailing();
            String next = rest.substring(place.end);
            if (place.fence.isEmpty()) {
                parts.add(part);
                rest = next.strip().isEmpty() ? "" : stripBlankLines(next);
            } else {
                parts.add(part + "\n" + FENCE);
                rest = place.fence + "\n" + (next.startsWith("\n") ? next.substring(1) : next);
            }
        }
        if (!rest.isBlank()) {
            parts.add(rest);
        }
        return parts;
    }

    /** @param fence the line that opened the code block the cut is in; empty if it is in none */
    private record Place(int end, String fence) {}

    private Place place(String text) {
        int window = reach(text, most - FENCE.length() - 1);
        int blank = -1;
        int line = -1;
        int inFence = -1;
        String fence = "";
        String fenceOfCut = "";
        int start = 0;
        while (start < window) {
            int end = text.indexOf('\n', start);
            if (end < 0 || end >= window) {
                break;
            }
            String content = text.substring(start, end).strip();
            boolean marks = content.startsWith(FENCE) || content.startsWith("~~~");
            if (marks) {
                fence = fence.isEmpty() ? content : "";
            } else if (fence.isEmpty() && content.isEmpty() && start > 0) {
                blank = start;
            }
            if (fence.isEmpty()) {
                line = end;
            } else if (!marks) {
                inFence = end;
                fenceOfCut = fence;
            }
            start = end + 1;
        }
        int least = window / 3;
        if (blank >= least) {
            return new Place(blank, "");
        }
        if (line >= least && line >= inFence) {
            return new Place(line, "");
        }
        if (inFence >= least) {
            return new Place(inFence, fenceOfCut);
        }
        if (line >= least) {
            return new Place(line, "");
        }
        int space = text.lastIndexOf(' ', window - 1);
        int hard = space >= least ? space : whole(text, window);
        return new Place(hard, fence);
    }

    /** How far a text goes with this much room. Slack counts what it gets, and & < > grow when they are escaped. */
    private static int reach(String text, int room) {
        int cost = 0;
        for (int i = 0; i < text.length(); i++) {
            cost += switch (text.charAt(i)) {
                case '&' -> 5;
                case '<', '>' -> 4;
                default -> 1;
            };
            if (cost > room) {
                return i;
            }
        }
        return text.length();
    }

    private static int whole(String text, int index) {
        return Character.isLowSurrogate(text.charAt(index)) && Character.isHighSurrogate(text.charAt(index - 1))
                ? index - 1
                : index;
    }

    private static String stripBlankLines(String text) {
        int start = 0;
        for (int end = text.indexOf('\n');
                end >= 0 && text.substring(start, end).isBlank();
                end = text.indexOf('\n', start)) {
            start = end + 1;
        }
        return start == 0 && text.startsWith(" ") ? text.stripLeading() : text.substring(start);
    }
}
