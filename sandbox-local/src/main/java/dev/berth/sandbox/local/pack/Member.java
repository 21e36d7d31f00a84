package dev.berth.sandbox.local.pack;

import dev.berth.sandbox.local.files.NodeAttributes;
import java.util.List;
import java.util.OptionalLong;

/**
 * One node of a packed tree. Names are bytes, and each character stands for one.
 *
 * @param path the names on the way to it from the root, and its own; none for the root itself
 * @param target where a link points, as it is written; or the path of the file that a hard link is a second name of
 * @param size how many bytes of content follow
 * @param holes the size of a file with holes, whose content begins with a map of what is not one
 */
record Member(
        Type type,
        List<String> path,
        String target,
        long size,
        OptionalLong holes,
        int major,
        int minor,
        NodeAttributes attributes) {
    enum Type {
        FILE,
        HARD_LINK,
        LINK,
        CHARACTER_DEVICE,
        BLOCK_DEVICE,
        DIRECTORY,
        FIFO
    }

    String name() {
        return path.getLast();
    }

    List<String> parents() {
        return path.subList(0, path.size() - 1);
    }
}
