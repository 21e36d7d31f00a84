package dev.berth.sandbox.local;

import dev.berth.sandbox.Account;
import dev.berth.sandbox.Mount;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxFiles;
import dev.berth.sandbox.Volumes;
import dev.berth.sandbox.local.files.RootFiles;
import dev.berth.sandbox.local.linux.IdMap;
import dev.berth.sandbox.local.linux.Mounts;
import dev.berth.sandbox.local.store.Store;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Volumes as trees of the store, beside those of sandboxes. Their names have no dot, by which the trees of boxes are known,
 * so nobody sweeps them up.
 */
final class LocalVolumes implements Volumes {
    static final long MOST_BYTES = 16L << 30;

    private static final String TREE = "volume-";
    private static final Pattern ID = Pattern.compile("[a-z0-9][a-z0-9-]{0,62}");
    /** Sandboxes have users of any numbers, and all of them may be meant to write. */
    private static final String PERMISSIONS = "rwxrwxrwx";
    /** Beside its files, and made last: a tree without it was not finished. */
    private static final String COMPLETE = "volume";

    private static final int ROOT = 0;

    private final Store store;
    private final Boxes boxes;
    /** The volumes of sandboxes that are being made, once for each of those. Guarded by this. */
    private final List<String> held = new ArrayList<>();

    LocalVolumes(Store store, Boxes boxes) {
        this.store = store;
        this.boxes = boxes;
    }

    static Path directory(Store store, String id) {
        return store.upper(tree(id));
    }

    private static String tree(String id) {
        if (!ID.matcher(id).matches()) {
            throw SandboxException.invalid("a volume's id has letters, digits and dashes, not '" + id + "'");
        }
        return TREE + id;
    }

    @Override
    public synchronized void make(String id) {
        requireLimits();
        if (exists(id)) {
            return;
        }
        try {
            store.delete(tree(id)); // what a crash left of one
            store.create(tree(id));
            store.limit(tree(id), MOST_BYTES);
            Path directory = directory(store, id);
            Files.setAttribute(directory, "unix:uid", IdMap.toHost(0));
            Files.setAttribute(directory, "unix:gid", IdMap.toHost(0));
            Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString(PERMISSIONS));
            Files.createFile(store.directory(tree(id)).resolve(COMPLETE));
        } catch (IOException e) {
            throw SandboxException.unavailable("could not make volume " + id + ": " + e.getMessage(), e);
        }
    }

    @Override
    public boolean exists(String id) {
        return exists(store, id);
    }

    private static boolean exists(Store store, String id) {
        return Files.exists(marker(store, id), LinkOption.NOFOLLOW_LINKS);
    }

    private static Path marker(Store store, String id) {
        return store.directory(tree(id)).resolve(COMPLETE);
    }

    static void require(Store store, String id) {
        if (!exists(store, id)) {
            throw SandboxException.notFound("there is no volume " + id);
        }
    }

    /** Volumes that are not removed until this is closed. */
    interface Hold extends AutoCloseable {
        @Override
        void close();
    }

    /** For as long as a sandbox with these is being made: its record, which says that it has them, comes last. */
    synchronized Hold hold(List<Mount> mounts) {
        if (!mounts.isEmpty()) {
            requireLimits();
        }
        List<String> ids = mounts.stream().map(Mount::volume).toList();
        ids.forEach(id -> require(store, id));
        held.addAll(ids);
        return () -> letGo(ids);
    }

    private void requireLimits() {
        if (!store.enforcesLimits()) {
            throw SandboxException.unsupported(
                    "this machine has no volumes, as it cannot limit how much is in them: its"
                            + " data directory is not on btrfs and no pool could be made; see `berth doctor`");
        }
    }

    private synchronized void letGo(List<String> ids) {
        ids.forEach(held::remove);
    }

    @Override
    public List<String> list() {
        try {
            List<String> ids = new ArrayList<>();
            store.trees().stream()
                    .filter(tree -> tree.startsWith(TREE) && tree.indexOf('.') < 0)
                    .map(tree -> tree.substring(TREE.length()))
                    .filter(this::exists)
                    .forEach(ids::add);
            return ids;
        } catch (IOException e) {
            throw SandboxException.unavailable("could not list the volumes: " + e.getMessage(), e);
        }
    }

    @Override
    public SandboxFiles files(String id) {
        require(store, id);
        Path directory = directory(store, id);
        return new RootFiles(() -> directory, ROOT, ROOT, "/", LocalVolumes::nobody);
    }

    private static Account nobody(String user) {
        throw SandboxException.invalid("a volume has no user '" + user + "'; use numbers");
    }

    @Override
    public long used(String id) {
        require(store, id);
        try {
            return store.used(tree(id));
        } catch (IOException e) {
            throw SandboxException.unavailable("could not measure volume " + id + ": " + e.getMessage(), e);
        }
    }

    @Override
    public synchronized void remove(String id) {
        try {
            requireUnused(id);
            // From here on nobody can begin to use it, and what a crash leaves of it is no volume.
            boolean was = Files.deleteIfExists(marker(store, id));
            try {
                requireUnused(id);
            } catch (SandboxException e) {
                // Another process on this data directory has mounted it in between.
                if (was) {
                    Files.createFile(marker(store, id));
                }
                throw e;
            }
            store.delete(tree(id));
        } catch (IOException e) {
            throw SandboxException.unavailable("could not remove volume " + id + ": " + e.getMessage(), e);
        }
    }

    /** A sandbox that is going has no record any more, but its processes may live for as long as its root is mounted. */
    private void requireUnused(String id) throws IOException {
        if (held.contains(id)
                || boxes.haveVolume(id)
                || !Mounts.places(directory(store, id)).isEmpty()) {
            throw SandboxException.conflict("volume " + id + " is mounted in a sandbox; remove the sandbox first");
        }
    }
}
