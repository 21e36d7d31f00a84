package dev.berth.sandbox.local.pack;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.files.NodeAttributes;
import dev.berth.sandbox.local.files.TreeMaker;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Makes a tree again of what {@link TreePacker} wrote.
 *
 * <p>GNU tar could write what it cannot read: paths longer than the kernel takes at once (PATH_MAX). And it looks up the
 * whole path of everything it makes, so that links among the files have to be made last, for their sake and for that of
 * the machine. Here nothing is looked up: the stream goes through the tree depth first, so that each node belongs into the
 * directory made last or into one above it, and anything else is refused. See {@link TreeMaker}.
 */
public final class TreeUnpacker {
    private static final int BUFFER = 256 * 1024;
    /** As many as a file of 64 GB has if every other block is a hole. */
    private static final int MOST_PIECES = 16 << 20;

    private final TarReader packed;
    private final TreeMaker tree;
    private final byte[] buffer = new byte[BUFFER];
    /** The directories on the way to where the tree maker stands, without the root. */
    private final List<Open> open = new ArrayList<>();

    private record Open(String name, NodeAttributes attributes) {}

    private TreeUnpacker(TarReader packed, TreeMaker tree) {
        this.packed = packed;
        this.tree = tree;
    }

    /**
     * Fills an empty directory; it gets the attributes of the one that was packed. If that fails, what is there by then
     * is the caller's to remove.
     *
     * @throws SandboxException {@code invalid} if the content is incomplete or something else than packed files
     */
    public static void unpack(Path content, Path directory) throws IOException {
        PlatformWork.run("unpack", () -> {
            try (InputStream in = new BufferedInputStream(Files.newInputStream(content), BUFFER);
                    TreeMaker tree = new TreeMaker(directory)) {
                new TreeUnpacker(new TarReader(in), tree).run();
            } catch (NoSuchFileException e) {
                throw SandboxException.notFound("there are no packed files at " + content);
            }
        });
    }

    private void run() throws IOException {
        Member root = packed.next()
                .filter(first ->
                        first.type() == Member.Type.DIRECTORY && first.path().isEmpty())
                .orElseThrow(() -> TarReader.damaged("it does not begin with a directory"));
        for (var next = packed.next(); next.isPresent(); next = packed.next()) {
            PlatformWork.checkInterrupt();
            Member member = next.get();
            if (member.path().isEmpty()) {
                throw TarReader.damaged("it has two roots");
            }
            goTo(member.parents());
            make(member);
        }
        goTo(List.of());
        tree.finish(root.attributes());
    }

    /** Leaves directories until it is in one that was entered and not yet left. */
    private void goTo(List<String> directory) throws IOException {
        int shared = 0;
        while (shared < open.size()
                && shared < directory.size()
                && open.get(shared).name().equals(directory.get(shared))) {
            shared++;
        }
        if (shared < directory.size()) {
            throw TarReader.damaged("it has a file in a directory that is not there");
        }
        while (open.size() > shared) {
            tree.leave(open.removeLast().attributes());
        }
    }

    private void make(Member member) throws IOException {
        String name = member.name();
        switch (member.type()) {
            case DIRECTORY -> {
                tree.enter(name);
                open.add(new Open(name, member.attributes()));
            }
            case FILE -> file(member);
            case HARD_LINK -> tree.hardLink(name, TarReader.target(member));
            case LINK -> tree.link(name, member.target(), member.attributes());
            case FIFO -> tree.fifo(name, member.attributes());
            case CHARACTER_DEVICE -> tree.device(name, false, member.major(), member.minor(), member.attributes());
            case BLOCK_DEVICE -> tree.device(name, true, member.major(), member.minor(), member.attributes());
        }
    }

    private void file(Member member) throws IOException {
        try (TreeMaker.NewFile file = tree.file(member.name())) {
            if (member.holes().isPresent()) {
                pieces(file, member.size());
                file.size(member.holes().getAsLong());
            } else {
                copy(file, 0, member.size());
            }
            file.finish(member.attributes());
        }
    }

    /** The map is how many pieces there are, then where each begins and how long it is; it is padded to a block. */
    private void pieces(TreeMaker.NewFile file, long size) throws IOException {
        long count = packed.readNumber();
        if (count > MOST_PIECES) {
            throw TarReader.damaged("it has a file with too many holes");
        }
        long[] map = new long[16];
        int read = 0;
        while (read < 2 * count) {
            if (read == map.length) {
                map = Arrays.copyOf(map, 2 * map.length);
            }
            map[read++] = packed.readNumber();
        }
        packed.read(buffer, Math.floorMod(packed.left() - size, 512L));
        for (int i = 0; i < read; i += 2) {
            copy(file, map[i], map[i + 1]);
        }
    }

    private void copy(TreeMaker.NewFile file, long position, long length) throws IOException {
        long done = 0;
        while (done < length) {
            PlatformWork.checkInterrupt();
            int n = packed.read(buffer, length - done);
            if (n == 0) {
                throw TarReader.damaged("a file is shorter than it should be");
            }
            file.write(buffer, n, position + done);
            done += n;
        }
    }
}
