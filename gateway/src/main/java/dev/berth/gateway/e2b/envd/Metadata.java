package dev.berth.gateway.e2b.envd;

import dev.berth.gateway.e2b.Call;
import dev.berth.gateway.e2b.E2bError;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.eclipse.jetty.http.HttpField;

/** What is said of files that are written, in headers {@code X-Metadata-…}; it is kept with them, as extended attributes. */
final class Metadata {
    private static final String HEADER = "x-metadata-";
    /** The kernel's 255 for the name of an attribute, see xattr(7), without {@code user.e2b.}. */
    private static final int LONGEST_KEY = 246;

    private static final int MOST = 4096;

    private Metadata() {}

    /** @throws E2bError 400 if it cannot be kept */
    static Map<String, String> of(Call call) {
        Map<String, String> metadata = new TreeMap<>();
        int size = 0;
        for (HttpField field : call.headers()) {
            String name = field.getName().toLowerCase(Locale.ROOT);
            if (!name.startsWith(HEADER)) {
                continue;
            }
            String key = name.substring(HEADER.length());
            String value = String.valueOf(field.getValue() == null ? "" : field.getValue());
            check(!key.isEmpty(), "metadata key must not be empty");
            check(key.length() <= LONGEST_KEY, "metadata key '" + key + "' is longer than " + LONGEST_KEY + " bytes");
            check(printable(key) && printable(value), "metadata '" + key + "' must be printable ASCII");
            if (metadata.putIfAbsent(key, value) == null) {
                size += key.length() + value.length();
            }
        }
        check(size <= MOST, "metadata exceeds " + MOST + " bytes");
        return metadata;
    }

    private static boolean printable(String text) {
        return text.chars().allMatch(c -> c >= ' ' && c < 0x7f);
    }

    private static void check(boolean holds, String message) {
        if (!holds) {
            throw new E2bError(400, message);
        }
    }

    /** As it stands before the file's own attributes. */
    static Map<String, String> attributes(Map<String, String> metadata) {
        Map<String, String> attributes = new TreeMap<>();
        metadata.forEach((key, value) -> attributes.put(Entries.ATTRIBUTE + key, value));
        return attributes;
    }
}
