package dev.berth.session;

import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.json.JsonMapper;

/** Values of {@code jsonb} columns. */
final class Json {
    private static final JsonMapper MAPPER = JsonMapper.builder().build();

    private Json() {}

    static @Nullable String write(@Nullable Object value) {
        return value == null ? null : MAPPER.writeValueAsString(value);
    }

    static <T> T read(String json, Class<T> type) {
        return MAPPER.readValue(json, type);
    }

    static Map<String, Object> map(String json) {
        return MAPPER.readValue(json, new TypeReference<>() {});
    }

    static Map<String, String> strings(String json) {
        return MAPPER.readValue(json, new TypeReference<>() {});
    }
}
