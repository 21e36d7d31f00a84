package dev.berth.sandbox.local.store;

import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Keeps <em>trees</em>: the writable layer of a sandbox, or its copy in a checkpoint. A tree is a directory with the
 * {@code upper} and {@code work} directories of an overlay, named by whoever asks for it.
 */
public interface Store {
    /** Makes an empty tree. */
    void create(String tree) throws IOException;

    /** Copies a tree. One that is in use is copied as it is at one moment only if {@link #copiesAtomically()}. */
    void copy(String from, String to, boolean readOnly) throws IOException;

    boolean copiesAtomically();

    /** Removes a tree, if it is there. */
    void delete(String tree) throws IOException;

    List<String> trees() throws IOException;

    /** Limits what a tree may take on disk; 0 lifts the limit. */
    void limit(String tree, long bytes) throws IOException;

    /** What the limit is measured against. */
    long used(String tree) throws IOException;

    /** Whether limits are enforced. */
    boolean enforcesLimits();

    /** Whether what a copy shares with its source counts as used by the copy too. */
    boolean countsShared();

    /** What all trees take, with whatever else is on the same filesystem; less than nothing if it cannot be told. */
    default long usedBytes() {
        try {
            FileStore disk = Files.getFileStore(directory("x").getParent());
            return disk.getTotalSpace() - disk.getUnallocatedSpace();
        } catch (IOException e) {
            return -1;
        }
    }

    Path directory(String tree);

    default Path upper(String tree) {
        return directory(tree).resolve("upper");
    }

    default Path work(String tree) {
        return directory(tree).resolve("work");
    }

    /** Lets go of what was mounted for it; only when no tree is in use. */
    void unmount() throws IOException;

    static boolean isBtrfs(Path directory) throws IOException {
        return Files.getFileStore(directory).type().equals("btrfs");
    }
}
