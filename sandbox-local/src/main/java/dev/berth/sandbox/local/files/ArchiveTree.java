package dev.berth.sandbox.local.files;

import static dev.berth.sandbox.local.linux.ErrnoException.EEXIST;
import static dev.berth.sandbox.local.linux.ErrnoException.ELOOP;
import static dev.berth.sandbox.local.linux.ErrnoException.ENAMETOOLONG;
import static dev.berth.sandbox.local.linux.ErrnoException.ENOENT;
import static dev.berth.sandbox.local.linux.ErrnoException.ENOTDIR;
import static dev.berth.sandbox.local.linux.ErrnoException.EPERM;
import static dev.berth.sandbox.local.linux.ErrnoException.EXDEV;
import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.ErrnoException;
import dev.berth.sandbox.local.linux.IdMap;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Makes the nodes of archives that others wrote, in whatever order they come; a later one of the same path takes the place
 * of an earlier one.
 *
 * <p>Each node is made by its name in its directory, which the kernel looks up as if the tree's root were the machine's
 * (openat2(2), RESOLVE_IN_ROOT). So a link made before may be on the way, as images have them, and leads nowhere but into
 * the tree. Nobody else may write to the tree meanwhile.
 *
 * <p>Names are bytes, and each character stands for one. For one platform thread, since its calls are the kernel's.
 */
public final class ArchiveTree implements AutoCloseable {
    private static final int S_IFIFO = 0010000;
    private static final int DIRECTORY = FileCalls.O_RDONLY | FileCalls.O_DIRECTORY;
    private static final NodeAttributes PLAIN =
            new NodeAttributes(0755, IdMap.toHost(0), IdMap.toHost(0), 0, 0, Map.of());

    private final Fd root;
    /** Where the last node was made, as the next one is likely to be there too. */
    private @Nullable Fd here;

    private List<String> herePath = List.of();

    public ArchiveTree(Path directory) throws IOException {
        root = FileCalls.open(directory.toString().getBytes(StandardCharsets.UTF_8), DIRECTORY | FileCalls.O_NOFOLLOW);
    }

    /** Makes a directory, or gives one that is there these attributes. */
    public void directory(List<String> path, NodeAttributes attributes) throws IOException {
        Fd parent = parent(path);
        byte[] name = bytes(path.getLast());
        if (!isDirectory(parent, name)) {
            clear(parent, path);
            FileCalls.mkdirat(parent, name, 0700);
        }
        try (Fd made = FileCalls.openat(parent, name, DIRECTORY | FileCalls.O_NOFOLLOW, 0)) {
            TreeMaker.apply(made, attributes);
        }
    }

    /** A new file to be written. */
    public TreeMaker.NewFile file(List<String> path) throws IOException {
        Fd parent = parent(path);
        clear(parent, path);
        return new TreeMaker.NewFile(FileCalls.openat(
                parent,
                bytes(path.getLast()),
                FileCalls.O_WRONLY | FileCalls.O_CREAT | FileCalls.O_EXCL | FileCalls.O_NOFOLLOW,
                0600));
    }

    public void link(List<String> path, String target, NodeAttributes attributes) throws IOException {
        if (target.isEmpty()) {
            throw refused(path, "is a link to nowhere");
        }
        Fd parent = parent(path);
        clear(parent, path);
        FileCalls.symlinkat(bytes(target), parent, bytes(path.getLast()));
        try (Fd made = node(parent, path)) {
            FileCalls.chown(made, new Owner(attributes.uid(), attributes.gid()));
            FileCalls.utimens(made, attributes.seconds(), attributes.nanos());
        }
    }

    /** A second name for a file that was made before. */
    public void hardLink(List<String> path, List<String> existing) throws IOException {
        if (existing.isEmpty() || existing.equals(path)) {
            throw refused(path, "is a second name of something that cannot have one");
        }
        try (Fd from = open(existing.subList(0, existing.size() - 1))) {
            Fd parent = parent(path);
            clear(parent, path);
            FileCalls.linkat(from, bytes(existing.getLast()), parent, bytes(path.getLast()));
        } catch (ErrnoException e) {
            if (e.errno() == ENOENT || e.errno() == ENOTDIR || e.errno() == EPERM) {
                throw refused(path, "is a second name of a file that is not there");
            }
            throw e;
        }
    }

    public void fifo(List<String> path, NodeAttributes attributes) throws IOException {
        Fd parent = parent(path);
        clear(parent, path);
        FileCalls.mknodat(parent, bytes(path.getLast()), S_IFIFO | 0600, 0);
        try (Fd made = node(parent, path)) {
            TreeMaker.apply(made, attributes);
        }
    }

    /** Removes what is there by a name, with all that is in it; nothing happens if there is nothing. */
    public void remove(List<String> directory, String name) throws IOException {
        try (Fd parent = open(directory)) {
            TreeRemoval.remove(parent, bytes(name), SandboxPath.ROOT);
        } catch (ErrnoException e) {
            if (e.errno() != ENOENT && e.errno() != ENOTDIR) {
                throw e;
            }
        }
        forget();
    }

