package dev.berth.sandbox;

import java.nio.file.Path;

/** What a new sandbox starts from. */
public sealed interface Origin {
    /** A template by name, with or without a version: {@code base} or {@code base:1}. */
    record Template(String name) implements Origin {}

    /** The files of a checkpoint, whether or not the sandbox it was taken of still exists. */
    record FromCheckpoint(CheckpointId checkpoint) implements Origin {}

    /**
     * The files that {@link Sandbox#pack} wrote, over the template they were packed above.
     *
     * @param content a file on this machine, complete and as it was written; whoever gives it has verified that
     */
    record Packed(String template, Path content) implements Origin {}

    static Origin template(String name) {
        return new Template(name);
    }

    static Origin checkpoint(CheckpointId checkpoint) {
        return new FromCheckpoint(checkpoint);
    }

    static Origin packed(String template, Path content) {
        return new Packed(template, content);
    }
}
