package dev.berth.sandbox.local.files;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.ErrnoException;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The directories that a watch has on, by the number inotify gave them.
 *
 * <p>A directory is watched first and read then, so that whatever is made in it is either read or reported. No descriptor
 * is kept, since that would hold the sandbox's mount; directories are opened anew by their path from the top.
 */
final class WatchedTree {
    private static final int LIMIT = 8192;
    /** Some that wait may turn out to be no directories, or to be watched already. */
    private static final int MOST_WAITING = 4 * LIMIT;

    private static final byte[] TOP = {};

    private final Supplier<Resolver> root;
    private final SandboxPath path;
    private final boolean recursive;
    private final Inotify inotify;
    private final Map<Integer, Directory> directories = new HashMap<>();

    WatchedTree(Supplier<Resolver> root, SandboxPath path, boolean recursive, Inotify inotify) {
        this.root = root;
        this.path = path;
        this.recursive = recursive;
        this.inotify = inotify;
    }

    /** A watched directory: its path from the top, and as the sandbox sees it. */
    record Directory(byte[] relative, SandboxPath shown) {
        Directory child(byte[] name) {
            return new Directory(Listing.join(relative, name), shown.child(SandboxPath.decode(name)));
        }

        boolean isTop() {
            return relative.length == 0;
        }
    }

    @Nullable
    Directory get(int watch) {
        return directories.get(watch);
    }

    void forget(int watch) {
        directories.remove(watch);
    }

    /** Watches the whole tree anew, whatever was watched of it before. */
    void addAll() throws ErrnoException {
        List.copyOf(directories.keySet()).forEach(this::remove);
        add(new Directory(TOP, path), _ -> {});
    }

    /** Watches a directory, and the ones in it if the watch is recursive, and tells what is in them. */
    void add(Directory directory, Consumer<SandboxPath> found) throws ErrnoException {
        Deque<Directory> waiting = new ArrayDeque<>(List.of(directory));
        try (Resolver resolver = root.get();
                Fd top = resolver.directory("watch", path)) {
            for (Directory next = waiting.poll(); next != null; next = waiting.poll()) {
                addOne(top, next, waiting, found);
            }
        }
    }

    private void addOne(Fd top, Directory next, Deque<Directory> waiting, Consumer<SandboxPath> found)
            throws ErrnoException {
        try (Fd opened = next.isTop()
                        ? top.reopen(FileCalls.O_RDONLY | FileCalls.O_DIRECTORY)
                        : Resolver.directoryBelow(top, next.relative);
                DirectoryReader reader = new DirectoryReader(opened)) {
            int watch = inotify.add(opened);
            Directory known = directories.put(watch, next);
            if (!recursive || (known != null && Arrays.equals(known.relative, next.relative))) {
                return;
            }
            if (directories.size() > LIMIT) {
                remove(watch);
                throw tooMany();
            }
            for (var entries = reader.next(); !entries.isEmpty(); entries = reader.next()) {
                for (var entry : entries) {
                    Directory child = next.child(entry.name());
                    found.accept(child.shown);
                    if (entry.maybeDirectory()) {
                        waiting.add(child);
                    }
                    if (waiting.size() > MOST_WAITING) {
                        throw tooMany();
                    }
                }
            }
        } catch (ErrnoException e) {
            if (next.isTop() || !Listing.isGone(e)) {
                throw e;
            }
        }
    }

    private SandboxException tooMany() {
        return SandboxException.limit("could not watch " + path + ": there are more than " + LIMIT
                + " directories below it; watch a smaller one");
    }

    /** Stops watching a directory that has moved away, and those in it. */
    void removeBelow(SandboxPath moved) {
        String below = moved.text() + "/";
        directories.entrySet().stream()
                .filter(e -> (e.getValue().shown.text() + "/").startsWith(below))
                .map(Map.Entry::getKey)
                .toList()
                .forEach(this::remove);
    }

    private void remove(int watch) {
        directories.remove(watch);
        inotify.remove(watch);
    }
}
