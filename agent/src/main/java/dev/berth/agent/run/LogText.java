package dev.berth.agent.run;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What an agent says, made fit to be kept: of bounded length, and without what PostgreSQL refuses to store. */
final class LogText {
    static final int TITLE = 200;
    static final int ARGUMENT = 2 << 10;
    static final int UPDATE = 4 << 10;
    static final int OUTPUT = 16 << 10;

    private static final int MOST_ENTRIES = 50;
    private static final int DEEPEST = 4;

    private LogText() {}

    /** Without NUL and halves of characters. */
    static String clean(String text) {
        StringBuilder clean = null;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            boolean pair = Character.isHighSurrogate(c)
                    && i + 1 < text.length()
                    && Character.isLowSurrogate(text.charAt(i + 1));
            if (pair) {
                if (clean != null) {
                    clean.append(c).append(text.charAt(i + 1));
                }
                i++;
                continue;
            }
            boolean bad = c == 0 || Character.isSurrogate(c);
            if (bad && clean == null) {
                clean = new StringBuilder(text.length()).append(text, 0, i);
            }
            if (clean != null) {
                clean.append(bad ? '\ufffd' : c);
            }
        }
        return clean == null ? text : clean.toString();
    }

    /** The beginning of it. */
    static String head(String text, int most) {
        return text.length() <= most ? clean(text) : clean(text.substring(0, most - 1)) + "…";
    }

    /** The end of it. */
    static String tail(String text, int most) {
        return text.length() <= most ? clean(text) : "…" + clean(text.substring(text.length() - most + 1));
    }

    /** Its beginning and its end. */
    static String ends(String text, int most) {
        if (text.length() <= most) {
            return clean(text);
        }
        int half = most / 2;
        return clean(text.substring(0, half)) + "\n… " + (text.length() - 2 * half) + " characters left out …\n"
                + clean(text.substring(text.length() - half));
    }

    /** @param most characters of each text in it */
    static Map<String, Object> arguments(Map<String, Object> arguments, int most) {
        return map(arguments, most, DEEPEST);
    }

    private static Map<String, Object> map(Map<?, ?> all, int most, int deeper) {
        Map<String, Object> some = new LinkedHashMap<>();
        for (Map.Entry<?, ?> entry : all.entrySet()) {
            if (some.size() == MOST_ENTRIES) {
                break;
            }
            some.put(head(String.valueOf(entry.getKey()), TITLE), value(entry.getValue(), most, deeper));
        }
        return some;
    }

    private static Object value(@Nullable Object value, int most, int deeper) {
        return switch (value) {
            case Boolean truth -> truth;
            case Number number -> number;
            case Map<?, ?> map when deeper > 0 -> map(map, most, deeper - 1);
            case List<?> list
            when deeper > 0 -> {
                List<Object> some = new ArrayList<>();
                list.stream().limit(MOST_ENTRIES).forEach(entry -> some.add(value(entry, most, deeper - 1)));
                yield some;
            }
            case null -> "";
            default -> head(String.valueOf(value), most);
        };
    }
}
