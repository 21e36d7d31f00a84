package dev.berth.cli;

import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/** What the command line asks of templates. */
interface Templates {
    /**
     * A template that sandboxes can be made from.
     *
     * @param name with its version, such as {@code base:1}
     * @param builtAt empty for one that needs no build
     * @param bytes what it takes on disk
     */
    record Entry(String name, Optional<Instant> builtAt, long bytes) {}

    List<Entry> list();

    /**
     * Builds a template and returns its name with version.
     *
     * @param file what to build, or empty for the {@code base} that Berth comes with
     * @param progress told one line for each step
     */
    String build(Optional<Path> file, Consumer<String> progress);

    /** Removes one, with or without a version in the name. */
    void remove(String name);

    /** What a sandbox starts from when nobody says: {@code base} if it is built, else {@code host}. */
    default String preferred() {
        return list().stream().anyMatch(entry -> entry.name().startsWith("base:")) ? "base" : "host";
    }
}
