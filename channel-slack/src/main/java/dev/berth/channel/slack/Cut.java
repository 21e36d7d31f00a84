package dev.berth.channel.slack;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Cuts a long Markdown text into messages. A text that grows keeps the cuts it had: where one is made depends on what is
 * before it alone, so that only the last message changes.
 */
final class Cut {
    static final int MOST = 2_900;

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
                rest = stripBlankLines(next);
            } else {
                Fence fence = place.fence.get();
                parts.add(part + "\n" + fence.marks());
                rest = fence.line() + "\n" + (next.startsWith("\n") ? next.substring(1) : next);
            }
        }
        if (!rest.isBlank()) {
            parts.add(rest);
        }
        return parts;
    }

    /** @param fence what opened the code block that the cut is in */
    private record Place(int end, Optional<Fence> fence) {}

    private Place place(String text) {
        int window = reach(text, most - Fence.LONGEST - 1);
        int blank = -1;
        int line = -1;
        int inFence = -1;
        Optional<Fence> fence = Optional.empty();
        Optional<Fence> fenceOfCut = Optional.empty();
        int start = 0;
        for (int end = text.indexOf('\n'); end >= 0 && end < window; end = text.indexOf('\n', start)) {
            String content = text.substring(start, end);
            if (fence.isEmpty()) {
                fence = Fence.opening(content);
                if (fence.isEmpty()) {
                    line = end;
                    blank = content.isBlank() && start > 0 ? start : blank;
                }
            } else if (fence.get().closedBy(content)) {
                fence = Optional.empty();
                line = end;
            } else {
                inFence = end;
                fenceOfCut = fence;
            }
            start = end + 1;
        }
        int least = window / 3;
        if (blank >= least) {
            return new Place(blank, Optional.empty());
        }
        if (line >= least && line >= inFence) {
            return new Place(line, Optional.empty());
        }
        if (inFence >= least) {
            return new Place(inFence, fenceOfCut);
        }
        if (line >= least) {
            return new Place(line, Optional.empty());
        }
        int space = text.lastIndexOf(' ', window - 1);
        return new Place(space >= least ? space : whole(text, window), fence);
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
