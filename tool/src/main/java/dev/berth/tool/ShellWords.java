package dev.berth.tool;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * Bash text cut into words and operators, about as bash does: quotes are taken away, comments and the bodies of heredocs
 * are left out, nothing is expanded. It is for advice only, so where bash is complicated this is not.
 */
final class ShellWords {
    /** @param operator one of bash's operators, such as {@code >>} or {@code |}, or a line feed */
    record Token(String text, boolean operator) {}

    private static final String OPERATORS = "<>|&;()\n";

    private final String text;
    private final List<Token> tokens = new ArrayList<>();
    /** The ends of the heredocs whose bodies follow this line. */
    private final Deque<String> heredocs = new ArrayDeque<>();

    private int at;

    private ShellWords(String text) {
        this.text = text;
    }

    static List<Token> of(String text) {
        ShellWords words = new ShellWords(text);
        while (words.at < text.length()) {
            words.next();
        }
        return words.tokens;
    }

    private void next() {
        char c = text.charAt(at);
        if (c == '\n') {
            at++;
            tokens.add(new Token("\n", true));
            skipHeredocs();
        } else if (Character.isWhitespace(c)) {
            at++;
        } else if (c == '#') {
            at = lineEnd(at);
        } else if (OPERATORS.indexOf(c) >= 0) {
            operator();
        } else {
            String word = word();
            if (!tokens.isEmpty() && tokens.getLast().equals(new Token("<<", true))) {
                heredocs.add(word);
            }
            tokens.add(new Token(word, false));
        }
    }

    private void operator() {
        int from = at;
        while (at < text.length() && text.charAt(at) != '\n' && OPERATORS.indexOf(text.charAt(at)) >= 0) {
            char c = text.charAt(at);
            if (at > from && (c == '(' || c == ')' || ";)".indexOf(text.charAt(at - 1)) >= 0)) {
                break;
            }
            at++;
        }
        String operator = text.substring(from, at);
        if (operator.equals("<<") && at < text.length() && text.charAt(at) == '-') {
            at++;
        }
        tokens.add(new Token(operator, true));
    }

    private String word() {
        StringBuilder word = new StringBuilder();
        char quote = 0;
        for (; at < text.length(); at++) {
            char c = text.charAt(at);
            if (quote == 0 && (Character.isWhitespace(c) || OPERATORS.indexOf(c) >= 0)) {
                break;
            }
            if (c == '\\' && quote != '\'' && at + 1 < text.length()) {
                at++;
                word.append(text.charAt(at));
            } else if (quote == 0 && (c == '\'' || c == '"')) {
                quote = c;
            } else if (c == quote) {
                quote = 0;
            } else {
                word.append(c);
            }
        }
        return word.toString();
    }

    private void skipHeredocs() {
        while (!heredocs.isEmpty() && at < text.length()) {
            int end = lineEnd(at);
            if (text.substring(at, end).strip().equals(heredocs.element())) {
                heredocs.remove();
            }
            at = Math.min(end + 1, text.length());
        }
    }

    private int lineEnd(int from) {
        int end = text.indexOf('\n', from);
        return end < 0 ? text.length() : end;
    }
}
