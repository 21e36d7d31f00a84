package dev.berth.egress.http;

import java.util.List;
import java.util.Optional;

/**
 * What stands at the beginning of a request.
 *
 * @param path as it was written, without the query
 * @param query as it was written, without the question mark
 */
record Head(String method, String path, Optional<String> query, List<Field> fields) {
    /** A header. */
    record Field(String name, String value) {
        boolean is(String other) {
            return name.equalsIgnoreCase(other);
        }
    }

    Head {
        fields = List.copyOf(fields);
    }

    /** Not what is in it: a secret may have been put there. */
    @Override
    public String toString() {
        return method + " " + path;
    }
}
