package dev.berth.sandbox.local.files;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.ErrnoException;
import java.util.Optional;

/**
 * Where a write goes: a name in an open directory, which is no link, and the file that has it now.
 *
 * @param path how the sandbox calls it, behind the links that led here
 */
record WriteTarget(SandboxPath path, Fd directory, byte[] name, Optional<Stat> existing) implements AutoCloseable {
    /** As many as the kernel follows, path_resolution(7). */
    private static final int LINKS = 40;

    /** Follows the links at the end of a path, which leads to a regular file or to nothing, and makes missing parents. */
    static WriteTarget find(String doing, SandboxPath asked, Resolver resolver, DirectoryMaker maker)
            throws ErrnoException {
        SandboxPath path = asked;
        for (int links = 0; links <= LINKS; links++) {
            byte[] name = path.name(doing);
            Fd directory = maker.parent(doing, path);
            try {
                Optional<Stat> existing = existing(directory, name);
                if (existing.isEmpty() || existing.get().isFile()) {
                    return new WriteTarget(path, directory, name, existing);
                }
                if (!existing.get().isLink()) {
                    throw FileErrors.notAFile(doing, path, existing.get());
                }
                path = follow(doing, path, directory, name);
            } catch (ErrnoException | RuntimeException e) {
                directory.close();
                throw e;
            }
            directory.close();
        }
        throw new ErrnoException("open", ErrnoException.ELOOP);
    }

    private static Optional<Stat> existing(Fd directory, byte[] name) throws ErrnoException {
        try {
            return Optional.of(FileCalls.statx(directory, name));
        } catch (ErrnoException e) {
            if (e.errno() == ErrnoException.ENOENT) {
                return Optional.empty();
            }
            throw e;
        }
    }

    private static SandboxPath follow(String doing, SandboxPath link, Fd directory, byte[] name) throws ErrnoException {
        String target = SandboxPath.decode(FileCalls.readlinkat(directory, name));
        if (target.indexOf('\uFFFD') >= 0) {
            throw SandboxException.invalid("could not " + doing + " " + link
                    + ": it is a link to a name that is not UTF-8; use a link to another name");
        }
        return link.linkedTo(target);
    }

    @Override
    public void close() {
        directory.close();
    }
}
