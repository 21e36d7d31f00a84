package dev.berth.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class EventClockTest {
    private final AtomicLong now = new AtomicLong(1000);
    private final EventClock clock = new EventClock(now::get);

    @Test
    void notesTheFirstEventOfEachName() throws IOException {
        receive(5, "event: status\ndata: {}\n\n");
        receive(7, "id: 3\nevent: text\ndata: {\"text\":\"a\"}\n\n");
        receive(9, "event: text\ndata: {\"text\":\"b\"}\n\nevent: status\ndata: {}\n\n");
        assertThat(clock.nanosTo("status")).isEqualTo(5);
        assertThat(clock.nanosTo("text")).isEqualTo(7);
    }

    @Test
    void anEventHasComeWhenItsNameIsWhole() throws IOException {
        receive(1, "event: te");
        receive(4, "xt\n");
        assertThat(clock.nanosTo("text")).isEqualTo(4);
    }

    @Test
    void whatAnAgentSaysIsNoEvent() throws IOException {
        receive(1, "event: status\ndata: event: text\n\n");
        assertThatThrownBy(() -> clock.nanosTo("text"))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("'text'")
                .hasMessageContaining("data: event: text");
    }

    private void receive(long after, String text) throws IOException {
        now.set(1000 + after);
        clock.write(text.getBytes(StandardCharsets.UTF_8));
    }
}
