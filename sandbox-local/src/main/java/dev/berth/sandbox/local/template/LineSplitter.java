package dev.berth.sandbox.local.template;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;

/** Makes lines out of bytes. A carriage return ends a line too, as progress bars use it; a line has a largest length. */
final class LineSplitter {
    private static final int LONGEST = 2000;

    private final Consumer<String> onLine;
    private final ByteArrayOutputStream line = new ByteArrayOutputStream();

    LineSplitter(Consumer<String> onLine) {
        this.onLine = onLine;
    }

    void add(byte[] bytes, int length) {
        for (int i = 0; i < length; i++) {
            byte b = bytes[i];
            if (b == '\n' || b == '\r') {
                end();
            } else if (line.size() < LONGEST) {
                line.write(b);
            }
        }
    }

    /** Ends the line that is being collected; an empty one is dropped. */
    void end() {
        String text = line.toString(StandardCharsets.UTF_8).stripTrailing();
        line.reset();
        if (!text.isEmpty()) {
            onLine.accept(text);
        }
    }
}
