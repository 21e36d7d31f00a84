package dev.berth.client;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads JSON by RFC 8259 and nothing else: no comments, no trailing commas, no names twice, no endless depth. */
final class JsonReader {
    /** Far above what the API has, far below what a thread's stack holds. */
    private static final int DEEPEST = 200;

    private static final int LONGEST_NUMBER = 100;
    private static final int MOST_EXPONENT = 4;

    private final String text;
    private int at;
    private int depth;

    JsonReader(String text) {
        this.text = text;
    }

    Json read() {
        Json value = value();
        space();
        if (at < text.length()) {
            throw wrong("something behind the end");
        }
        return value;
    }

    private Json value() {
        space();
        return switch (peek()) {
            case '{' -> object();
            case '[' -> array();
            case '"' -> Json.of(string());
            case 't' -> word("true", Json.of(true));
            case 'f' -> word("false", Json.of(false));
            case 'n' -> word("null", Json.of(null));
            default -> number();
        };
    }

    private Json object() {
        enter();
        Map<String, Json> fields = new LinkedHashMap<>();
        if (!ends('}')) {
            do {
                space();
                if (peek() != '"') {
                    throw wrong("a name has to be here");
                }
                String name = string();
                space();
                expect(':');
                if (fields.put(name, value()) != null) {
                    throw wrong("a name is there twice");
                }
            } while (more('}'));
        }
        depth--;
        return Json.of(fields);
    }

    private Json array() {
        enter();
        List<Json> items = new ArrayList<>();
        if (!ends(']')) {
            do {
                items.add(value());
            } while (more(']'));
        }
        depth--;
        return Json.of(items);
    }

    private void enter() {
        at++;
        if (++depth > DEEPEST) {
            throw wrong("more than " + DEEPEST + " levels");
        }
    }

    private boolean ends(char end) {
        space();
        if (peek() != end) {
            return false;
        }
        at++;
        return true;
    }

    private boolean more(char end) {
        space();
        if (peek() == ',') {
            at++;
            return true;
        }
        expect(end);
        return false;
    }

    private String string() {
        at++;
        int start = at;
        while (at < text.length() && text.charAt(at) != '"' && text.charAt(at) != '\\' && text.charAt(at) >= ' ') {
            at++;
        }
        if (peek() == '"') { // the usual case: nothing is escaped
            return text.substring(start, at++);
        }
        StringBuilder string = new StringBuilder().append(text, start, at);
        while (peek() != '"') {
            char c = text.charAt(at++);
            if (c < ' ') {
                throw wrong("a control character in a string");
            }
            string.append(c == '\\' ? escaped() : c);
        }
        at++;
        return string.toString();
    }

    private char escaped() {
        char c = peek();
        at++;
        return switch (c) {
            case '"', '\\', '/' -> c;
            case 'b' -> '\b';
            case 'f' -> '\f';
            case 'n' -> '\n';
            case 'r' -> '\r';
            case 't' -> '\t';
            case 'u' -> unicode();
            default -> throw wrong("'\\" + c + "' means nothing");
        };
    }

    private char unicode() {
        int code = 0;
        for (int i = 0; i < 4; i++) {
            int digit = peek() < 128 ? Character.digit(peek(), 16) : -1;
            if (digit < 0) {
                throw wrong("\\u needs four hexadecimal digits");
            }
            code = code * 16 + digit;
            at++;
        }
        return (char) code;
    }

    private Json number() {
        int start = at;
        skip('-');
        int whole = digits();
        if (whole == 0 || (whole > 1 && text.charAt(at - whole) == '0')) {
            throw wrong("no value");
        }
        if (skip('.') && digits() == 0) {
            throw wrong("digits are missing");
        }
        if (skip('e') || skip('E')) {
            if (!skip('+')) {
                skip('-');
            }
            int exponent = digits();
            if (exponent == 0 || exponent > MOST_EXPONENT) {
                throw wrong("an exponent of 1 to " + MOST_EXPONENT + " digits has to be here");
            }
        }
        if (at - start > LONGEST_NUMBER) {
            throw wrong("a number of more than " + LONGEST_NUMBER + " characters");
        }
        return Json.of(new BigDecimal(text.substring(start, at)));
    }

    private int digits() {
        int start = at;
        while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
            at++;
        }
        return at - start;
    }

    private boolean skip(char c) {
        if (at < text.length() && text.charAt(at) == c) {
            at++;
            return true;
        }
        return false;
    }

    private Json word(String word, Json value) {
        if (!text.startsWith(word, at)) {
            throw wrong("no value");
        }
        at += word.length();
        return value;
    }

    private void space() {
        while (at < text.length() && " \t\n\r".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private char peek() {
        if (at >= text.length()) {
            throw wrong("the end came too early");
        }
        return text.charAt(at);
    }

    private void expect(char c) {
        if (peek() != c) {
            throw wrong("'" + c + "' is missing");
        }
        at++;
    }

    private IllegalArgumentException wrong(String what) {
        return new IllegalArgumentException("this is not JSON: " + what + ", at character " + at);
    }
}
