package dev.berth.sandbox;

/** A limit that a command ran into. */
public enum Limit {
    MEMORY,
    PIDS,
    DISK,
    OUTPUT
}
