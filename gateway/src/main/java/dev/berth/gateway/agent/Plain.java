package dev.berth.gateway.agent;

/** Text from outside, made such that the database takes it. */
final class Plain {
    private static final char UNKNOWN = '\uFFFD';

    private Plain() {}

    /** Everything that can be kept, as it is: neither NUL nor half a character can. */
    static String text(String text) {
        StringBuilder plain = new StringBuilder(text.length());
        text.codePoints().forEach(c -> {
            boolean half = c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE;
            plain.appendCodePoint(c == 0 || half ? UNKNOWN : c);
        });
        return plain.toString();
    }

    static String text(String text, int most) {
        return text(cut(text, most));
    }

    /** For a line that people read. */
    static String line(String text, int most) {
        StringBuilder plain = new StringBuilder();
        text(text, most)
                .codePoints()
                .forEach(c -> plain.appendCodePoint(
                        Character.isISOControl(c) || Character.getType(c) == Character.FORMAT ? ' ' : c));
        return plain.toString();
    }

    private static String cut(String text, int most) {
        return text.length() <= most ? text : text.substring(0, most - 1) + "…";
    }
}
