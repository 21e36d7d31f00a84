package dev.berth.sandbox;

/** What a new sandbox starts from. */
public sealed interface Origin {
    /** A template by name, with or without a version: {@code base} or {@code base:1}. */
    record Template(String name) implements Origin {}

    /** The files of a checkpoint, whether or not the sandbox it was taken of still exists. */
    record FromCheckpoint(CheckpointId checkpoint) implements Origin {}

    static Origin template(String name) {
        return new Template(name);
    }

    static Origin checkpoint(CheckpointId checkpoint) {
        return new FromCheckpoint(checkpoint);
    }
}
