package dev.berth.sandbox.local;

import dev.berth.sandbox.Mount;
import dev.berth.sandbox.local.files.MountTarget;
import dev.berth.sandbox.local.linux.Directories;
import dev.berth.sandbox.local.linux.IdMap;
import dev.berth.sandbox.local.linux.Mounts;
import dev.berth.sandbox.local.linux.ProcessLock;
import dev.berth.sandbox.local.store.Store;
import dev.berth.sandbox.local.template.Template;
import java.io.IOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.json.JsonMapper;

/**
 * The directory of one sandbox on the host.
 *
 * <pre>
 * lock          held by the process that serves the sandbox
 * record.json   what it is; absent until it is completely made
 * root/         where its root filesystem is mounted, in the machine's mount namespace, so that it outlives the server
 * link/         the socket the guest dials, mounted into the sandbox
 * bundle/       config.json for the runtime
 * runtime/      the runtime's own state
 * boot_id, runtime.log
 * </pre>
 *
 * The runtime walks to root/ as the sandbox's root user, so directories on the way can be passed by it. The directory of
 * all boxes can be passed by nobody else but root: what is mounted here holds setuid programs and people's files.
 */
final class Box {
    private static final Logger LOG = LoggerFactory.getLogger(Box.class);
    static final String SOCKET = "guest.sock";
    static final Set<PosixFilePermission> OWNER_ONLY_FILE = PosixFilePermissions.fromString("rw-------");
    private static final FileAttribute<Set<PosixFilePermission>> PASSABLE =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx--x--x"));
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private final String name;
    private final Path directory;
    private @Nullable ProcessLock lock;
    private @Nullable BoxRecord prepared;

    Box(Path boxes, String name) {
        this.name = name;
        this.directory = boxes.resolve(name);
    }

    String name() {
        return name;
    }

    Path root() {
        return directory.resolve("root");
    }

    Path link() {
        return directory.resolve("link");
    }

    Path socket() {
        return link().resolve(SOCKET);
    }

    Path bundle() {
        return directory.resolve("bundle");
    }

    Path runtimeState() {
        return directory.resolve("runtime");
    }

    Path runtimeLog() {
        return directory.resolve("runtime.log");
    }

    Path bootId() {
        return directory.resolve("boot_id");
    }

    /**
     * Makes the box and takes it. Returns false if somebody who sweeps up took it for a leftover before it was taken:
     * then it is gone, or will be.
     */
    boolean make() throws IOException {
        makeDirectory(directory);
        lock = ProcessLock.tryAcquire(lockFile()).orElse(null);
        if (lock == null) {
            return false;
        }
        makeDirectory(root());
        makeDirectory(link());
        makeDirectory(bundle());
        return true;
    }

    /** Takes the box for this process. Returns false if it is taken, by this process or another that lives, or gone. */
    boolean lock() {
        lock = ProcessLock.tryAcquireExisting(lockFile()).orElse(null);
        return lock != null;
    }

    void unlock() {
        if (lock != null) {
            lock.close();
            lock = null;
        }
    }

