package dev.berth.channel.slack;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The mark a code block of Markdown begins with, as CommonMark has it in section 4.5.
 *
 * @param marks backticks or tildes
 * @param language what is behind them; empty if it is too long to be one
 */
record Fence(String marks, String language) {
    static final int LONGEST = 8;

    private static final Pattern OPENING = Pattern.compile(" {0,3}(`{3,8}|~{3,8})(?![`~])([^`]*)");
    private static final int LANGUAGE = 20;

    static Optional<Fence> opening(String line) {
        Matcher matcher = OPENING.matcher(line.stripTrailing());
        if (!matcher.matches()) {
            return Optional.empty();
        }
        String language = matcher.group(2).strip();
        return Optional.of(new Fence(matcher.group(1), language.length() > LANGUAGE ? "" : language));
    }

    boolean closedBy(String line) {
        String found = line.strip();
        return found.length() >= marks.length()
                && found.chars().allMatch(c -> c == marks.charAt(0))
                && line.indexOf(found) <= 3;
    }

    String line() {
        return marks + language;
    }
}
