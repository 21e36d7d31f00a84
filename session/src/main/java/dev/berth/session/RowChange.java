package dev.berth.session;

import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** What else of a session's row changes with its state. Column names come from this module's code alone. */
final class RowChange {
    private final Map<String, String> expressions = new LinkedHashMap<>();
    private final Map<String, @Nullable Object> values = new HashMap<>();

    static RowChange none() {
        return new RowChange();
    }

    RowChange set(String column, @Nullable Object value) {
        return assign(column, ":" + column, value);
    }

    RowChange set(String column, Instant value) {
        return assign(column, ":" + column, OffsetDateTime.ofInstant(value, ZoneOffset.UTC));
    }

    RowChange json(String column, @Nullable Object value) {
        return assign(column, ":" + column + "::jsonb", Json.write(value));
    }

    RowChange interval(String column, Optional<Duration> value) {
        return assign(
                column,
                ":" + column + " * interval '1 millisecond'",
                value.map(Duration::toMillis).orElse(null));
    }

    /** The database's clock is the one that all servers share. */
    RowChange now(String column) {
        expressions.put(column, "now()");
        values.remove(column);
        return this;
    }

    RowChange fromNow(String column, Duration later) {
        return assign(column, "now() + :" + column + " * interval '1 millisecond'", later.toMillis());
    }

    RowChange clear(String... columns) {
        for (String column : columns) {
            expressions.put(column, "NULL");
            values.remove(column);
        }
        return this;
    }

    /** Puts off its end by the time that the row says, if it says one. */
    RowChange expiresAnew() {
        expressions.put("expires_at", "now() + expiry_after");
        values.remove("expires_at");
        return set("ending", false);
    }

    RowChange expiry(Optional<Expiry> expiry) {
        interval("expiry_after", expiry.map(Expiry::after));
        set("expiry_then", expiry.map(it -> it.then().toString()).orElse(null));
        set("expiry_wakes", expiry.map(Expiry::wakesOnTraffic).orElse(false));
        set("ending", false);
        return assign(
                "expires_at",
                "now() + :expires_at * interval '1 millisecond'",
                expiry.map(it -> it.after().toMillis()).orElse(null));
    }

    boolean sets(String column) {
        return expressions.containsKey(column);
    }

    private RowChange assign(String column, String expression, @Nullable Object value) {
        expressions.put(column, expression);
        values.put(column, value);
        return this;
    }

    /** For {@code SET}, each beginning with a comma. */
    String assignments() {
        return expressions.entrySet().stream()
                .map(entry -> ", " + entry.getKey() + " = " + entry.getValue())
                .collect(Collectors.joining());
    }

    /** For {@code INSERT}. */
    String columns() {
        return String.join(", ", expressions.keySet());
    }

    String expressions() {
        return String.join(", ", expressions.values());
    }

    Map<String, @Nullable Object> values() {
        return values;
    }
}
