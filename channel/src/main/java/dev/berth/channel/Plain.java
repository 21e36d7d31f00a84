package dev.berth.channel;

/** Texts from outside, made fit to be stored and shown. */
final class Plain {
    private static final String CUT = "…";

    private Plain() {}

    /** Without what no database can store: NUL, and halves of characters. */
    static String text(String given) {
        StringBuilder text = new StringBuilder(given.length());
        given.codePoints()
                .filter(c -> c != 0)
                .map(c -> Character.getType(c) == Character.SURROGATE ? '\uFFFD' : c)
                .forEach(text::appendCodePoint);
        return text.toString();
    }

    /** One line, of so many characters at most. */
    static String line(String given, int most) {
        String line = text(given).replaceAll("[\\p{Cntrl}\\p{Cf}\\s]+", " ").strip();
        return head(line, most);
    }

    static String head(String text, int most) {
        if (text.length() <= most) {
            return text;
        }
        int end = most - CUT.length();
        return text.substring(0, Character.isHighSurrogate(text.charAt(end - 1)) ? end - 1 : end) + CUT;
    }

    static String tail(String text, int most) {
        if (text.length() <= most) {
            return text;
        }
        int begin = text.length() - most + CUT.length();
        return CUT + text.substring(Character.isLowSurrogate(text.charAt(begin)) ? begin + 1 : begin);
    }

    /** As code in Markdown, which nothing in it gets out of. */
    static String code(String text, int most) {
        return "`" + line(text, most).replace('`', '\'') + "`";
    }
}
