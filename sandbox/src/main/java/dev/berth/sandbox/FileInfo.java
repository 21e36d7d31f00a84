package dev.berth.sandbox;

import java.time.Instant;
import java.util.Optional;

/**
 * One entry of a sandbox's filesystem, as it is itself: a link is not followed.
 *
 * @param path absolute in the sandbox, or relative in a {@linkplain SandboxFiles#within view of a directory}
 * @param mode the permission bits, such as 0644
 * @param uid the owner as the sandbox sees it
 * @param linkTarget where a symbolic link points
 */
public record FileInfo(
        String path,
        Type type,
        long size,
        int mode,
        int uid,
        int gid,
        Instant modifiedAt,
        Optional<String> linkTarget) {

    /** What kind of thing it is. */
    public enum Type {
        FILE,
        DIRECTORY,
        LINK,
        OTHER
    }

    public String name() {
        return path.substring(path.lastIndexOf('/') + 1);
    }
}
