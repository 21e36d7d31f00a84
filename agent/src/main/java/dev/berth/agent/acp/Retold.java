package dev.berth.agent.acp;

import dev.berth.agent.Past.Said;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/** A conversation in words, for an agent that has lost it: the newest of it that fits. */
final class Retold {
    private static final int LONGEST = 12_000;

    private Retold() {}

    /** Empty if nothing was said. */
    static String of(List<Said> said) {
        Deque<String> lines = new ArrayDeque<>();
        int left = LONGEST;
        for (Said one : said.reversed()) {
            String who = one.byAgent() ? "You: " : "They: ";
            if (who.length() + one.text().length() > left) {
                int room = left - who.length() - 1;
                if (room > 0) {
                    lines.addFirst(who + "…" + end(one.text(), room));
                }
                break;
            }
            lines.addFirst(who + one.text());
            left -= who.length() + one.text().length();
        }
        return lines.isEmpty()
                ? ""
                : "Your memory of this conversation was lost. What follows between the lines is what was said so far, as "
                        + "far as it fits. It is for you to know, not to answer; files may have changed since.\n---\n"
                        + String.join("\n", lines) + "\n---\n";
    }

    /** Not half of a character that takes two. */
    private static String end(String text, int length) {
        int from = text.length() - length;
        return text.substring(Character.isLowSurrogate(text.charAt(from)) ? from + 1 : from);
    }
}
