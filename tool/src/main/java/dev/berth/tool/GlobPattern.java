package dev.berth.tool;

import dev.berth.sandbox.SandboxException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Patterns of paths: {@code *} and {@code ?} in a name, {@code **} for any directories, {@code [a-z]} and {@code [!a-z]},
 * {@code {a,b}}, and a backslash before what is meant literally.
 *
 * <p>Paths are matched name by name on the way down, so that directories below which nothing can match are never looked
 * at. What can still match is a set of positions: for each alternative, a bit for each of its names. A name is matched
 * without backtracking over more than the last {@code *}, so no pattern takes longer than its length times the name's.
 */
final class GlobPattern {
    private static final int MOST_CHARS = 1000;
    private static final int MOST_NAMES = 60;
    private static final int MOST_ALTERNATIVES = 256;
    private static final int MOST_CHARS_EXPANDED = 4096;

    private final List<Name[]> alternatives;

    private GlobPattern(List<Name[]> alternatives) {
        this.alternatives = alternatives;
    }

    /** @throws SandboxException {@code invalid} if it is no pattern, {@code denied} if it leads outside */
    static GlobPattern parse(String pattern) {
        return new GlobPattern(alternatives(pattern, false));
    }

    /** Matches what any of them does. Those without a slash match a name in any directory. */
    static GlobPattern anyOf(List<String> patterns) {
        List<Name[]> all = new ArrayList<>();
        for (String pattern : patterns) {
            all.addAll(alternatives(pattern, true));
            if (all.size() > MOST_ALTERNATIVES) {
                throw tooMany(pattern);
            }
        }
        return new GlobPattern(all);
    }

    private static List<Name[]> alternatives(String pattern, boolean anywhere) {
        if (pattern.isEmpty()) {
            throw SandboxException.invalid("the pattern is empty; give one such as '**/*.py'");
        }
        if (pattern.length() > MOST_CHARS || pattern.indexOf('\0') >= 0) {
            throw SandboxException.invalid(
                    "the pattern has more than " + MOST_CHARS + " characters, or a NUL; use a shorter one");
        }
        if (pattern.startsWith("/")) {
            throw SandboxException.denied("could not use the pattern '" + Texts.cut(pattern, 200)
                    + "': it is absolute; give one relative to the workspace, such as 'src/**/*.py'");
        }
        List<Name[]> alternatives = new ArrayList<>();
        int chars = 0;
        for (String expanded : expand(pattern)) {
            chars += expanded.length();
            alternatives.add(names(pattern, expanded, anywhere));
        }
        if (chars > MOST_CHARS_EXPANDED) {
            throw tooMany(pattern);
        }
        return alternatives;
    }

    private static Name[] names(String pattern, String expanded, boolean anywhere) {
        String[] parts = expanded.split("/");
        List<Name> names = new ArrayList<>();
        if (anywhere && parts.length == 1) {
            names.add(Name.ANY_DIRECTORIES);
        }
        for (String part : parts) {
            if (part.equals("..")) {
                throw SandboxException.denied("could not use the pattern '" + Texts.cut(pattern, 200)
                        + "': it has '..' in it; give one that goes down from the workspace only");
            }
            boolean again =
                    part.equals("**") && !names.isEmpty() && names.getLast().isAnyDirectories();
            if (!part.isEmpty() && !part.equals(".") && !again) {
                names.add(part.equals("**") ? Name.ANY_DIRECTORIES : Name.parse(part));
            }
        }
        if (anywhere && names.size() > 1 && names.getLast().isAnyDirectories()) {
            names.removeLast();
        }
        if (names.size() > MOST_NAMES) {
            throw SandboxException.invalid("the pattern has more than " + MOST_NAMES + " names; use a shorter one");
        }
        return names.toArray(Name[]::new);
    }

    private static SandboxException tooMany(String pattern) {
        return SandboxException.invalid("the pattern '" + Texts.cut(pattern, 200)
                + "' stands for too many alternatives; use fewer braces, or '*' in their place");
    }

    /** Takes the first braces apart until there are none. */
    private static List<String> expand(String pattern) {
        List<String> done = new ArrayList<>();
        List<String> waiting = new ArrayList<>(List.of(pattern));
        while (!waiting.isEmpty()) {
            String next = waiting.removeLast();
            int open = find(next, 0, "{");
            if (open < 0) {
                done.add(next);
            } else {
                addAlternatives(next, open, waiting);
            }
            if (done.size() + waiting.size() > MOST_ALTERNATIVES) {
                throw tooMany(pattern);
            }
        }
        return done;
    }

    private static void addAlternatives(String pattern, int open, List<String> target) {
        List<String> parts = new ArrayList<>();
        int depth = 0;
        int start = open + 1;
        for (int at = find(pattern, open, "{},"); at >= 0; at = find(pattern, at + 1, "{},")) {
            switch (pattern.charAt(at)) {
                case '{' -> depth++;
                case ',' -> {
                    if (depth == 1) {
                        parts.add(pattern.substring(start, at));
                        start = at + 1;
                    }
                }
                default -> depth--;
            }
            if (depth == 0) {
                parts.add(pattern.substring(start, at));
                String before = pattern.substring(0, open);
                String after = pattern.substring(at + 1);
                parts.reversed().forEach(part -> target.add(before + part + after));
                return;
            }
        }
        throw SandboxException.invalid("the pattern '" + Texts.cut(pattern, 200)
                + "' has a '{' without its '}'; close it, or write '\\{' for the character");
    }

