package dev.berth.sandbox.local.files;

import static dev.berth.sandbox.local.linux.ErrnoException.EEXIST;
import static dev.berth.sandbox.local.linux.ErrnoException.ENOENT;
import static dev.berth.sandbox.local.linux.ErrnoException.ENOTDIR;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.ErrnoException;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Makes a directory and its missing parents, one at a time, each in the parent's open descriptor.
 *
 * <p>A new directory belongs to the server until it is given to the owner, and no process of the sandbox can make one
 * that does: so what is found under the new name is only given away if it is the server's, and a swap under our hands
 * hands nobody a directory of somebody else.
 */
final class DirectoryMaker {
    private static final int MODE = 0755;
    private static final int SERVER = 0;
    /** How often a directory may vanish right after it was made or found. */
    private static final int TRIES = 100;

    private final Resolver resolver;
    private final Owner owner;

    DirectoryMaker(Resolver resolver, Owner owner) {
        this.resolver = resolver;
        this.owner = owner;
    }

    /** @return whether the last directory was made here, and not there already */
    boolean make(String doing, SandboxPath path) throws ErrnoException {
        for (int tries = 1; ; tries++) {
            try {
                return makeMissing(doing, path);
            } catch (ErrnoException e) {
                if (e.errno() != ENOENT || tries == TRIES) {
                    throw e;
                }
                Resolver.giveWay();
            }
        }
    }

    /** The directory that holds the last component of a path, made if it is missing; opened with O_PATH. */
    Fd parent(String doing, SandboxPath path) throws ErrnoException {
        for (int tries = 1; ; tries++) {
            try {
                return resolver.parent(path);
            } catch (ErrnoException e) {
                if (e.errno() == ENOTDIR) {
                    throw below(doing, path);
                }
                if (e.errno() != ENOENT || tries == TRIES) {
                    throw e;
                }
                make(doing, path.parent());
            }
        }
    }

    private boolean makeMissing(String doing, SandboxPath path) throws ErrnoException {
        Deque<SandboxPath> missing = new ArrayDeque<>();
        SandboxPath existing = path;
        while (!isDirectory(doing, existing)) {
            missing.push(existing);
            existing = existing.parent();
        }
        boolean made = false;
        for (SandboxPath next : missing) {
            made = makeOne(doing, next);
        }
        return made;
    }

    private boolean isDirectory(String doing, SandboxPath path) throws ErrnoException {
        try (Fd found = resolver.find(path)) {
            if (!found.stat().isDirectory()) {
                throw SandboxException.invalid("could not " + doing + " " + path
                        + ": it exists already and is not a directory; use another name or remove it first");
            }
            return true;
        } catch (ErrnoException e) {
            if (e.errno() == ENOENT && !path.isRoot()) {
                return false;
            }
            if (e.errno() == ENOTDIR) {
                throw below(doing, path);
            }
            throw e;
        }
    }

    private boolean makeOne(String doing, SandboxPath path) throws ErrnoException {
        if (path.lastComponent().equals("..")) {
            return false;
        }
        byte[] name = path.name(doing);
        try (Fd parent = resolver.parent(path)) {
            FileCalls.mkdirat(parent, name, 0700);
            try (Fd made = Resolver.directoryBelow(parent, name)) {
                if (made.stat().owner().uid() == SERVER) {
                    FileCalls.chown(made, owner);
                    FileCalls.chmod(made, MODE);
                }
            }
            return true;
        } catch (ErrnoException e) {
            if (e.errno() == EEXIST && isDirectory(doing, path)) {
                return false;
            }
            throw e;
        }
    }

    private static SandboxException below(String doing, SandboxPath path) {
        return SandboxException.invalid("could not " + doing + " " + path
                + ": a name on the way to it is not a directory; use a path below directories");
    }
}
