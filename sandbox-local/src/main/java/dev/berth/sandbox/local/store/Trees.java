package dev.berth.sandbox.local.store;

import dev.berth.sandbox.local.linux.Directories;
import dev.berth.sandbox.local.linux.IdMap;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/** What both kinds of store do inside a tree. */
final class Trees {
    /** Trees hold setuid programs of the sandboxes' root user; nobody on the machine may reach them by this way. */
    static final Set<PosixFilePermission> PRIVATE = PosixFilePermissions.fromString("rwx------");

    private Trees() {}

    /** The root directory of a sandbox belongs to its root user. */
    static void fill(Path tree) throws IOException {
        Path upper = Files.createDirectory(tree.resolve("upper"));
        Files.setPosixFilePermissions(upper, PosixFilePermissions.fromString("rwxr-xr-x"));
        Files.setAttribute(upper, "unix:uid", IdMap.toHost(0));
        Files.setAttribute(upper, "unix:gid", IdMap.toHost(0));
        Files.createDirectory(tree.resolve("work"));
    }

    /** The kernel keeps half-done copies in the work directory of a mounted overlay; a copy has to start without. */
    static void emptyWork(Path tree) throws IOException {
        Path work = tree.resolve("work");
        Directories.remove(work);
        Files.createDirectory(work);
    }
}
