package dev.berth.sandbox.local.files;

import static dev.berth.sandbox.local.linux.ErrnoException.ELOOP;
import static dev.berth.sandbox.local.linux.ErrnoException.ENAMETOOLONG;
import static dev.berth.sandbox.local.linux.ErrnoException.ENOENT;
import static dev.berth.sandbox.local.linux.ErrnoException.ENOTDIR;

import dev.berth.sandbox.FileInfo;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.ErrnoException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Optional;

/**
 * Lists what is below an open directory, to a depth, following no links.
 *
 * <p>Each directory is opened by its path from the first one, so two descriptors are enough for any depth. What is
 * deeper than the kernel lets a path be could not be addressed either, and is left out, as is what vanishes meanwhile.
 */
final class Listing {
    private static final int LIMIT = 100_000;

    private final SandboxPath path;
    private final List<FileInfo> found = new ArrayList<>();
    private final Deque<Directory> waiting = new ArrayDeque<>();

    private Listing(SandboxPath path) {
        this.path = path;
    }

    /** A directory to list: its path from the top, the same for the eye, and how deep it is. */
    private record Directory(byte[] relative, SandboxPath shown, int depth) {}

    static List<FileInfo> of(Fd top, SandboxPath path, int depth) throws ErrnoException {
        Listing listing = new Listing(path);
        listing.list(top, new Directory(new byte[0], path, 1), depth);
        for (Directory next = listing.waiting.poll(); next != null; next = listing.waiting.poll()) {
            try (Fd directory = Resolver.directoryBelow(top, next.relative)) {
                listing.list(directory, next, depth);
            } catch (ErrnoException e) {
                if (!isGone(e)) {
                    throw e;
                }
            }
        }
        listing.found.sort(Comparator.comparing(FileInfo::path, Listing::inOrder));
        return listing.found;
    }

    /** As the kernel's bytes compare, but with what is in a directory right after it: nothing sorts before the slash. */
    static int inOrder(String one, String other) {
        int shorter = Math.min(one.length(), other.length());
        for (int i = 0; i < shorter; i++) {
            if (one.charAt(i) != other.charAt(i)) {
                return Integer.compare(rank(one.charAt(i)), rank(other.charAt(i)));
            }
        }
        return Integer.compare(one.length(), other.length());
    }

    /** The halves of a character beyond 16 bits come after all others, as their bytes do in UTF-8. */
    private static int rank(char c) {
        return c == '/' ? 0 : Character.isSurrogate(c) ? c + 0x10000 : c;
    }

    private void list(Fd directory, Directory self, int depth) throws ErrnoException {
        try (DirectoryReader reader = new DirectoryReader(directory)) {
            for (var entries = reader.next(); !entries.isEmpty(); entries = reader.next()) {
                for (var entry : entries) {
                    add(directory, self, entry.name(), depth);
                }
            }
        }
    }

    private void add(Fd directory, Directory self, byte[] name, int depth) throws ErrnoException {
        if (found.size() == LIMIT) {
            throw SandboxException.limit("could not list " + path + ": it has more than " + LIMIT
                    + " entries; list a smaller directory or with less depth");
        }
        SandboxPath shown = self.shown.child(SandboxPath.decode(name));
        try {
            Stat stat = FileCalls.statx(directory, name);
            Optional<String> link = stat.isLink()
                    ? Optional.of(SandboxPath.decode(FileCalls.readlinkat(directory, name)))
                    : Optional.empty();
            found.add(stat.info(shown.text(), link));
            if (stat.isDirectory() && self.depth < depth) {
                waiting.add(new Directory(join(self.relative, name), shown, self.depth + 1));
            }
        } catch (ErrnoException e) {
            // EINVAL: a link when it was looked at, something else when it was read
            if (!isGone(e) && e.errno() != ErrnoException.EINVAL) {
                throw e;
            }
        }
    }

    static byte[] join(byte[] relative, byte[] name) {
        if (relative.length == 0) {
            return name;
        }
        byte[] joined = new byte[relative.length + 1 + name.length];
        System.arraycopy(relative, 0, joined, 0, relative.length);
        joined[relative.length] = '/';
        System.arraycopy(name, 0, joined, relative.length + 1, name.length);
        return joined;
    }

    /** Whether a directory that was there a moment ago is not, or is something else now, or is too deep for a path. */
    static boolean isGone(ErrnoException e) {
        return switch (e.errno()) {
            case ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG -> true;
            default -> false;
        };
    }
}
