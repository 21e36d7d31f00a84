package dev.berth.gateway.http;

import dev.berth.sandbox.SandboxException;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * Reads a form, {@code multipart/form-data} as RFC 7578 has it, part by part as it comes, so that a part may be of any size.
 * For one thread.
 */
public final class FormReader {
    private static final int BUFFER = 64 << 10;
    private static final int MOST_HEAD = 16 << 10;
    private static final int MOST_BOUNDARY = 70;

    /**
     * A part.
     *
     * @param file what its file is called, if it is one
     * @param content to be read before the next part is asked for; what is left of it then is passed over
     */
    public record Part(String name, Optional<String> file, InputStream content) {}

    private final InputStream in;
    private final byte[] delimiter;
    private final byte[] buffer = new byte[BUFFER];
    private int start;
    private int end;
    /** Up to where the buffer has been looked through without finding a delimiter. */
    private int clean;
    /** Whether the content that is being read has come to its end. */
    private boolean atDelimiter;

    private boolean over;

    private FormReader(InputStream in, String boundary) {
        this.in = in;
        this.delimiter = ("\r\n--" + boundary).getBytes(StandardCharsets.ISO_8859_1);
        // The first delimiter stands at the beginning, where there is no line end before it.
        buffer[0] = '\r';
        buffer[1] = '\n';
        end = 2;
    }

    /** @throws SandboxException {@code invalid} if the content type is not that of a form */
    public static FormReader of(InputStream in, String contentType) {
        int first = contentType.indexOf(';');
        boolean form = first > 0
                && contentType
                        .substring(0, first)
                        .strip()
                        .toLowerCase(Locale.ROOT)
                        .equals("multipart/form-data");
        String boundary = form ? parameters(contentType.substring(first)).getOrDefault("boundary", "") : "";
        if (boundary.isEmpty()
                || boundary.length() > MOST_BOUNDARY
                || !boundary.chars().allMatch(c -> c >= ' ' && c < 0x7f)) {
            throw SandboxException.invalid("send JSON, or a form with 'Content-Type: multipart/form-data; boundary=…'");
        }
        return new FormReader(in, boundary);
    }

    /**
     * The next part; empty at the end of the form.
     *
     * @throws IOException if the body breaks off, which only its end can rule out
     */
    public Optional<Part> next() throws IOException {
        if (over) {
            return Optional.empty();
        }
        Content rest = new Content();
        while (!atDelimiter && rest.skipSome()) {
            // what nobody wanted, and before the first part a preamble, which means nothing
        }
        while (end - start < 2) {
            fill();
        }
        if (buffer[start] == '-' && buffer[start + 1] == '-') {
            over = true;
            in.readNBytes(buffer, 0, BUFFER); // an epilogue means nothing, but has to be taken from the connection
            return Optional.empty();
        }
        if (!line(0).isBlank()) {
            throw malformed("there is something behind a boundary");
        }
        Map<String, String> disposition = Map.of();
        int length = 0;
        for (String header = line(length); !header.isEmpty(); header = line(length)) {
            length += header.length();
            int colon = header.indexOf(':');
            if (colon > 0 && header.substring(0, colon).strip().equalsIgnoreCase("Content-Disposition")) {
                int first = header.indexOf(';');
                disposition = first < 0 ? Map.of() : parameters(header.substring(first));
            }
        }
        String name = disposition.get("name");
        if (name == null) {
            throw malformed("a part has no name");
        }
        atDelimiter = false;
        return Optional.of(new Part(name, Optional.ofNullable(disposition.get("filename")), new Content()));
    }

    /** A line of a head, without its end. */
    private String line(int before) throws IOException {
        for (int i = start; ; i++) {
            if (i - start + before > MOST_HEAD) {
                throw malformed("the head of a part is too long");
            }
            if (i >= end) {
                int from = i - start;
                fill();
                i = start + from;
            }
            if (buffer[i] == '\n') {
                int stop = i > start && buffer[i - 1] == '\r' ? i - 1 : i;
                String line = new String(buffer, start, stop - start, StandardCharsets.UTF_8);
                start = i + 1;
                clean = start;
                return line;
            }
        }
    }

    /** Makes room and reads more, at least a byte. */
    private void fill() throws IOException {
        System.arraycopy(buffer, start, buffer, 0, end - start);
        clean = Math.max(0, clean - start);
        end -= start;
        start = 0;
        int n = in.read(buffer, end, buffer.length - end);
        if (n < 0) {
            throw new EOFException("the form broke off");
        }
        end += n;
    }

    /** How many bytes of content are in the buffer for sure; at the delimiter it is passed and there are none. */
    private int available() throws IOException {
        while (true) {
            int last = end - delimiter.length;
            for (int i = Math.max(start, clean); i <= last; i++) {
                if (buffer[i] == '\r' && isDelimiter(i)) {
                    clean = i;
                    if (i == start) {
                        start += delimiter.length;
                        clean = start;
                        atDelimiter = true;
                        return 0;
                    }
                    return i - start;
                }
            }
            clean = Math.max(start, last + 1);
            if (clean > start) {
                return clean - start;
            }
            fill();
        }
    }

    private boolean isDelimiter(int at) {
        for (int i = 0; i < delimiter.length; i++) {
            if (buffer[at + i] != delimiter[i]) {
                return false;
            }
        }
        return true;
    }

    private static SandboxException malformed(String why) {
        return SandboxException.invalid("the form cannot be read: " + why);
    }

    /** {@code ; name="value"; other=value}, where a backslash keeps a quote from ending the value. */
    private static Map<String, String> parameters(String text) {
        Map<String, String> parameters = new LinkedHashMap<>();
        int i = 0;
        while (i < text.length()) {
            int equals = text.indexOf('=', i);
            if (equals < 0) {
                break;
            }
            String name = text.substring(i, equals).replace(";", "").strip().toLowerCase(Locale.ROOT);
            StringBuilder value = new StringBuilder();
            i = equals + 1;
            if (i < text.length() && text.charAt(i) == '"') {
                for (i++; i < text.length() && text.charAt(i) != '"'; i++) {
                    boolean escaped =
                            text.charAt(i) == '\\' && i + 1 < text.length() && "\"\\".indexOf(text.charAt(i + 1)) >= 0;
                    i = escaped ? i + 1 : i;
                    value.append(text.charAt(i));
                }
                int semicolon = text.indexOf(';', i);
                i = semicolon < 0 ? text.length() : semicolon;
            } else {
                int semicolon = text.indexOf(';', i);
                int stop = semicolon < 0 ? text.length() : semicolon;
                value.append(text.substring(i, stop).strip());
                i = stop;
            }
            parameters.putIfAbsent(name, value.toString());
        }
        return parameters;
    }

    /** What is between two boundaries. */
    private final class Content extends InputStream {
        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] bytes, int offset, int length) throws IOException {
            if (length == 0) {
                return 0;
            }
            int there = atDelimiter ? 0 : FormReader.this.available();
            if (there == 0) {
                return -1;
            }
            int n = Math.min(there, length);
            System.arraycopy(buffer, start, bytes, offset, n);
            start += n;
            return n;
        }

        boolean skipSome() throws IOException {
            int there = FormReader.this.available();
            start += there;
            return there > 0;
        }
    }
}