    /** Removes what is in a directory and in all below it, but for these paths. */
    public void empty(List<String> directory, Predicate<List<String>> kept) throws IOException {
        Deque<List<String>> left = new ArrayDeque<>(List.of(directory));
        while (!left.isEmpty()) {
            List<String> path = left.pop();
            try (Fd emptied = open(path)) {
                emptyOne(emptied, path, kept, left);
            } catch (ErrnoException e) {
                if (e.errno() != ENOENT && e.errno() != ENOTDIR) {
                    throw e;
                }
            }
        }
        forget();
    }

    /** @param deeper gets the directories that are kept */
    private static void emptyOne(
            Fd directory, List<String> path, Predicate<List<String>> kept, Deque<List<String>> deeper)
            throws ErrnoException {
        List<byte[]> doomed = new ArrayList<>();
        try (DirectoryReader reader = new DirectoryReader(directory)) {
            for (var some = reader.next(); !some.isEmpty(); some = reader.next()) {
                for (var entry : some) {
                    List<String> child = new ArrayList<>(path);
                    child.add(new String(entry.name(), ISO_8859_1));
                    if (!kept.test(child)) {
                        doomed.add(entry.name());
                    } else if (isDirectory(directory, entry.name())) {
                        deeper.push(child);
                    }
                }
            }
        }
        for (byte[] name : doomed) {
            TreeRemoval.remove(directory, name, SandboxPath.ROOT);
        }
    }

    @Override
    public void close() {
        forget();
        root.close();
    }

    private Fd parent(List<String> path) throws IOException {
        List<String> directory = path.subList(0, path.size() - 1);
        Fd known = here;
        if (known != null && directory.equals(herePath)) {
            return known;
        }
        forget();
        Fd found = made(directory);
        here = found;
        herePath = List.copyOf(directory);
        return found;
    }

    /** Opens a directory; those on the way that are not there are made. */
    private Fd made(List<String> directory) throws IOException {
        try {
            return open(directory);
        } catch (ErrnoException e) {
            if (e.errno() != ENOENT || directory.isEmpty()) {
                throw told(directory, e);
            }
        }
        try (Fd above = made(directory.subList(0, directory.size() - 1))) {
            byte[] name = bytes(directory.getLast());
            FileCalls.mkdirat(above, name, 0700);
            try (Fd made = FileCalls.openat(above, name, DIRECTORY | FileCalls.O_NOFOLLOW, 0)) {
                TreeMaker.apply(made, PLAIN);
            }
            return open(directory);
        } catch (ErrnoException e) {
            throw told(directory, e);
        }
    }

    private static IOException told(List<String> path, ErrnoException e) {
        return switch (e.errno()) {
            case EEXIST, ENOTDIR, ELOOP, EXDEV, ENAMETOOLONG -> throw refused(path, "is not in a directory");
            default -> e;
        };
    }

    private Fd open(List<String> directory) throws ErrnoException {
        String path = directory.isEmpty() ? "." : String.join("/", directory);
        return FileCalls.openat2(
                root, bytes(path), DIRECTORY, FileCalls.RESOLVE_IN_ROOT | FileCalls.RESOLVE_NO_MAGICLINKS);
    }

    private static Fd node(Fd parent, List<String> path) throws ErrnoException {
        return FileCalls.openat(parent, bytes(path.getLast()), FileCalls.O_PATH | FileCalls.O_NOFOLLOW, 0);
    }

    private void clear(Fd parent, List<String> path) throws IOException {
        try {
            TreeRemoval.remove(parent, bytes(path.getLast()), SandboxPath.ROOT);
        } catch (ErrnoException e) {
            if (e.errno() == ENAMETOOLONG) {
                throw refused(path, "has a name that is too long");
            }
            if (e.errno() != ENOENT) {
                throw e;
            }
        }
    }

    private static boolean isDirectory(Fd parent, byte[] name) throws ErrnoException {
        try {
            return FileCalls.statx(parent, name).isDirectory();
        } catch (ErrnoException e) {
            if (e.errno() == ENOENT || e.errno() == ENAMETOOLONG) {
                return false;
            }
            throw e;
        }
    }

    private void forget() {
        Fd known = here;
        here = null;
        if (known != null) {
            known.close();
        }
    }

    private static SandboxException refused(List<String> path, String why) {
        String name = new String(bytes(String.join("/", path)), StandardCharsets.UTF_8);
        return SandboxException.invalid("the archive cannot be unpacked: '"
                + (name.length() > 200 ? name.substring(0, 200) + "…" : name).replaceAll("\\p{Cntrl}", "?") + "' "
                + why);
    }

    private static byte[] bytes(String name) {
        return name.getBytes(ISO_8859_1);
    }
}
