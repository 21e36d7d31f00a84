package dev.berth.client;

import java.math.BigDecimal;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/** Writes JSON. */
final class JsonWriter {
    private final StringBuilder out = new StringBuilder();
    private final boolean pretty;
    private int depth;

    private JsonWriter(boolean pretty) {
        this.pretty = pretty;
    }

    static String write(Json json, boolean pretty) {
        JsonWriter writer = new JsonWriter(pretty);
        writer.value(json);
        return writer.out.toString();
    }

    private void value(Json json) {
        switch (json.value()) {
            case null -> out.append("null");
            case String text -> string(text);
            case List<?> _ -> {
                group('[', json.items(), this::value);
                out.append(']');
            }
            case Map<?, ?> _ -> {
                group('{', json.fields().entrySet(), this::field);
                out.append('}');
            }
            case BigDecimal number -> out.append(number);
            case Object other -> out.append(other);
        }
    }

    private void field(Map.Entry<String, Json> field) {
        string(field.getKey());
        out.append(pretty ? ": " : ":");
        value(field.getValue());
    }

    private interface Part<T> {
        void write(T part);
    }

    private <T> void group(char start, Collection<T> parts, Part<T> each) {
        out.append(start);
        depth++;
        for (Iterator<T> rest = parts.iterator(); rest.hasNext(); ) {
            line();
            each.write(rest.next());
            if (rest.hasNext()) {
                out.append(',');
            }
        }
        depth--;
        if (!parts.isEmpty()) {
            line();
        }
    }

    private void line() {
        if (pretty) {
            out.append('\n').repeat("  ", depth);
        }
    }

    private void string(String text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '"' -> out.append("\\\"");
                case '\\' -> out.append("\\\\");
                case '\n' -> out.append("\\n");
                case '\r' -> out.append("\\r");
                case '\t' -> out.append("\\t");
                default -> {
                    // Half of a pair has no UTF-8, and a terminal acts on C1 controls and on DEL.
                    if (c < ' ' || (c >= 0x7f && c < 0xa0) || isAlone(text, i)) {
                        out.append("\\u").repeat('0', 4 - Integer.toHexString(c).length());
                        out.append(Integer.toHexString(c));
                    } else {
                        out.append(c);
                    }
                }
            }
        }
        out.append('"');
    }

    private static boolean isAlone(String text, int i) {
        char c = text.charAt(i);
        if (Character.isHighSurrogate(c)) {
            return i + 1 == text.length() || !Character.isLowSurrogate(text.charAt(i + 1));
        }
        return Character.isLowSurrogate(c) && (i == 0 || !Character.isHighSurrogate(text.charAt(i - 1)));
    }
}
