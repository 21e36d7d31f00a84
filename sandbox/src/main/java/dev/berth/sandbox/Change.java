package dev.berth.sandbox;

/**
 * One path that differs between two points.
 *
 * @param size of the file at the later point, 0 for what was deleted and for directories
 */
public record Change(Kind kind, String path, long size) {
    public enum Kind {
        CREATED,
        MODIFIED,
        DELETED
    }
}