    Optional<BoxRecord> record() throws IOException {
        try {
            return Optional.of(JSON.readValue(Files.readAllBytes(recordFile()), BoxRecord.class));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    /** Replaces the record at once: after a crash it is the old or the new one. */
    void record(BoxRecord record) throws IOException {
        if (!record.equals(prepared)) {
            prepareRecord(record);
        }
        prepared = null;
        Files.move(partialRecord(), recordFile(), StandardCopyOption.ATOMIC_MOVE);
    }

    /** Does the greater part of {@link #record(BoxRecord)}, for when there is time. */
    void prepareRecord(BoxRecord record) throws IOException {
        Path partial = partialRecord();
        Files.write(partial, JSON.writeValueAsBytes(record));
        Files.setPosixFilePermissions(partial, OWNER_ONLY_FILE);
        prepared = record;
    }

    private Path partialRecord() {
        return directory.resolve("record.json.partial");
    }

    /** A boot of its own, see random(4). */
    void newBootId() throws IOException {
        Files.writeString(bootId(), UUID.randomUUID() + "\n");
    }

    /**
     * Mounts the root: the tree over the template, what the template wants to see of the host, and volumes. A runtime
     * binds all of it together, so that processes inside see the same files as the server does from here.
     */
    void mount(Store store, String tree, Template template, List<Mount> volumes) throws IOException {
        mount(store, tree, template, volumes, _ -> {});
    }

    /** As {@link #mount}, for a sandbox that was up before and may have put something else at the places of volumes. */
    void mountAgain(Store store, String tree, Template template, List<Mount> volumes) throws IOException {
        mount(
                store,
                tree,
                template,
                volumes,
                path -> MountTarget.clear(root(), path)
                        .ifPresent(moved ->
                                LOG.warn("box {}: moved aside what was in the way of a volume: {}", name, moved)));
    }

    private interface Clearing {
        void at(String path) throws IOException;
    }

    /** All of it or nothing: half a root would be taken for a whole one. */
    private void mount(Store store, String tree, Template template, List<Mount> volumes, Clearing clearing)
            throws IOException {
        boolean done = false;
        try {
            mountParts(store, tree, template, volumes, clearing);
            done = true;
        } finally {
            if (!done) {
                unmount();
            }
        }
    }

    private void mountParts(Store store, String tree, Template template, List<Mount> volumes, Clearing clearing)
            throws IOException {
        String layers = "lowerdir=" + escape(template.root()) + ",upperdir=" + escape(store.upper(tree)) + ",workdir="
                + escape(store.work(tree)) + ",redirect_dir=on";
        long flags = Mounts.NODEV | (template.sudo() ? 0 : Mounts.NOSUID);
        Mounts.mount("overlay", "berth-" + name, root(), flags, layers);
        for (String path : template.readOnlyHostPaths()) {
            Path target = Path.of(root() + path);
            if (!Files.isDirectory(target, LinkOption.NOFOLLOW_LINKS)) {
                throw new IOException(path + " is not a directory in the sandbox any more");
            }
            Mounts.bindReadOnly(Path.of(path), target);
        }
        for (Mount volume : volumes) {
            clearing.at(volume.path());
            // What is at its place is the sandbox's own doing, and may be a link to anywhere.
            try (MountTarget target = MountTarget.find(root(), volume.path())) {
                Mounts.bind(LocalVolumes.directory(store, volume.volume()), target.path());
            }
            // Who removes it looks for mounts once more after its marker is gone, so one of the two sees the other.
            LocalVolumes.require(store, volume.volume());
            // Found anew: a descriptor of before is of what is covered now.
            try (MountTarget covered = MountTarget.find(root(), volume.path())) {
                Mounts.tame(covered.path());
            }
        }
    }

    /** Whether each volume is where it belongs: a mount goes along when a directory above it is renamed. */
    boolean inPlace(Store store, List<Mount> volumes) throws IOException {
        for (Mount volume : volumes) {
            Path place = Path.of(root() + volume.path());
            if (!Mounts.places(LocalVolumes.directory(store, volume.volume())).contains(place)) {
                return false;
            }
        }
        return true;
    }

    /** A mounted root is another device than the directory it is in; nothing the sandbox does can change that. */
    boolean mounted() throws IOException {
        return !Files.getAttribute(root(), "unix:dev").equals(Files.getAttribute(directory, "unix:dev"));
    }

    void unmount() throws IOException {
        while (Mounts.unmount(root())) {
            // Until nothing is left there: a crash between two mounts may have left either.
            Thread.onSpinWait();
        }
    }

    /** Only the sandbox's root user may dial; a token says whether it is the guest. */
    void protectSocket() throws IOException {
        Files.setAttribute(socket(), "unix:uid", IdMap.toHost(0));
        Files.setAttribute(socket(), "unix:gid", IdMap.toHost(0));
        Files.setPosixFilePermissions(socket(), OWNER_ONLY_FILE);
    }

    /** The name for a tree that is to replace another of this box. */
    String nextTree(String before) {
        int generation = Integer.parseInt(before.substring(before.lastIndexOf('.') + 1));
        return name + "." + (generation + 1);
    }

    String firstTree() {
        return name + ".1";
    }

    /** The box that a tree is or was one of. */
    static Optional<String> boxOf(String tree) {
        int dot = tree.lastIndexOf('.');
        return dot < 0 ? Optional.empty() : Optional.of(tree.substring(0, dot));
    }

    /** What the runtime remembers of processes that are gone would keep it from starting new ones. */
    void clearRuntimeState() throws IOException {
        Directories.remove(runtimeState());
    }

    /** Takes the record away, by which a box is a sandbox and not a leftover. */
    void forget() throws IOException {
        Files.deleteIfExists(recordFile());
    }

    /** The lock goes last but for the directory itself: what has none is empty. */
    void delete() throws IOException {
        try (DirectoryStream<Path> parts = Files.newDirectoryStream(directory, part -> !part.equals(lockFile()))) {
            for (Path part : parts) {
                Directories.remove(part);
            }
        } catch (NoSuchFileException e) {
            // Somebody was there before.
        }
        Directories.remove(directory);
        unlock();
    }

    /** Removes what was left between the making of the directory and that of its lock, or between their removals. */
    void deleteIfEmpty() throws IOException {
        try {
            Files.deleteIfExists(directory);
        } catch (DirectoryNotEmptyException e) {
            // It has a lock, and so an owner.
        }
    }

    private Path lockFile() {
        return directory.resolve("lock");
    }

    private Path recordFile() {
        return directory.resolve("record.json");
    }

    Path directory() {
        return directory;
    }

    private static void makeDirectory(Path path) throws IOException {
        Files.createDirectory(path, PASSABLE);
    }

    /** Overlayfs splits its options at commas and its layers at colons. */
    private static String escape(Path path) {
        return path.toString().replace("\\", "\\\\").replace(",", "\\,").replace(":", "\\:");
    }
}