    private static int find(String pattern, int from, String any) {
        for (int i = from; i < pattern.length(); i++) {
            if (pattern.charAt(i) == '\\') {
                i++;
            } else if (any.indexOf(pattern.charAt(i)) >= 0) {
                return i;
            }
        }
        return -1;
    }

    /** What can match before the first name. */
    long[] start() {
        long[] positions = new long[alternatives.size()];
        for (int i = 0; i < positions.length; i++) {
            positions[i] = reach(alternatives.get(i), 0);
        }
        return positions;
    }

    /**
     * What can match behind another name.
     *
     * @param hidden whether wildcards match names that begin with a dot
     */
    long[] step(long[] positions, String name, boolean hidden) {
        int[] chars = name.codePoints().toArray();
        boolean shown = hidden || !name.startsWith(".");
        long[] next = new long[positions.length];
        for (int i = 0; i < next.length; i++) {
            Name[] names = alternatives.get(i);
            for (long left = positions[i] & ~(1L << names.length); left != 0; left &= left - 1) {
                int at = Long.numberOfTrailingZeros(left);
                if (names[at].isAnyDirectories()) {
                    next[i] |= shown ? reach(names, at) : 0;
                } else if ((shown || names[at].beginsWithDot()) && names[at].matches(chars)) {
                    next[i] |= reach(names, at + 1);
                }
            }
        }
        return next;
    }

    /** A position, and the one behind {@code **}, which also stands for nothing. */
    private static long reach(Name[] names, int at) {
        boolean optional = at < names.length && names[at].isAnyDirectories();
        return optional ? 3L << at : 1L << at;
    }

    boolean matches(long[] positions) {
        for (int i = 0; i < positions.length; i++) {
            if ((positions[i] >>> alternatives.get(i).length & 1) != 0) {
                return true;
            }
        }
        return false;
    }

    /** Whether something below could still match. */
    boolean canMatchBelow(long[] positions) {
        for (int i = 0; i < positions.length; i++) {
            if ((positions[i] & ~(1L << alternatives.get(i).length)) != 0) {
                return true;
            }
        }
        return false;
    }

    /** The pattern of one name. */
    private record Name(List<Token> tokens) {
        static final Name ANY_DIRECTORIES = new Name(List.of());

        static Name parse(String text) {
            int[] chars = text.codePoints().toArray();
            List<Token> tokens = new ArrayList<>();
            for (int i = 0; i < chars.length; i++) {
                int c = chars[i];
                if (c == '*') {
                    if (tokens.isEmpty() || !(tokens.getLast() instanceof Token.Star)) {
                        tokens.add(new Token.Star());
                    }
                } else if (c == '?') {
                    tokens.add(new Token.Any());
                } else if (c == '[' && classEnd(chars, i) > 0) {
                    int end = classEnd(chars, i);
                    tokens.add(Token.OneOf.parse(Arrays.copyOfRange(chars, i + 1, end)));
                    i = end;
                } else if (c == '\\' && i + 1 < chars.length) {
                    tokens.add(new Token.One(chars[++i]));
                } else {
                    tokens.add(new Token.One(c));
                }
            }
            return new Name(List.copyOf(tokens));
        }

        /** Where a class is closed; a bracket right at its beginning is one of its characters. */
        private static int classEnd(int[] chars, int open) {
            int first = open + 1 < chars.length && (chars[open + 1] == '!' || chars[open + 1] == '^') ? 2 : 1;
            for (int i = open + first + 1; i < chars.length; i++) {
                if (chars[i] == ']') {
                    return i;
                }
            }
            return -1;
        }

        boolean isAnyDirectories() {
            return tokens.isEmpty();
        }

        boolean beginsWithDot() {
            return !tokens.isEmpty() && tokens.getFirst() instanceof Token.One(int c) && c == '.';
        }

        boolean matches(int[] name) {
            int token = 0;
            int star = -1;
            int starred = 0;
            for (int at = 0; at < name.length; ) {
                if (token < tokens.size() && tokens.get(token) instanceof Token.Star) {
                    star = token++;
                    starred = at;
                } else if (token < tokens.size() && tokens.get(token).matches(name[at])) {
                    token++;
                    at++;
                } else if (star >= 0) {
                    token = star + 1;
                    at = ++starred;
                } else {
                    return false;
                }
            }
            while (token < tokens.size() && tokens.get(token) instanceof Token.Star) {
                token++;
            }
            return token == tokens.size();
        }
    }

    /** What stands for a character of a name, or for any number of them. */
    private sealed interface Token {
        boolean matches(int c);

        record Star() implements Token {
            @Override
            public boolean matches(int c) {
                return true;
            }
        }

        record Any() implements Token {
            @Override
            public boolean matches(int c) {
                return true;
            }
        }

        record One(int only) implements Token {
            @Override
            public boolean matches(int c) {
                return c == only;
            }
        }

        /** @param ranges first and last, first and last, … */
        record OneOf(boolean negated, List<Integer> ranges) implements Token {
            static OneOf parse(int[] inside) {
                boolean negated = inside[0] == '!' || inside[0] == '^';
                List<Integer> ranges = new ArrayList<>();
                for (int i = negated ? 1 : 0; i < inside.length; i++) {
                    ranges.add(inside[i]);
                    if (i + 2 < inside.length && inside[i + 1] == '-') {
                        i += 2;
                    }
                    ranges.add(inside[i]);
                }
                return new OneOf(negated, List.copyOf(ranges));
            }

            @Override
            public boolean matches(int c) {
                for (int i = 0; i < ranges.size(); i += 2) {
                    if (c >= ranges.get(i) && c <= ranges.get(i + 1)) {
                        return !negated;
                    }
                }
                return negated;
            }
        }
    }
}
