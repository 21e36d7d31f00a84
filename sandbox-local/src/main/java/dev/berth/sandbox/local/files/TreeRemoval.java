package dev.berth.sandbox.local.files;

import static dev.berth.sandbox.local.linux.ErrnoException.EEXIST;
import static dev.berth.sandbox.local.linux.ErrnoException.EISDIR;
import static dev.berth.sandbox.local.linux.ErrnoException.ENOENT;
import static dev.berth.sandbox.local.linux.ErrnoException.ENOTDIR;
import static dev.berth.sandbox.local.linux.ErrnoException.ENOTEMPTY;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.ErrnoException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * Removes a name from a directory with all that is below it, following no links, while the sandbox may move things about.
 *
 * <p>It walks with one open descriptor, however deep the tree: down by opening a name without following links, up by
 * {@code ..}. The sandbox may have moved the directory we stand in, so what {@code ..} leads to is compared with the
 * directory we came from before anything is removed in it; if it is another, the removal ends there. Everything is
 * removed by name in an open directory of which we know that way that it is below the first one.
 *
 * <p>A process that makes files as fast as they are removed could keep this busy for ever; hence the bounds.
 */
public final class TreeRemoval {
    private static final byte[] UP = "..".getBytes(StandardCharsets.US_ASCII);
    /** More directories than this are looked for again, when these are gone. */
    private static final int DIRECTORIES_AT_A_TIME = 4096;

    /** And more than this are not noted for all levels together, so that no tree costs much memory. */
    private static final int DIRECTORIES_NOTED = 500_000;

    private static final int DEPTH = 100_000;
    private static final int RESCANS = 1000;
    private static final int ENTRIES = 50_000_000;

    private final SandboxPath path;
    private final Deque<Level> levels = new ArrayDeque<>();
    private int rescans;
    private int entries;
    private int noted;

    private TreeRemoval(SandboxPath path) {
        this.path = path;
    }

    /** A directory on the way down: its name in its parent, what it is, and the directories in it that are not empty. */
    private static final class Level {
        final byte[] name;
        final Stat directory;
        final Deque<byte[]> left = new ArrayDeque<>();

        Level(byte[] name, Stat directory) {
            this.name = name;
            this.directory = directory;
        }
    }

    /** Removes a tree in a directory of the server's own; nothing happens if it is not there. */
    public static void remove(Path directory, String name) throws ErrnoException {
        SandboxPath path = SandboxPath.ROOT.child(name);
        try (Fd parent = FileCalls.open(
                directory.toString().getBytes(StandardCharsets.UTF_8), FileCalls.O_PATH | FileCalls.O_DIRECTORY)) {
            remove(parent, path.name("remove"), path);
        } catch (ErrnoException e) {
            if (e.errno() != ENOENT) {
                throw e;
            }
        }
    }

    static void remove(Fd parent, byte[] name, SandboxPath path) throws ErrnoException {
        // The one thing that must be there: what goes missing later was to go anyway.
        FileCalls.statx(parent, name);
        TreeRemoval removal = new TreeRemoval(path);
        while (!removeOne(parent, name, false)) {
            removal.countRescan();
            removal.removeTree(parent, name);
        }
    }

    private void removeTree(Fd parent, byte[] name) throws ErrnoException {
        Fd current;
        try {
            current = enter(parent, name);
        } catch (ErrnoException e) {
            if (Listing.isGone(e)) {
                return;
            }
            throw e;
        }
        try {
            while (true) {
                Level level = levels.element();
                byte[] child = poll(level);
                if (child == null) {
                    levels.pop();
                    if (levels.isEmpty()) {
                        return;
                    }
                    current = up(current, levels.element());
                    if (!removeOne(current, level.name, true)) {
                        countRescan();
                        levels.element().left.push(level.name);
                        noted++;
                    }
                } else {
                    current = down(current, child);
                }
            }
        } finally {
            current.close();
        }
    }

    private byte @Nullable [] poll(Level level) {
        byte[] child = level.left.poll();
        if (child != null) {
            noted--;
        }
        return child;
    }

    private Fd down(Fd current, byte[] child) throws ErrnoException {
        if (levels.size() > DEPTH) {
            throw SandboxException.limit("could not remove " + path + ": it is more than " + DEPTH
                    + " directories deep; remove it with rm -r in a command in the sandbox");
        }
        try {
            Fd next = enter(current, child);
            current.close();
            return next;
        } catch (ErrnoException e) {
            if (Listing.isGone(e)) {
                return current;
            }
            throw e;
        }
    }

    /** Opens a directory, removes what can be removed at once, and notes the rest. */
    private Fd enter(Fd directory, byte[] name) throws ErrnoException {
        Fd entered = Resolver.directoryInSameMount(directory, name);
        boolean kept = false;
        try {
            Level level = new Level(name, entered.stat());
            empty(entered, level);
            levels.push(level);
            kept = true;
            return entered;
        } finally {
            if (!kept) {
                entered.close();
            }
        }
    }

    private void empty(Fd directory, Level level) throws ErrnoException {
        try (DirectoryReader reader = new DirectoryReader(directory)) {
            for (var batch = reader.next(); !batch.isEmpty(); batch = reader.next()) {
                for (var entry : batch) {
                    if (++entries > ENTRIES) {
                        throw tooMuch();
                    }
                    if (!removeOne(directory, entry.name(), entry.maybeDirectory())) {
                        level.left.add(entry.name());
                        noted++;
                    }
                }
                int left = level.left.size();
                if (left >= DIRECTORIES_AT_A_TIME || (left > 0 && noted >= DIRECTORIES_NOTED)) {
                    return;
                }
            }
        }
    }

    private Fd up(Fd current, Level expected) throws ErrnoException {
        Fd above = FileCalls.openat(
                current,
                UP,
                FileCalls.O_RDONLY | FileCalls.O_DIRECTORY | FileCalls.O_NOFOLLOW | FileCalls.O_NONBLOCK,
                0);
        try {
            if (above.stat().isSameFileAs(expected.directory)) {
                current.close();
                return above;
            }
        } catch (ErrnoException e) {
            above.close();
            throw e;
        }
        above.close();
        throw SandboxException.conflict("could not remove " + path
                + ": a process in the sandbox moved a directory out of it meanwhile; try again");
    }

    /** @return false if it is a directory that is not empty */
    private static boolean removeOne(Fd directory, byte[] name, boolean maybeDirectory) throws ErrnoException {
        try {
            if (maybeDirectory) {
                FileCalls.rmdirat(directory, name);
            } else {
                FileCalls.unlinkat(directory, name);
            }
            return true;
        } catch (ErrnoException e) {
            return switch (e.errno()) {
                case ENOENT -> true;
                case ENOTEMPTY, EEXIST -> false;
                case EISDIR -> removeOne(directory, name, true);
                case ENOTDIR -> removeOne(directory, name, false);
                default -> throw e;
            };
        }
    }

    private void countRescan() {
        if (++rescans > RESCANS) {
            throw tooMuch();
        }
    }

    private SandboxException tooMuch() {
        return SandboxException.conflict(
                "could not remove " + path + ": a process in the sandbox keeps making files in it; end that first");
    }
}
