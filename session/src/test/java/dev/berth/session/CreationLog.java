package dev.berth.session;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What the servers that share a {@link DirectoryProvider} did to its sandboxes, in the order in which they did it. */
final class CreationLog {
    enum What {
        /** Somebody reserved the name. */
        BEGUN,
        /** It is complete; written just before it can be found. */
        CREATED,
        /** Somebody asked for one that is there. */
        REFUSED,
        /** What a dead process left half-made or half-removed was cleared away, by whoever makes it again. */
        ABANDONED,
        /** It is no more; written just before it cannot be found. */
        DESTROYED
    }

    record Line(What what, String id, long pid) {
        private static Line parse(String text) {
            String[] words = text.split(" ");
            return new Line(What.valueOf(words[0]), words[1], Long.parseLong(words[2]));
        }
    }

    private final Path file;

    CreationLog(Path file) {
        this.file = file;
    }

    /** One write to a file that is open for appending, so lines of several processes do not mix, see open(2). */
    void append(What what, String id) {
        String line = what + " " + id + " " + ProcessHandle.current().pid() + "\n";
        try {
            Files.writeString(file, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    List<Line> read() {
        try {
            String text = Files.exists(file) ? Files.readString(file) : "";
            return text.substring(0, text.lastIndexOf('\n') + 1)
                    .lines()
                    .map(Line::parse)
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    long count(What what) {
        return read().stream().filter(line -> line.what() == what).count();
    }

    /** Whether a process is in the middle of making one. */
    boolean making(long pid) {
        Map<String, What> last = new HashMap<>();
        read().stream().filter(line -> line.pid() == pid).forEach(line -> last.put(line.id(), line.what()));
        return last.containsValue(What.BEGUN);
    }

    /** Those made while the one before of the same name was still there. */
    List<String> doubled() {
        Map<String, What> last = new HashMap<>();
        return read().stream()
                .filter(line -> line.what() != What.BEGUN && line.what() != What.REFUSED)
                .filter(line -> last.put(line.id(), line.what()) == What.CREATED && line.what() == What.CREATED)
                .map(Line::id)
                .toList();
    }
}
