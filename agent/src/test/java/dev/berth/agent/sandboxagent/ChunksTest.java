package dev.berth.agent.sandboxagent;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

class ChunksTest {
    private static String read(String body) throws IOException {
        try (Chunks chunks = new Chunks(new ByteArrayInputStream(body.getBytes(UTF_8)))) {
            return new String(chunks.readAllBytes(), UTF_8);
        }
    }

    @Test
    void theyArePutTogetherUntilTheEmptyOne() throws IOException {
        assertThat(read("3\r\nabc\r\nA;note=x\r\n0123456789\r\n0\r\n\r\nmore")).isEqualTo("abc0123456789");
        assertThat(read("0\r\n\r\n")).isEmpty();
    }

    @Test
    void whatIsNoneOfThemIsAnError() {
        for (String body : List.of(
                "", "3\r\nab", "3\r\nabc", "x\r\nabc\r\n", "-1\r\n\r\n", "7fffffffffffffffff\r\n", "0".repeat(5000))) {
            assertThatThrownBy(() -> read(body)).as(body).isInstanceOf(IOException.class);
        }
    }
}
