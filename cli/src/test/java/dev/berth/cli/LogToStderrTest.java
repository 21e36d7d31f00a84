package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.LoggingEvent;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.slf4j.event.KeyValuePair;
import tools.jackson.databind.json.JsonMapper;

class LogToStderrTest {
    private final LoggerContext context = new LoggerContext();
    private final Logger logger = context.getLogger("dev.berth.session");

    @Test
    void aJsonLineIsFlatAndKeepsNumbers() {
        LoggingEvent event = event(new IllegalStateException("broken\npipe"));
        event.setKeyValuePairs(List.of(new KeyValuePair("session", "a\"b"), new KeyValuePair("turn", 3)));
        event.setMDCPropertyMap(Map.of("correlation", "request-7"));
        String line = line("json", event);
        assertThat(line).endsWith("}\n").hasLineCount(1);
        Map<?, ?> json = JsonMapper.builder().build().readValue(line, Map.class);
        assertThat(json.get("message")).isEqualTo("sandbox.resume");
        assertThat(json.get("level")).isEqualTo("INFO");
        assertThat(json.get("session")).isEqualTo("a\"b");
        assertThat(json.get("turn")).isEqualTo(3);
        assertThat(json.get("correlation")).isEqualTo("request-7");
        assertThat(String.valueOf(json.get("stack"))).contains("IllegalStateException");
        assertThat(String.valueOf(json.get("time"))).matches("\\d{4}-\\d\\d-\\d\\dT.*Z");
    }

    @Test
    void aTextLineHasItsFactsAndNothingEmpty() {
        LoggingEvent event = event(null);
        event.setMDCPropertyMap(Map.of());
        assertThat(line("text", event)).isEqualTo("berth: INFO session: sandbox.resume\n");
        LoggingEvent facts = event(null);
        facts.setKeyValuePairs(List.of(new KeyValuePair("session", "a"), new KeyValuePair("turn", 3)));
        facts.setMDCPropertyMap(Map.of("correlation", "request-7"));
        assertThat(line("text", facts))
                .isEqualTo("berth: INFO session: sandbox.resume session=a turn=3 correlation=request-7\n");
    }

    private LoggingEvent event(@Nullable Throwable cause) {
        return new LoggingEvent("", logger, Level.INFO, "sandbox.resume", cause, null);
    }

    private String line(String format, LoggingEvent event) {
        return new String(LogToStderr.encoder(context, format).encode(event), StandardCharsets.UTF_8);
    }
}
