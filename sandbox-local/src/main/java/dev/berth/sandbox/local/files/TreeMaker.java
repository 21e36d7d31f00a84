package dev.berth.sandbox.local.files;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.berth.sandbox.local.linux.ErrnoException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * Makes the nodes of a new tree, one after the other, whatever names they have and however deep they are.
 *
 * <p>It stands in one directory at a time. A node is made there by its name alone and must be new; a directory is
 * entered as it is made, and left by its {@code ..}. So no path is ever looked up, none can be too long, and no link
 * made before can lead anywhere. Nobody else may write to the tree meanwhile.
 *
 * <p>Names are bytes, and each character stands for one. For one platform thread, since its calls are the kernel's.
 */
public final class TreeMaker implements AutoCloseable {
    private static final int S_IFIFO = 0010000;
    private static final int S_IFCHR = 0020000;
    private static final int S_IFBLK = 0060000;
    private static final int PRIVATE = 0600;
    private static final int DIRECTORY = FileCalls.O_RDONLY | FileCalls.O_DIRECTORY | FileCalls.O_NOFOLLOW;
    /** Below PATH_MAX with room to spare. */
    private static final int LONGEST_PATH = 2048;

    private final Fd root;
    private Fd here;

    /** @param directory the root of the tree; it exists and is empty */
    public TreeMaker(Path directory) throws IOException {
        root = FileCalls.open(directory.toString().getBytes(StandardCharsets.UTF_8), DIRECTORY);
        here = open(root, ".", DIRECTORY);
    }

    /** Makes a directory and goes there. */
    public void enter(String name) throws IOException {
        FileCalls.mkdirat(here, bytes(name), 0700);
        go(open(here, name, DIRECTORY));
    }

    /** Goes up again, and gives the directory its attributes: before, they would be changed or in the way. */
    public void leave(NodeAttributes attributes) throws IOException {
        apply(here, attributes);
        go(open(here, "..", DIRECTORY));
    }

    /** What {@link #leave} is for the root. */
    public void finish(NodeAttributes attributes) throws IOException {
        apply(root, attributes);
    }

    /** A new file to be written. */
    public NewFile file(String name) throws IOException {
        return new NewFile(FileCalls.openat(
                here,
                bytes(name),
                FileCalls.O_WRONLY | FileCalls.O_CREAT | FileCalls.O_EXCL | FileCalls.O_NOFOLLOW,
                PRIVATE));
    }

    public void link(String name, String target, NodeAttributes attributes) throws IOException {
        FileCalls.symlinkat(bytes(target), here, bytes(name));
        try (Fd made = node(name)) {
            // The mode of a link means nothing and cannot be changed, see symlink(7).
            FileCalls.chown(made, new Owner(attributes.uid(), attributes.gid()));
            finish(made, attributes);
        }
    }

    /** A second name for a file of this tree, made before. */
    public void hardLink(String name, List<String> existing) throws IOException {
        try (Fd directory = directory(existing.subList(0, existing.size() - 1))) {
            FileCalls.linkat(directory, bytes(existing.getLast()), here, bytes(name));
        }
    }

    public void fifo(String name, NodeAttributes attributes) throws IOException {
        node(name, S_IFIFO, 0, attributes);
    }

    /** A device, such as 0/0, by which overlayfs remembers that a file of the template was deleted. */
    public void device(String name, boolean block, int major, int minor, NodeAttributes attributes) throws IOException {
        node(name, block ? S_IFBLK : S_IFCHR, device(major, minor), attributes);
    }

    private void node(String name, int type, long device, NodeAttributes attributes) throws IOException {
        FileCalls.mknodat(here, bytes(name), type | PRIVATE, device);
        try (Fd made = node(name)) {
            apply(made, attributes);
        }
    }

    /** A file that is being written; its attributes come last. */
    public static final class NewFile implements AutoCloseable {
        private final Fd fd;

        NewFile(Fd fd) {
            this.fd = fd;
        }

        public void write(byte[] bytes, int length, long position) throws IOException {
            FileCalls.pwrite(fd, bytes, 0, length, position);
        }

        /** Gives it a size; what was not written is a hole. */
        public void size(long size) throws IOException {
            FileCalls.ftruncate(fd, size);
        }

        public void finish(NodeAttributes attributes) throws IOException {
            apply(fd, attributes);
        }

        @Override
        public void close() {
            fd.close();
        }
    }

    @Override
    public void close() {
        here.close();
        root.close();
    }

    /** A change of owner takes setuid bits and capabilities away (chown(2)), so it is first; the time is last. */
    static void apply(Fd fd, NodeAttributes attributes) throws ErrnoException {
        FileCalls.chown(fd, new Owner(attributes.uid(), attributes.gid()));
        FileCalls.chmod(fd, attributes.mode());
        finish(fd, attributes);
    }

    static void finish(Fd fd, NodeAttributes attributes) throws ErrnoException {
        for (Map.Entry<String, String> xattr : attributes.xattrs().entrySet()) {
            FileCalls.setxattr(fd, bytes(xattr.getKey()), bytes(xattr.getValue()));
        }
        FileCalls.utimens(fd, attributes.seconds(), attributes.nanos());
    }

    private Fd node(String name) throws ErrnoException {
        return open(here, name, FileCalls.O_PATH | FileCalls.O_NOFOLLOW);
    }

    /** Walks down from the root, over no link, in pieces that are no longer than the kernel takes. */
    private Fd directory(List<String> path) throws ErrnoException {
        Fd reached = open(root, ".", DIRECTORY);
        StringBuilder piece = new StringBuilder();
        for (int i = 0; i < path.size(); i++) {
            piece.append(path.get(i)).append('/');
            if (piece.length() > LONGEST_PATH || i == path.size() - 1) {
                try (Fd before = reached) {
                    reached = FileCalls.openat2(
                            before,
                            bytes(piece.toString()),
                            FileCalls.O_PATH | FileCalls.O_DIRECTORY,
                            FileCalls.RESOLVE_BENEATH | FileCalls.RESOLVE_NO_SYMLINKS);
                }
                piece.setLength(0);
            }
        }
        return reached;
    }

    private void go(Fd there) {
        here.close();
        here = there;
    }

    private static Fd open(Fd directory, String name, int flags) throws ErrnoException {
        return FileCalls.openat(directory, bytes(name), flags, 0);
    }

    private static byte[] bytes(String name) {
        return name.getBytes(ISO_8859_1);
    }

    /** makedev(3), as glibc packs it. */
    private static long device(int major, int minor) {
        return (major & 0xfffffL & ~0xfffL) << 32
                | (major & 0xfffL) << 8
                | (minor & 0xffffff00L) << 12
                | (minor & 0xffL);
    }
}
