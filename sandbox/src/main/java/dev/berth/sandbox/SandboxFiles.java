package dev.berth.sandbox;

import java.io.InputStream;
import java.util.List;
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

    boolean exists(String path);

    /** The entries below a directory, sorted by path. Depth 1 are its own; deeper ones follow no links. */
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

    /** Renames, replacing a file that is there. */
    void move(String from, String to);

    /** Removes a file, a link (not its target) or a directory with all that is in it. */
    void remove(String path);

    /** Makes a directory and its missing parents. @return false if it was there already */
    boolean makeDirectory(String path);

    void chmod(String path, int mode);

    /** Changes the owner, with ids as the sandbox sees them. */
    void chown(String path, int uid, int gid);

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
