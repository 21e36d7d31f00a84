package dev.berth.sandbox.local.store;

import dev.berth.sandbox.local.linux.Btrfs;
import dev.berth.sandbox.local.linux.ErrnoException;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Trees as btrfs subvolumes: copying one is a snapshot, which costs the same whatever is in it, and a quota group limits
 * each.
 *
 * <p>On kernels since 6.7 the quotas are the simple kind, which accounts an extent to the subvolume that wrote it, for
 * good. A copy then starts with nothing used, so whoever makes one has to remember what it began with
 * ({@link #countsShared()}).
 */
final class BtrfsStore implements Store {
    private final Path pool;
    private final PoolFile file;
    private final boolean simpleQuota;
    private final Path qgroups;
    private final Map<String, Long> ids = new ConcurrentHashMap<>();

    private BtrfsStore(Path pool, PoolFile file, boolean simpleQuota, Path qgroups) {
        this.pool = pool;
        this.file = file;
        this.simpleQuota = simpleQuota;
        this.qgroups = qgroups;
    }

    /** @param pool a directory on btrfs, mounted for us from {@code file} or the machine's own */
    static BtrfsStore open(Path pool, PoolFile file) throws IOException {
        Files.createDirectories(pool);
        Files.setPosixFilePermissions(pool, Trees.PRIVATE);
        boolean simple = Btrfs.enableQuota(pool);
        return new BtrfsStore(pool, file, simple, Path.of("/sys/fs/btrfs", Btrfs.filesystemId(pool), "qgroups"));
    }

    @Override
    public void create(String tree) throws IOException {
        Btrfs.createSubvolume(directory(tree));
        Trees.fill(directory(tree));
    }

    @Override
    public void copy(String from, String to, boolean readOnly) throws IOException {
        Btrfs.snapshot(directory(from), directory(to), readOnly);
        if (!readOnly) {
            Trees.emptyWork(directory(to));
        }
    }

    @Override
    public boolean copiesAtomically() {
        return true;
    }

    @Override
    public void delete(String tree) throws IOException {
        ids.remove(tree);
        try {
            Btrfs.deleteSubvolume(directory(tree));
        } catch (ErrnoException e) {
            if (e.errno() != ErrnoException.ENOENT) {
                throw e;
            }
        }
    }

    @Override
    public List<String> trees() throws IOException {
        List<String> names = new ArrayList<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(pool)) {
            entries.forEach(e -> names.add(e.getFileName().toString()));
        }
        return names;
    }

    @Override
    public void limit(String tree, long bytes) throws IOException {
        Btrfs.limit(directory(tree), bytes);
    }

    @Override
    public long used(String tree) throws IOException {
        Long id = ids.get(tree);
        if (id == null) {
            id = Btrfs.subvolumeId(directory(tree));
            ids.put(tree, id);
        }
        return Long.parseLong(Files.readString(qgroups.resolve("0_" + id).resolve("referenced"))
                .strip());
    }

    @Override
    public boolean enforcesLimits() {
        return true;
    }

    @Override
    public boolean countsShared() {
        return !simpleQuota;
    }

    @Override
    public Path directory(String tree) {
        return pool.resolve(tree);
    }

    @Override
    public void unmount() throws IOException {
        file.unmount();
    }
}
