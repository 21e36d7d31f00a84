package dev.berth.gateway.http;

import java.io.IOException;
import java.io.OutputStream;
import java.util.Map;
import java.util.OptionalLong;
import tools.jackson.core.type.TypeReference;

/** What a request is answered with. */
public sealed interface Answer {
    /** A value, as JSON. */
    record Json(int status, Object value) implements Answer {
        /** The fields of an object as they are written. */
        public Map<String, Object> fields() {
            return Bodies.JSON.convertValue(value, new TypeReference<Map<String, Object>>() {});
        }
    }

    /** Bytes that are written as they come. */
    record Stream(int status, String contentType, OptionalLong length, Map<String, String> headers, Writer writer)
            implements Answer {
        public Stream(String contentType, OptionalLong length, Map<String, String> headers, Writer writer) {
            this(200, contentType, length, headers, writer);
        }
    }

    /** A failure that only HTTP knows. */
    record Failure(int status, String code, String detail, Map<String, String> headers) implements Answer {}

    /** Events that are sent as they happen. */
    record Events(EventStream.Source source) implements Answer {}

    /** A body that is written down already, as it is; one of status 204 has none. */
    record Raw(int status, String contentType, String body, Map<String, String> headers) implements Answer {}

    /** Text that is there already. */
    record Text(String contentType, String text) implements Answer {}

    /** That it was taken, and that there is no more to say about it. */
    record Taken() implements Answer {}

    /** That it is done. */
    record Done() implements Answer {}

    /** Writes a body; what it throws ends the connection. It is closed in any case. */
    interface Writer extends AutoCloseable {
        void write(OutputStream out) throws IOException;

        @Override
        default void close() {}
    }

    static Answer ok(Object value) {
        return new Json(200, value);
    }

    static Answer created(Object value) {
        return new Json(201, value);
    }

    /** Events as they happen. */
    static Answer events(EventStream.Source source) {
        return new Events(source);
    }

    static Answer accepted(Object value) {
        return new Json(202, value);
    }

    static Answer done() {
        return new Done();
    }
}
