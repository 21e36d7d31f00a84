package dev.berth.sandbox;

import java.io.InputStream;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The files of a sandbox, from outside.
 *
 * <p>Paths are absolute, or relative to the default user's home. Links are followed inside the sandbox only: whatever
 * the sandbox plants, nothing here reaches outside it. What is made belongs to the sandbox's default user.
 */
public interface SandboxFiles {
    /** A path as {@link FileInfo#path} has it, without a look at whether anything is there. */
    String named(String path);

    /** @throws SandboxException {@code not_found} if there is nothing; a final link is not followed */
    FileInfo stat(String path);

    /**
     * As {@link #stat}, but links are followed to their end, and the path is where they lead.
     *
     * @throws SandboxException {@code not_found} if they lead to nothing
     */
    FileInfo resolved(String path);

    boolean exists(String path);

    /**
     * The entries below a directory, by name, each directory followed by what is in it. Depth 1 are its own; deeper ones
     * follow no links, but the directory itself may be given by one. Paths are below the one that was given.
     */
    List<FileInfo> list(String path, int depth);

    /** The bytes of a regular file from an offset, {@code length} at most. */
    InputStream read(String path, long offset, long length);

    default InputStream read(String path) {
        return read(path, 0, Long.MAX_VALUE);
    }

    /**
     * Replaces a file, or makes it with its missing parents, atomically: readers see the old bytes or the new, never a
     * part. An existing file keeps its permissions and owner.
     */
    void write(String path, InputStream content);

    /** As {@link #write(String, InputStream)}, with these permission bits. */
    void write(String path, InputStream content, int mode);

    /** Adds to the end of a file, making it if it is missing. */
    void append(String path, InputStream content);

    /** Renames, replacing a file that is there; missing parents of the new name are made. */
    void move(String from, String to);

    /** Removes a file, a link (not its target) or a directory with all that is in it. */
    void remove(String path);

    /**
     * Makes a directory and its missing parents.
     *
     * @return false if it was there already
     * @throws SandboxException {@code invalid} if something else has the name
     */
    boolean makeDirectory(String path);

    void chmod(String path, int mode);

    /** Changes the owner, with ids as the sandbox sees them. */
    void chown(String path, int uid, int gid);

    /** The extended attributes that programs of the sandbox may set, {@code user.*} in attr(5), without that prefix. */
    Map<String, String> attributes(String path);

    /**
     * Replaces the attributes whose name begins with a prefix, and leaves the others alone.
     *
     * @param attributes by their names as in {@link #attributes(String)}, which begin with the prefix
     */
    void attributes(String path, String prefix, Map<String, String> attributes);

    /**
     * The same files as one user has them: relative paths, {@code ~} and the empty path begin at their home, and what is
     * made or written becomes theirs. It is no lesser right: what the user may not write can be written here too.
     *
     * @param user as for {@link Sandbox#account}
     * @throws SandboxException {@code invalid} if there is no such user now
     */
    SandboxFiles as(String user);

    /**
     * The same files as seen from one directory, which nothing leads out of.
     *
     * <p>Paths are relative to it, there and in what is returned; {@code .} is the directory itself. An absolute path, a
     * {@code ..} and a link that leads outside (an absolute one always counts as such) are refused with {@code denied},
     * whatever the sandbox plants or swaps meanwhile. What the directory's own path leads to is found anew for every
     * operation, and it need not be there before.
     *
     * @throws SandboxException {@code invalid} if it cannot be a path
     */
    SandboxFiles within(String directory);

    /** Reports what happens in a directory, and below it if {@code recursive}, until closed. */
    Watch watch(String path, boolean recursive, Consumer<FileEvent> listener);

    /** A watch that is on until it is closed. */
    interface Watch extends AutoCloseable {
        @Override
        void close();
    }
}
