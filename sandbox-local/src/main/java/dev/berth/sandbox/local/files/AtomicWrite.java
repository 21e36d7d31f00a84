package dev.berth.sandbox.local.files;

import static dev.berth.sandbox.local.files.FileCalls.O_CREAT;
import static dev.berth.sandbox.local.files.FileCalls.O_EXCL;
import static dev.berth.sandbox.local.files.FileCalls.O_NOFOLLOW;
import static dev.berth.sandbox.local.files.FileCalls.O_NONBLOCK;
import static dev.berth.sandbox.local.files.FileCalls.O_WRONLY;

import dev.berth.sandbox.local.linux.ErrnoException;
import java.io.InputStream;
import java.nio.file.StandardOpenOption;
import java.util.OptionalInt;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Replaces a file at once: the content goes to a hidden file beside it, which then takes its name by rename(2).
 *
 * <p>The hidden file is the server's, and nobody else may read it, until all is written. Other hard links to the old
 * file keep the old content, as with any editor that saves this way.
 */
final class AtomicWrite {
    private static final Logger log = LoggerFactory.getLogger(AtomicWrite.class);
    private static final int NEW_FILE = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK;
    /** As for write(2) by a user: the set-id bits were for the old content. */
    private static final int KEPT_MODE = 01777;

    private final WriteTarget target;
    private final Owner owner;

    /** @param owner whose the file will be */
    AtomicWrite(WriteTarget target, Owner owner) {
        this.target = target;
        this.owner = owner;
    }

    void write(InputStream content, OptionalInt mode, ContentCopy copy) throws ErrnoException {
        byte[] hidden = TemporaryName.of(target.existing().isPresent());
        try (Fd file = FileCalls.openat(target.directory(), hidden, NEW_FILE, 0600)) {
            boolean placed = false;
            try {
                copy.copy(content, file, StandardOpenOption.WRITE);
                keepAttributes(file);
                FileCalls.chown(file, owner);
                FileCalls.chmod(file, mode.orElse(keptMode()));
                FileCalls.renameat(target.directory(), hidden, target.directory(), target.name());
                placed = true;
            } finally {
                if (!placed) {
                    discard(file, hidden);
                }
            }
        }
    }

    private int keptMode() {
        return target.existing().map(s -> s.permissions() & KEPT_MODE).orElse(RootFiles.FILE_MODE);
    }

    private void keepAttributes(Fd file) throws ErrnoException {
        if (target.existing().isEmpty()) {
            return;
        }
        try (Fd old = Resolver.findIn(target.directory(), target.name())) {
            Attributes.copy(old, file);
        } catch (ErrnoException e) {
            if (e.errno() != ErrnoException.ENOENT) {
                throw e;
            }
        }
    }

    /** Removes the hidden file, unless the sandbox has put something else under its name. */
    private void discard(Fd file, byte[] hidden) {
        try {
            if (FileCalls.statx(target.directory(), hidden).isSameFileAs(file.stat())) {
                FileCalls.unlinkat(target.directory(), hidden);
            }
        } catch (ErrnoException e) {
            log.debug("left {} beside {}: {}", SandboxPath.decode(hidden), target.path(), e.getMessage());
        }
    }
}
