package dev.berth.sandbox.local.pack;

import com.github.luben.zstd.ZstdInputStream;
import dev.berth.sandbox.local.files.ArchiveTree;
import dev.berth.sandbox.local.files.NodeAttributes;
import dev.berth.sandbox.local.files.TreeMaker;
import dev.berth.sandbox.local.linux.IdMap;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;

/**
 * Makes files of a tar file that somebody sent, below one directory whatever it says; see {@link ArchiveTree}. Owners are
 * those of a sandbox, so shifted. Devices are passed over: a sandbox has its own.
 */
public final class ArchiveUnpacker {
    private static final int BUFFER = 256 * 1024;
    private static final int NOBODY = 65_534;
    private static final String WHITEOUT = ".wh.";
    private static final String OPAQUE = ".wh..wh..opq";

    private final ArchiveReader archive;
    private final ArchiveTree tree;
    private final Allowance allowance;
    private final byte[] buffer = new byte[BUFFER];
    /** The nodes of the archive, with the directories on the way to them. */
    private final PathSet made = new PathSet();

    private final PathSet emptied = new PathSet();

    /** What may be made of archives that are unpacked together, and how much of them is read. */
    public record Bounds(long bytes, long nodes) {
        public static final Bounds COPY = new Bounds(8L << 30, 1 << 20);
        public static final Bounds IMAGE = new Bounds(32L << 30, 2 << 20);
    }

    private ArchiveUnpacker(InputStream plain, ArchiveTree tree, Allowance allowance) {
        this.archive = new ArchiveReader(allowance.counting(plain));
        this.tree = tree;
        this.allowance = allowance;
    }

    /** Puts an archive's files into an empty directory. */
    public static void unpack(Path content, Path directory, Bounds bounds) throws IOException {
        PlatformWork.run("unpack", () -> {
            try (InputStream in = Files.newInputStream(content);
                    InputStream plain = plain(in);
                    ArchiveTree tree = new ArchiveTree(directory)) {
                new ArchiveUnpacker(plain, tree, new Allowance(bounds)).run(false);
            }
        });
    }

    /**
     * Changes a directory by a layer of an image: what is in it is added, and what its whiteouts name goes (OCI image
     * specification, "Layer Filesystem Changeset").
     *
     * @param allowance one for all layers of the image
     */
    public static void apply(InputStream layer, Path directory, Allowance allowance) throws IOException {
        PlatformWork.run("unpack", () -> {
            try (InputStream plain = plain(layer);
                    ArchiveTree tree = new ArchiveTree(directory)) {
                new ArchiveUnpacker(plain, tree, allowance).run(true);
            }
        });
    }

    /** As it was before it was compressed, if it is; that shows in its first bytes. */
    private static InputStream plain(InputStream in) throws IOException {
        BufferedInputStream buffered = new BufferedInputStream(in, BUFFER);
        buffered.mark(4);
        byte[] magic = buffered.readNBytes(4);
        buffered.reset();
        if (magic.length >= 2 && magic[0] == 0x1f && (magic[1] & 0xff) == 0x8b) {
            return new BufferedInputStream(new GZIPInputStream(buffered, BUFFER), BUFFER);
        }
        if (magic.length == 4
                && magic[0] == 0x28
                && (magic[1] & 0xff) == 0xb5
                && magic[2] == 0x2f
                && (magic[3] & 0xff) == 0xfd) {
            return new BufferedInputStream(new ZstdInputStream(buffered), BUFFER);
        }
        return buffered;
    }

    private void run(boolean layer) throws IOException {
        try {
            for (var next = archive.next(); next.isPresent(); next = archive.next()) {
                PlatformWork.checkInterrupt();
                Member member = next.get();
                allowance.takeNode();
                if (layer && !member.path().isEmpty() && member.name().startsWith(WHITEOUT)) {
                    whiteout(member);
                } else if (!isDevice(member)) {
                    note(member.path());
                    make(member);
                }
            }
        } catch (ZipException e) {
            throw ArchiveReader.damaged("its compression is damaged");
        } catch (java.io.EOFException e) {
            throw ArchiveReader.damaged("it ends too early");
        }
    }

    private static boolean isDevice(Member member) {
        return member.type() == Member.Type.CHARACTER_DEVICE || member.type() == Member.Type.BLOCK_DEVICE;
    }

    /** Directories that nothing in the archive stands for are made all the same, so they count. */
    private void note(List<String> path) {
        made.add(path);
        for (int i = path.size() - 1; i > 0 && made.add(path.subList(0, i)); i--) {
            allowance.takeNode();
        }
    }

    private void whiteout(Member member) throws IOException {
        if (member.name().equals(OPAQUE)) {
            // An opaque directory hides what layers below have there, and not what this one does: once is enough.
            if (emptied.add(member.parents())) {
                tree.empty(member.parents(), path -> {
                    PlatformWork.checkInterrupt();
                    return made.contains(path);
                });
            }
        } else if (!member.name().startsWith(WHITEOUT + WHITEOUT)) {
            List<String> doomed = ArchiveReader.path(member.name().substring(WHITEOUT.length()));
            if (doomed.size() != 1) {
                throw ArchiveReader.damaged("it takes away something that has no name");
            }
            tree.remove(member.parents(), doomed.getFirst());
        }
    }

    private void make(Member member) throws IOException {
        if (member.path().isEmpty()) {
            return; // the directory it is unpacked into
        }
        NodeAttributes attributes = shifted(member.attributes());
        switch (member.type()) {
            case DIRECTORY -> tree.directory(member.path(), attributes);
            case FILE -> file(member, attributes);
            case HARD_LINK -> tree.hardLink(member.path(), ArchiveReader.path(member.target()));
            case LINK -> tree.link(member.path(), member.target(), attributes);
            case FIFO -> tree.fifo(member.path(), attributes);
            case CHARACTER_DEVICE, BLOCK_DEVICE -> throw new IllegalStateException("no devices are made");
        }
    }

    private void file(Member member, NodeAttributes attributes) throws IOException {
        try (TreeMaker.NewFile file = tree.file(member.path())) {
            long position = 0;
            for (int n = archive.read(buffer); n > 0; n = archive.read(buffer)) {
                PlatformWork.checkInterrupt();
                file.write(buffer, n, position);
                position += n;
            }
            file.finish(attributes);
        }
    }

    private static NodeAttributes shifted(NodeAttributes of) {
        return new NodeAttributes(of.mode(), toHost(of.uid()), toHost(of.gid()), of.seconds(), of.nanos(), of.xattrs());
    }

    private static int toHost(int id) {
        return IdMap.toHost(id < IdMap.SIZE ? id : NOBODY);
    }
}
