package dev.berth.client;

import java.io.InputStream;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/**
 * One request, not sent yet.
 *
 * @param repeatable whether doing it twice is the same as doing it once, so that it may be tried again
 * @param longest how long the server may take until it begins to answer
 */
record Call(
        String method,
        String path,
        List<String> query,
        Map<String, String> headers,
        Body body,
        boolean repeatable,
        Duration longest) {
    static final String EVENTS = "text/event-stream";

    private static final Duration USUAL = Duration.ofMinutes(1);
    /** Commands may take an hour, and packing files away may too; this only ends what would never end. */
    private static final Duration LONG = Duration.ofHours(2);

    sealed interface Body {
        record None() implements Body {}

        record Text(Json json) implements Body {}

        record File(Path file, String type) implements Body {}

        record Stream(InputStream stream, String type) implements Body {}

        /** Fields of text, and files under their own names. */
        record Form(String boundary, Map<String, String> fields, List<Path> files) implements Body {}
    }

    static Call get(String path) {
        return new Call("GET", path, List.of(), Map.of(), new Body.None(), true, USUAL);
    }

    static Call delete(String path) {
        return new Call("DELETE", path, List.of(), Map.of(), new Body.None(), true, LONG);
    }

    static Call put(String path, Json json) {
        return new Call("PUT", path, List.of(), Map.of(), new Body.Text(json), true, LONG);
    }

    static Call put(String path, Body body) {
        return new Call("PUT", path, List.of(), Map.of(), body, !(body instanceof Body.Stream), LONG);
    }

    static Call patch(String path, Json json) {
        return new Call("PATCH", path, List.of(), Map.of(), new Body.Text(json), true, LONG);
    }

    static Call post(String path, Json json) {
        return post(path, new Body.Text(json));
    }

    static Call post(String path) {
        return post(path, new Body.None());
    }

    static Call post(String path, Body body) {
        return new Call("POST", path, List.of(), Map.of(), body, false, LONG);
    }

    /** Makes something. The key in its header lets the server see that a second try is one. */
    static Call create(String path, Json json) {
        return create(path, new Body.Text(json));
    }

    /** The same with a body that can be sent twice. */
    static Call create(String path, Body body) {
        Call call = post(path, body).header("Idempotency-Key", UUID.randomUUID().toString());
        return new Call(call.method, path, call.query, call.headers, call.body, true, LONG);
    }

    Call query(String name, Object value) {
        if (value instanceof Optional<?> optional) {
            return optional.map(it -> query(name, it)).orElse(this);
        }
        List<String> more = new ArrayList<>(query);
        more.add(name + "=" + encode(value.toString()));
        return new Call(method, path, List.copyOf(more), headers, body, repeatable, longest);
    }

    Call header(String name, String value) {
        Map<String, String> more = new LinkedHashMap<>(headers);
        more.put(name, value);
        return new Call(method, path, query, Map.copyOf(more), body, repeatable, longest);
    }

    String target() {
        return query.isEmpty() ? path : path + "?" + String.join("&", query);
    }

    /** A part of a path, or a value of a query, with everything escaped that could mean something there. */
    static String encode(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8)
                .replace("+", "%20")
                .replace("*", "%2A");
    }
}
