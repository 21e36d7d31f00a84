package dev.berth.sandbox.local.files;

import static dev.berth.sandbox.local.files.FileCalls.O_DIRECTORY;
import static dev.berth.sandbox.local.files.FileCalls.O_NOCTTY;
import static dev.berth.sandbox.local.files.FileCalls.O_NOFOLLOW;
import static dev.berth.sandbox.local.files.FileCalls.O_NONBLOCK;
import static dev.berth.sandbox.local.files.FileCalls.O_PATH;
import static dev.berth.sandbox.local.files.FileCalls.O_RDONLY;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.ErrnoException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Turns a path of a sandbox into an open descriptor, for one operation.
 *
 * <p>The sandbox is hostile and changes its files while we look. So a path is resolved once, by the kernel, relative to
 * the sandbox's root (openat2(2): RESOLVE_IN_ROOT keeps links and {@code ..} inside it, RESOLVE_NO_MAGICLINKS refuses
 * those of proc(5)), and everything after works on the descriptor, or on one name in a directory's descriptor by a call
 * that does not follow links. Nothing is opened but with O_PATH, which opens neither device nor pipe, until its type has
 * been seen on that very descriptor.
 *
 * <p>In a {@linkplain RootFiles#within view of a directory} that directory takes the place of the root, with
 * RESOLVE_BENEATH: where RESOLVE_IN_ROOT would turn a link back at the root, the kernel refuses it with EXDEV.
 *
 * <p>The root is opened anew for every operation: a rollback replaces what is mounted there, and a descriptor that is
 * kept would hold the old one.
 */
final class Resolver implements AutoCloseable {
    /** openat2(2) gives up with EAGAIN when something was renamed while it went over a {@code ..}. */
    private static final int TRIES = 200;

    private static final long INSIDE = FileCalls.RESOLVE_IN_ROOT | FileCalls.RESOLVE_NO_MAGICLINKS;
    private static final long BENEATH = FileCalls.RESOLVE_BENEATH | FileCalls.RESOLVE_NO_MAGICLINKS;
    private static final long BELOW =
            FileCalls.RESOLVE_BENEATH | FileCalls.RESOLVE_NO_SYMLINKS | FileCalls.RESOLVE_NO_MAGICLINKS;

    private final Fd root;
    private final long rules;

    private Resolver(Fd root, long rules) {
        this.root = root;
        this.rules = rules;
    }

    static Resolver open(Supplier<Path> root) {
        try {
            return new Resolver(
                    FileCalls.open(root.get().toString().getBytes(StandardCharsets.UTF_8), O_PATH | O_DIRECTORY),
                    INSIDE);
        } catch (ErrnoException e) {
            throw new SandboxException(
                    ErrorCode.UNAVAILABLE,
                    "could not reach the files of the sandbox: its root filesystem is not mounted; start the sandbox",
                    e);
        }
    }

    Fd root() {
        return root;
    }

    /** For a view of a directory that is found by this one, which is closed. */
    Resolver within(SandboxPath directory) {
        try (this) {
            return new Resolver(resolve(directory, O_PATH | O_DIRECTORY), BENEATH);
        } catch (ErrnoException e) {
            throw FileErrors.of("use the directory", directory, e);
        }
    }

    /** What a path leads to, opened with O_PATH; links are followed, inside the root. */
    Fd find(SandboxPath path) throws ErrnoException {
        return resolve(path, O_PATH);
    }

    /** Where in the root something is that was found by this; empty if it has no name there any more. */
    Optional<SandboxPath> where(Fd found) throws ErrnoException {
        String top = SandboxPath.decode(FileCalls.readlink(root.link()));
        String full = SandboxPath.decode(FileCalls.readlink(found.link()));
        if (!full.equals(top) && !full.startsWith(top.endsWith("/") ? top : top + "/")) {
            return Optional.empty();
        }
        String below = full.substring(top.length());
        SandboxPath path = rules == INSIDE
                ? SandboxPath.parse("/" + below, "/")
                : SandboxPath.parseBelow("./" + (below.startsWith("/") ? below.substring(1) : below));
        // The kernel tells a name it had; it may be another's by now, or have had bytes that no text has.
        try (Fd again = findItself(path)) {
            return again.stat().isSameFileAs(found.stat()) ? Optional.of(path) : Optional.empty();
        } catch (ErrnoException e) {
            return Optional.empty();
        }
    }

    /** As {@link #find}, but a link as the last component is not followed. */
    Fd findItself(SandboxPath path) throws ErrnoException {
        return resolve(path, O_PATH | O_NOFOLLOW);
    }

    /** The directory that holds the last component of a path, opened with O_PATH. */
    Fd parent(SandboxPath path) throws ErrnoException {
        return resolve(path.parent(), O_PATH | O_DIRECTORY);
    }

    /** A regular file, opened with these flags. */
    Fd file(String doing, SandboxPath path, int flags) throws ErrnoException {
        try (Fd found = find(path)) {
            Stat stat = found.stat();
            if (!stat.isFile()) {
                throw FileErrors.notAFile(doing, path, stat);
            }
            return found.reopen(flags);
        }
    }

    /** A directory, opened for reading its entries. */
    Fd directory(String doing, SandboxPath path) throws ErrnoException {
        try (Fd found = find(path)) {
            if (!found.stat().isDirectory()) {
                throw FileErrors.notADirectory(doing, path);
            }
            return found.reopen(O_RDONLY | O_DIRECTORY);
        }
    }

    /**
     * A directory below another, opened for reading its entries; no link is followed on the way.
     *
     * <p>With O_DIRECTORY the kernel refuses what is no directory before it opens it.
     */
    static Fd directoryBelow(Fd directory, byte[] relative) throws ErrnoException {
        return openat2(directory, relative, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, BELOW);
    }

    /** As {@link #directoryBelow}, and not in another mount either. */
    static Fd directoryInSameMount(Fd directory, byte[] name) throws ErrnoException {
        return openat2(
                directory,
                name,
                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
                BELOW | FileCalls.RESOLVE_NO_XDEV);
    }

    /** What a name in a directory stands for, opened with O_PATH; a link is not followed. */
    static Fd findIn(Fd directory, byte[] name) throws ErrnoException {
        return openat2(directory, name, O_PATH | O_NOFOLLOW, BENEATH);
    }

    private Fd resolve(SandboxPath path, int flags) throws ErrnoException {
        try {
            return openat2(root, path.bytes(), flags, rules);
        } catch (ErrnoException e) {
            if (e.errno() == ErrnoException.EXDEV) {
                throw FileErrors.outside(path);
            }
            throw e;
        }
    }

    private static Fd openat2(Fd directory, byte[] path, int flags, long resolve) throws ErrnoException {
        for (int tries = 1; ; tries++) {
            try {
                return FileCalls.openat2(directory, path, flags, resolve);
            } catch (ErrnoException e) {
                if (e.errno() != ErrnoException.EAGAIN || tries == TRIES) {
                    throw e;
                }
                giveWay();
            }
        }
    }

    /** Lets other virtual threads have the carrier in a long row of short native calls, which never give it up. */
    @SuppressWarnings("ThreadPriorityCheck")
    static void giveWay() {
        Thread.yield();
    }

    @Override
    public void close() {
        root.close();
    }
}
