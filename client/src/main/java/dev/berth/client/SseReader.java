package dev.berth.client;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/** Reads server-sent events as the HTML standard has them. */
final class SseReader implements AutoCloseable {
    /** An event has to fit into memory, and no more than that is believed of a server. */
    private static final int MOST_BYTES = 64 << 20;

    private static final String BYTE_ORDER_MARK = "\uFEFF";

    /** One event; an empty id is none. */
    record Event(String id, String name, String data) {}

    private final InputStream stream;
    private boolean first = true;
    private boolean afterReturn;

    SseReader(InputStream stream) {
        this.stream = new BufferedInputStream(stream, 16 << 10);
    }

    /** The next event, waited for; empty at the end of the stream, where what is not finished does not count. */
    Optional<Event> next() throws IOException {
        String id = "";
        String name = "message";
        StringBuilder data = new StringBuilder();
        for (Optional<String> next = line(); next.isPresent(); next = line()) {
            String line = next.get();
            if (line.isEmpty() && !data.isEmpty()) {
                data.setLength(data.length() - 1);
                return Optional.of(new Event(id, name, data.toString()));
            }
            int colon = line.indexOf(':');
            String field = colon < 0 ? line : line.substring(0, colon);
            String value = colon < 0 ? "" : line.substring(colon + 1);
            value = value.startsWith(" ") ? value.substring(1) : value;
            switch (field) {
                case "id" -> id = value.indexOf('\0') < 0 ? value : id;
                case "event" -> name = value;
                case "data" -> data.append(value).append('\n');
                default -> {
                    // A comment, which is how the server shows that it is there, or what the standard does not know.
                }
            }
            if (data.length() > MOST_BYTES) {
                throw new IOException("an event of more than " + MOST_BYTES + " bytes");
            }
        }
        return Optional.empty();
    }

    /** A line ends with CR, LF or both. */
    private Optional<String> line() throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        while (true) {
            int c = stream.read();
            if (c == '\n' && afterReturn) {
                afterReturn = false;
                continue;
            }
            afterReturn = c == '\r';
            if (c < 0) {
                return Optional.empty();
            } else if (c == '\n' || c == '\r') {
                String text = line.toString(StandardCharsets.UTF_8);
                boolean marked = first && text.startsWith(BYTE_ORDER_MARK);
                first = false;
                return Optional.of(marked ? text.substring(1) : text);
            }
            line.write(c);
            if (line.size() > MOST_BYTES) {
                throw new IOException("a line of more than " + MOST_BYTES + " bytes");
            }
        }
    }

    @Override
    public void close() throws IOException {
        stream.close();
    }
}
