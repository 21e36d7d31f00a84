package dev.berth.cli;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import ch.qos.logback.core.encoder.EncoderBase;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import org.slf4j.event.KeyValuePair;
import tools.jackson.databind.json.JsonMapper;

/** One flat JSON object a line: what every log store understands without being told. */
final class JsonLines extends EncoderBase<ILoggingEvent> {
    private static final JsonMapper JSON = JsonMapper.builder().build();

    @Override
    public byte[] encode(ILoggingEvent event) {
        Map<String, Object> line = new LinkedHashMap<>();
        Instant time = event.getInstant();
        line.put("time", (time == null ? Instant.ofEpochMilli(event.getTimeStamp()) : time).toString());
        line.put("level", event.getLevel().toString());
        line.put("logger", event.getLoggerName());
        line.put("message", event.getFormattedMessage());
        line.putAll(event.getMDCPropertyMap());
        if (event.getKeyValuePairs() != null) {
            for (KeyValuePair pair : event.getKeyValuePairs()) {
                line.put(
                        pair.key,
                        pair.value instanceof Number || pair.value instanceof Boolean
                                ? pair.value
                                : String.valueOf(pair.value));
            }
        }
        if (event.getThrowableProxy() != null) {
            line.put("stack", ThrowableProxyUtil.asString(event.getThrowableProxy()));
        }
        return (JSON.writeValueAsString(line) + "\n").getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public byte[] headerBytes() {
        return new byte[0];
    }

    @Override
    public byte[] footerBytes() {
        return new byte[0];
    }
}
