package dev.berth.sandbox;

/**
 * Something that happened to a file below a watched directory.
 *
 * @param path absolute in the sandbox, or relative in a {@linkplain SandboxFiles#within view of a directory}; for {@link Kind#OVERFLOW}, the watched directory
 */
public record FileEvent(Kind kind, String path) {
    /** What happened. */
    public enum Kind {
        CREATED,
        WRITTEN,
        REMOVED,
        RENAMED,
        CHMOD,
        /** So much happened at once that some of it was not seen: look again at the whole directory. */
        OVERFLOW
    }
}
