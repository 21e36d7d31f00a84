package dev.berth.gateway.api;

import java.nio.charset.StandardCharsets;

/** The header that makes a browser save a file, and under which name: RFC 6266, with RFC 8187 for all of Unicode. */
final class Attachment {
    private static final String PLAIN = "!#$&+-.^_`|~";

    private Attachment() {}

    static String header(String name) {
        return "attachment; filename=\"" + ascii(name) + "\"; filename*=UTF-8''" + encoded(name);
    }

    /** For clients that know nothing better. */
    private static String ascii(String name) {
        StringBuilder plain = new StringBuilder();
        name.codePoints()
                .map(c -> c < 0x20 || c > 0x7e || c == '"' || c == '\\' || c == '%' ? '_' : c)
                .forEach(plain::appendCodePoint);
        return plain.toString();
    }

    private static String encoded(String name) {
        StringBuilder text = new StringBuilder();
        for (byte b : name.getBytes(StandardCharsets.UTF_8)) {
            char c = (char) (b & 0xff);
            boolean plain = c < 0x80 && (Character.isLetterOrDigit(c) || PLAIN.indexOf(c) >= 0);
            if (plain) {
                text.append(c);
            } else {
                text.append('%').append(String.format("%02X", (int) c));
            }
        }
        return text.toString();
    }
}
