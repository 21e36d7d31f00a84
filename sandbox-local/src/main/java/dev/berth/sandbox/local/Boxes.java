package dev.berth.sandbox.local;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.local.linux.ProcessLock;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The boxes of a data directory, the names they are known by ({@code ids/<sandbox> -> <box>}, made and removed in one
 * step), and the sweeping up after crashes.
 */
final class Boxes {
    private static final Logger LOG = LoggerFactory.getLogger(Boxes.class);

    /** How often something is tried that others may be in the way of at the same moment. */
    private static final int ATTEMPTS = 10;

    private final Machine machine;
    private final Checkpoints checkpoints;

    Boxes(Machine machine, Checkpoints checkpoints) {
        this.machine = machine;
        this.checkpoints = checkpoints;
    }

    /** A new box, held by this process. */
    Box make() throws IOException {
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            Box box = new Box(machine.boxes(), Names.random(""));
            if (box.make()) {
                return box;
            }
        }
        throw new IOException("new boxes vanish from " + machine.boxes());
    }

    List<Box> all() throws IOException {
        List<Box> all = new ArrayList<>();
        for (String name : names()) {
            all.add(new Box(machine.boxes(), name));
        }
        return all;
    }

    /** The box of a name, if it is one of a sandbox: something left by a crash is removed, and then there is none. */
    Optional<Box> find(SandboxId id) throws IOException {
        Optional<Box> named = named(link(id));
        return named.isPresent() && removeIfLeftover(named.get()) ? Optional.empty() : named;
    }

    private Optional<Box> named(Path link) throws IOException {
        try {
            Box box = new Box(machine.boxes(), Files.readSymbolicLink(link).toString());
            return Files.isDirectory(box.directory()) ? Optional.of(box) : Optional.empty();
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    /**
     * Ties a name to a box; one of them only, whoever else tries at the same moment. A name is made in one step, which
     * fails if it is there. It is taken away from a box that is gone only under the lock of all names, so that nobody
     * takes it from the one who was given it meanwhile.
     */
    void reserve(SandboxId id, Box box) throws IOException {
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            try {
                Files.createSymbolicLink(link(id), Path.of(box.name()));
                return;
            } catch (FileAlreadyExistsException e) {
                if (find(id).isPresent()) {
                    throw SandboxException.conflict("there is a sandbox " + id + " already");
                }
                releaseDangling(link(id));
            }
        }
        throw SandboxException.conflict("others are making and removing sandbox " + id + " right now");
    }

    /** Takes a name away from a box; nothing happens if another has it. */
    void release(SandboxId id, Box box) {
        try (var _ = ProcessLock.acquire(namesLock())) {
            if (Files.readSymbolicLink(link(id)).toString().equals(box.name())) {
                Files.deleteIfExists(link(id));
            }
        } catch (NoSuchFileException e) {
            // It has none.
        } catch (IOException | SandboxException e) {
            LOG.warn("could not remove the name of sandbox {}; it will be tried again", id, e);
        }
    }

    /**
     * Takes away a name whose box is gone. That it is there has to be seen under the lock: one that is not there is no
     * longer, or not yet, and whoever makes it next does so without the lock and would lose it.
     */
    private void releaseDangling(Path link) throws IOException {
        try (var _ = ProcessLock.acquire(namesLock())) {
            Box box = new Box(machine.boxes(), Files.readSymbolicLink(link).toString());
            if (!Files.isDirectory(box.directory())) {
                Files.deleteIfExists(link);
            }
        } catch (NoSuchFileException e) {
            // Somebody else was first.
        }
    }

    /** Removes a box that never became a sandbox. */
    void discard(Box box, BoxRecord record) {
        try {
            LocalSandbox.remove(machine, box, record.tree());
            record.id().map(SandboxId::new).ifPresent(id -> release(id, box));
        } catch (IOException | SandboxException e) {
            LOG.warn("could not remove the half-made box {}; it will be tried again", box.name(), e);
            box.unlock();
        }
    }

    /** A rollback that was cut short leaves a tree beside the one in use. */
    void removeStaleTrees(Box box, BoxRecord record) throws IOException {
        for (String tree : machine.store().trees()) {
            if (Box.boxOf(tree).equals(Optional.of(box.name())) && !tree.equals(record.tree())) {
                machine.store().delete(tree);
            }
        }
    }

    /** Whether any sandbox has a volume. */
    boolean haveVolume(String volume) throws IOException {
        for (Box box : all()) {
            if (box.record().stream()
                    .flatMap(record -> record.mounts().stream())
                    .anyMatch(mount -> mount.volume().equals(volume))) {
                return true;
            }
        }
        return false;
    }

    Set<String> templatesInUse() throws IOException {
        Set<String> used = new HashSet<>(checkpoints.templatesInUse());
        for (Box box : all()) {
            box.record().map(BoxRecord::template).ifPresent(used::add);
        }
        return used;
    }

    /**
     * Removes what no process holds and no sandbox needs, while this process and others may be making and removing
     * sandboxes. A tree or cgroup never exists without its box, nor a name without one, so what does is left from a
     * crash. They are listed before the boxes: the box of one that is there already is not still to come.
     */
    void sweep() throws IOException {
        attempt("checkpoints", checkpoints::sweep);
        for (Box box : all()) {
            attempt(box.name(), () -> removeIfLeftover(box));
        }
        List<String> groups = machine.cgroups().sandboxes();
        List<String> trees = machine.store().trees();
        Set<String> boxes = new HashSet<>(names());
        for (String group : groups) {
            if (!boxes.contains(group)) {
                attempt(group, () -> LocalSandbox.removeCgroup(machine, group));
            }
        }
        for (String tree : trees) {
            if (Box.boxOf(tree).filter(name -> !boxes.contains(name)).isPresent()) {
                attempt(tree, () -> machine.store().delete(tree));
            }
        }
        attempt("links and rules of the network", machine.network()::sweep);
        try (DirectoryStream<Path> links = Files.newDirectoryStream(machine.ids())) {
            for (Path link : links) {
                attempt(link.toString(), () -> releaseIfDangling(link));
            }
        }
    }

    private interface Step {
        void run() throws IOException;
    }

    /** One thing that cannot be removed does not keep the others, nor a server from its start. */
    private static void attempt(String what, Step step) {
        try {
            step.run();
        } catch (IOException | SandboxException e) {
            LOG.warn("could not sweep up {}; it will be tried again", what, e);
        }
    }

    private void releaseIfDangling(Path link) throws IOException {
        if (named(link).isEmpty()) {
            releaseDangling(link);
        }
    }

    /**
     * Removes a box without a record, or of a sandbox that was to go with its process, if nobody holds it. Returns
     * whether it is gone. Boxes of other sandboxes are not even locked: that would be in the way of whoever takes them up.
     */
    boolean removeIfLeftover(Box box) throws IOException {
        if (!leftover(box)) {
            return false;
        }
        if (!box.lock()) {
            box.deleteIfEmpty();
            return !Files.exists(box.directory());
        }
        boolean removed = false;
        try {
            // Until it was locked, its owner may have completed it.
            if (leftover(box)) {
                LOG.info("removing box {}, left by a process that is gone", box.name());
                removeBox(box);
                removed = true;
            }
        } finally {
            box.unlock();
        }
        return removed;
    }

    private static boolean leftover(Box box) throws IOException {
        return box.record().map(BoxRecord::ephemeral).orElse(true);
    }

    private void removeBox(Box box) throws IOException {
        List<String> trees = machine.store().trees().stream()
                .filter(tree -> Box.boxOf(tree).equals(Optional.of(box.name())))
                .toList();
        box.forget();
        LocalSandbox.removeCgroup(machine, box.name());
        machine.network().disconnect(box.name());
        box.unmount();
        for (String tree : trees) {
            machine.store().delete(tree);
        }
        box.delete();
    }

    private List<String> names() throws IOException {
        List<String> names = new ArrayList<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(
                machine.boxes(), entry -> Files.isDirectory(entry, LinkOption.NOFOLLOW_LINKS))) {
            entries.forEach(entry -> names.add(entry.getFileName().toString()));
        }
        return names;
    }

    /** Held to take a name away; never removed. */
    private Path namesLock() {
        return machine.data().resolve("ids.lock");
    }

    private Path link(SandboxId id) {
        return machine.ids().resolve(id.value());
    }
}
