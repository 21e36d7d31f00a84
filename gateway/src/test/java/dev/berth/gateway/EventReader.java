package dev.berth.gateway;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Reads server-sent events as a client does. */
public final class EventReader implements AutoCloseable {
    private static final JsonMapper JSON = JsonMapper.builder().build();

    /** One event; an empty id is none. */
    public record Event(String id, String name, JsonNode data) {}

    private final InputStream stream;
    private final BufferedReader lines;

    public EventReader(InputStream stream) {
        this.stream = stream;
        this.lines = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8));
    }

    /** The next event, waited for; empty at the end of the stream. */
    public Optional<Event> next() {
        String id = "";
        String name = "";
        StringBuilder data = new StringBuilder();
        try {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.isEmpty() && !data.isEmpty()) {
                    return Optional.of(new Event(id, name, JSON.readTree(data.toString())));
                } else if (line.startsWith("id: ")) {
                    id = line.substring(4);
                } else if (line.startsWith("event: ")) {
                    name = line.substring(7);
                } else if (line.startsWith("data: ")) {
                    data.append(line.substring(6));
                }
            }
            return Optional.empty();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The next event of a kind; what is before it is passed over. */
    public Event next(String name) {
        while (true) {
            Event event = next().orElseThrow(() -> new AssertionError("the stream ended without '" + name + "'"));
            if (event.name().equals(name)) {
                return event;
            }
        }
    }

    @Override
    public void close() {
        try {
            stream.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
