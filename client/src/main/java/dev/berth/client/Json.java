package dev.berth.client;

import java.math.BigDecimal;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A JSON value that does not change. Asking for what is not there, or is of another kind, gives an empty answer and no
 * failure, so that a field a server does not send yet harms nobody.
 */
public final class Json {
    /** Where there is nothing. Not the same as {@code null}, which is something. */
    private static final Json MISSING = new Json(null, false);

    private static final Json NULL = new Json(null, true);

    /** A String, BigDecimal, Boolean, List of Json, Map of String to Json, or null. */
    private final @Nullable Object value;

    private final boolean present;

    private Json(@Nullable Object value, boolean present) {
        this.value = value;
        this.present = present;
    }

    /**
     * Reads a text by RFC 8259, strictly.
     *
     * @throws IllegalArgumentException if it is not JSON; says where
     */
    public static Json parse(String text) {
        return new JsonReader(text).read();
    }

    /** Makes a value of a String, Number, Boolean, Json, Iterable, Map with String keys, Optional, or null. */
    public static Json of(@Nullable Object value) {
        return switch (value) {
            case null -> NULL;
            case Json json -> json;
            case String text -> new Json(text, true);
            case Boolean truth -> new Json(truth, true);
            case BigDecimal number -> new Json(number, true);
            case Number number -> new Json(new BigDecimal(number.toString()), true);
            case Optional<?> optional -> of(optional.orElse(null));
            case Iterable<?> items -> {
                Stream.Builder<Json> list = Stream.builder();
                items.forEach(item -> list.add(of(item)));
                yield new Json(list.build().toList(), true);
            }
            case Map<?, ?> fields -> {
                Map<String, Json> map = new LinkedHashMap<>();
                fields.forEach((name, field) -> map.put((String) Objects.requireNonNull(name), of(field)));
                yield new Json(Collections.unmodifiableMap(map), true);
            }
            default -> throw new IllegalArgumentException("not a kind of JSON value: " + value.getClass());
        };
    }

    /** An object without fields; {@link #with} adds some. */
    public static Json object() {
        return of(Map.of());
    }

    /** The same object with a field set; the same object if the value is an empty Optional. */
    public Json with(String name, Object field) {
        if (field instanceof Optional<?> optional && optional.isEmpty()) {
            return this;
        }
        Map<String, Json> map = new LinkedHashMap<>(fields());
        map.put(name, of(field));
        return new Json(Collections.unmodifiableMap(map), true);
    }

    /** A field of an object. */
    public Json get(String name) {
        return fields().getOrDefault(name, MISSING);
    }

    /** Whether there is a value that is not {@code null}. */
    public boolean exists() {
        return present && value != null;
    }

    public boolean isObject() {
        return value instanceof Map;
    }

    /** The items of an array; none if it is not one. */
    @SuppressWarnings("unchecked")
    public List<Json> items() {
        return value instanceof List ? (List<Json>) value : List.of();
    }

    /** The fields of an object in their order; none if it is not one. */
    @SuppressWarnings("unchecked")
    public Map<String, Json> fields() {
        return value instanceof Map ? (Map<String, Json>) value : Map.of();
    }

    /** A string; empty if it is none. */
    public String text() {
        return value instanceof String text ? text : "";
    }

    public Optional<String> optionalText() {
        return value instanceof String text ? Optional.of(text) : Optional.empty();
    }

    public boolean truth() {
        return Boolean.TRUE.equals(value);
    }

    /** A number; 0 if it is none. */
    public double number() {
        return value instanceof BigDecimal number ? number.doubleValue() : 0;
    }

    /** A number without what is behind its point; 0 if it is none, and the nearest there is if it is too large. */
    public long whole() {
        if (!(value instanceof BigDecimal exact)) {
            return 0;
        }
        // A huge exponent would make a huge integer; a double says cheaply that there is one.
        return Math.abs(number()) < 0x1p62 ? exact.longValue() : (long) number();
    }

    public Optional<Integer> optionalInt() {
        return value instanceof BigDecimal
                ? Optional.of(Math.clamp(whole(), Integer.MIN_VALUE, Integer.MAX_VALUE))
                : Optional.empty();
    }

    /** A moment as RFC 3339 writes it. */
    public Optional<Instant> time() {
        try {
            return optionalText().map(Instant::parse);
        } catch (DateTimeParseException e) {
            return Optional.empty();
        }
    }

    @Nullable
    Object value() {
        return value;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof Json json && present == json.present && Objects.equals(value, json.value);
    }

    @Override
    public int hashCode() {
        return Objects.hashCode(value);
    }

    /** As JSON on one line. */
    @Override
    public String toString() {
        return JsonWriter.write(this, false);
    }

    /** As JSON on many lines, for people. */
    public String pretty() {
        return JsonWriter.write(this, true);
    }
}
