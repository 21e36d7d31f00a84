package dev.berth.sandbox.local.template;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/** The text files that lie beside these classes. */
final class Resources {
    private Resources() {}

    static String text(String name) {
        return find(name).orElseThrow(() -> new IllegalStateException("missing from the build: " + name));
    }

    static Optional<String> find(String name) {
        try (var in = Resources.class.getResourceAsStream(name)) {
            return in == null ? Optional.empty() : Optional.of(new String(in.readAllBytes(), StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
