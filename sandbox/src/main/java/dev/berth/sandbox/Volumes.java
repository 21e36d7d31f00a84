package dev.berth.sandbox;

import java.util.List;

/**
 * Directories of a provider that outlive its sandboxes, and that several of them can have at once, to read and write. A
 * volume is no part of a sandbox's checkpoints or packed files.
 */
public interface Volumes {
    /**
     * Makes an empty volume; nothing happens if it is there.
     *
     * @param id of letters, digits and dashes
     */
    void make(String id);

    boolean exists(String id);

    List<String> list();

    /**
     * Its files, with the volume as the root. Links lead nowhere else, and ids are those that sandboxes see.
     *
     * @throws SandboxException {@code not_found} if there is none
     */
    SandboxFiles files(String id);

    /** How many bytes it takes. */
    long used(String id);

    /**
     * Removes it with all that is in it; nothing happens if it is not there.
     *
     * @throws SandboxException {@code conflict} while a sandbox has it, even one that is stopped
     */
    void remove(String id);
}
