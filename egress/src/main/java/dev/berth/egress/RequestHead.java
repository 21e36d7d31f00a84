package dev.berth.egress;

import dev.berth.egress.policy.Refusal;
import dev.berth.egress.policy.Refusal.Reason;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The first request of a connection, up to its empty line. What RFC 9112 lets a server be lenient about is refused: two
 * programs that are lenient in different ways see different requests.
 *
 * @param target as it was written
 * @param bytes all that was read: the head, and perhaps what came behind it
 * @param length of the head within the bytes
 */
record RequestHead(String method, String target, List<Field> fields, byte[] bytes, int length) {
    /** More than any program sends, so that whoever speaks HTTP proper decides about the rest. */
    static final int MOST_BYTES = 64 << 10;

    private static final String TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
    private static final Pattern REQUEST_LINE = Pattern.compile("(" + TOKEN + ") ([!-~]+) HTTP/1\\.[01]");
    private static final Pattern FIELD = Pattern.compile("(" + TOKEN + "):[ \\t]*(.*?)[ \\t]*");

    /** A header. */
    record Field(String name, String value) {}

    /** @throws EndedEarly if the connection ends before the head does */
    static RequestHead read(InputStream input) throws IOException, Refusal {
        byte[] buffer = new byte[4096];
        int filled = 0;
        while (true) {
            if (filled == buffer.length) {
                if (filled == MOST_BYTES) {
                    throw new Refusal(
                            Reason.TOO_LARGE,
                            "the head of the request has more than " + MOST_BYTES + " bytes; send fewer headers");
                }
                buffer = Arrays.copyOf(buffer, buffer.length * 2);
            }
            int n = input.read(buffer, filled, buffer.length - filled);
            if (n < 0) {
                throw new EndedEarly();
            }
            int end = end(buffer, Math.max(0, filled - 3), filled + n);
            filled += n;
            if (end >= 0) {
                return parse(Arrays.copyOf(buffer, filled), end);
            }
            if (!isHttp(buffer, filled)) {
                throw bad("what came is not an HTTP request; this port is an HTTP proxy");
            }
        }
    }

    /** There will be no request. */
    static final class EndedEarly extends IOException {
        EndedEarly() {
            super("the program closed its connection before its request was complete");
        }
    }

    /** Where the empty line ends, or -1. */
    private static int end(byte[] bytes, int from, int to) {
        for (int i = from; i + 3 < to; i++) {
            if (bytes[i] == '\r' && bytes[i + 1] == '\n' && bytes[i + 2] == '\r' && bytes[i + 3] == '\n') {
                return i + 4;
            }
        }
        return -1;
    }

    /** So that whoever speaks something else is told at once and not when time is up. */
    private static boolean isHttp(byte[] bytes, int length) {
        for (int i = 0; i < length; i++) {
            byte b = bytes[i];
            boolean control = b >= 0 && b < ' ' && b != '\t' && b != '\r' && b != '\n';
            boolean bareLineFeed = b == '\n' && (i == 0 || bytes[i - 1] != '\r');
            if (control || bareLineFeed) {
                return false;
            }
        }
        return true;
    }

    private static RequestHead parse(byte[] bytes, int length) throws Refusal {
        String head = new String(bytes, 0, length - 4, StandardCharsets.ISO_8859_1);
        String[] lines = head.split("\r\n", -1);
        Matcher request = REQUEST_LINE.matcher(lines[0]);
        if (!request.matches()) {
            throw bad("the request does not begin as one of HTTP/1.1 does");
        }
        List<Field> fields = new ArrayList<>();
        for (int i = 1; i < lines.length; i++) {
            Matcher field = FIELD.matcher(lines[i]);
            if (!field.matches() || lines[i].chars().anyMatch(RequestHead::forbidden)) {
                throw bad("line " + (i + 1) + " of the request is not a header");
            }
            fields.add(new Field(field.group(1), field.group(2)));
        }
        return new RequestHead(request.group(1), request.group(2), List.copyOf(fields), bytes, length);
    }

    private static boolean forbidden(int c) {
        return (c < ' ' && c != '\t') || c == 0x7f;
    }

    private static Refusal bad(String why) {
        return new Refusal(Reason.BAD_REQUEST, why);
    }

    List<String> values(String name) {
        return fields.stream()
                .filter(field -> field.name().equalsIgnoreCase(name))
                .map(Field::value)
                .toList();
    }

    /** What came behind the head. */
    byte[] rest() {
        return Arrays.copyOfRange(bytes, length, bytes.length);
    }
}
