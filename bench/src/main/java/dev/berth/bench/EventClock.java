package dev.berth.bench;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;

/** Takes a stream of events, and notes how long after it was made the first one of each name came. */
final class EventClock extends OutputStream {
    private static final String NAME = "event:";

    private final LongSupplier nanoTime;
    private final long began;
    private final Map<String, Long> first = new HashMap<>();
    private final ByteArrayOutputStream line = new ByteArrayOutputStream();
    private String last = "";

    EventClock(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
        this.began = nanoTime.getAsLong();
    }

    @Override
    public void write(int b) {
        if (b != '\n') {
            line.write(b);
            return;
        }
        String text = line.toString(StandardCharsets.UTF_8).strip();
        line.reset();
        if (text.startsWith(NAME)) {
            first.putIfAbsent(text.substring(NAME.length()).strip(), nanoTime.getAsLong() - began);
        }
        if (!text.isEmpty()) {
            last = text;
        }
    }

    /** How long the first event of this name took. */
    long nanosTo(String event) {
        return Optional.ofNullable(first.get(event))
                .orElseThrow(() -> new IllegalStateException(
                        "there was no event '" + event + "'; the stream ended with: " + last));
    }
}
