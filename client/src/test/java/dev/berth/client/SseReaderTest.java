package dev.berth.client;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class SseReaderTest {
    private static List<SseReader.Event> read(String text) throws IOException {
        List<SseReader.Event> events = new ArrayList<>();
        try (SseReader reader = new SseReader(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)))) {
            for (var event = reader.next(); event.isPresent(); event = reader.next()) {
                events.add(event.get());
            }
        }
        return events;
    }

    @Test
    void readsEventsAsTheStandardHasThem() throws IOException {
        assertThat(read("\uFEFFid: 7\nevent: state\ndata: {\"a\":1}\n\n: heartbeat\n\ndata:x\ndata: y\n\n"))
                .containsExactly(
                        new SseReader.Event("7", "state", "{\"a\":1}"), new SseReader.Event("", "message", "x\ny"));
    }

    @Test
    void anyEndOfALineWillDo() throws IOException {
        assertThat(read("data: 1\r\n\r\ndata: 2\r\rdata: 3\n\n"))
                .extracting(SseReader.Event::data)
                .containsExactly("1", "2", "3");
    }

    @Test
    void whatIsCutOffIsNoEvent() throws IOException {
        assertThat(read("data: 1\n\ndata: 2\n")).hasSize(1);
        assertThat(read("data: 1")).isEmpty();
        assertThat(read("")).isEmpty();
    }
}
