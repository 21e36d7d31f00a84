package dev.berth.sandbox.local;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxId;
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

    private final Machine machine;
    private final Checkpoints checkpoints;

    Boxes(Machine machine, Checkpoints checkpoints) {
        this.machine = machine;
        this.checkpoints = checkpoints;
    }

    /** A new box, held by this process. */
    Box make() throws IOException {
        Box box = new Box(machine.boxes(), Names.random(""));
        box.make();
        return box;
    }

    List<Box> all() throws IOException {
        List<Box> all = new ArrayList<>();
        for (String name : names()) {
            all.add(new Box(machine.boxes(), name));
        }
        return all;
    }

    Optional<Box> find(SandboxId id) throws IOException {
        try {
            String name = Files.readSymbolicLink(link(id)).toString();
            Box box = new Box(machine.boxes(), name);
            return Files.isDirectory(box.directory()) ? Optional.of(box) : Optional.empty();
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    /** Ties a name to a box; one of them only, whoever else tries at the same moment. */
    void reserve(SandboxId id, Box box) throws IOException {
        try {
            Files.createSymbolicLink(link(id), Path.of(box.name()));
        } catch (FileAlreadyExistsException e) {
            if (find(id).isPresent()) {
                throw SandboxException.conflict("there is a sandbox " + id + " already");
            }
            Files.deleteIfExists(link(id));
            Files.createSymbolicLink(link(id), Path.of(box.name()));
        }
    }

    void release(SandboxId id) {
        try {
            Files.deleteIfExists(link(id));
        } catch (IOException e) {
            LOG.warn("could not remove the name of sandbox {}", id, e);
        }
    }

    /** Removes a box that never became a sandbox. */
    void discard(Box box, BoxRecord record) {
        try {
            LocalSandbox.remove(machine, box, record.tree());
            if (record.id().isPresent()
                    && Files.isSymbolicLink(link(record.sandboxId()))
                    && Files.readSymbolicLink(link(record.sandboxId()))
                            .toString()
                            .equals(box.name())) {
                release(record.sandboxId());
            }
        } catch (IOException | SandboxException e) {
            LOG.warn("could not remove the half-made box {}; the next start will", box.name(), e);
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

    Set<String> templatesInUse() throws IOException {
        Set<String> used = new HashSet<>(checkpoints.templatesInUse());
        for (Box box : all()) {
            box.record().map(BoxRecord::template).ifPresent(used::add);
        }
        return used;
    }

    /**
     * Removes what no process holds and no sandbox needs. A tree or cgroup never exists without its box, nor a name
     * without one, so what does is left from a crash.
     */
    void sweep() throws IOException {
        checkpoints.sweep();
        for (Box box : all()) {
            if (box.lock()) {
                Optional<BoxRecord> record = box.record();
                if (record.isEmpty() || record.get().ephemeral()) {
                    LOG.info("removing box {}, left by a process that is gone", box.name());
                    removeBox(box);
                } else {
                    box.unlock();
                }
            }
        }
        Set<String> boxes = new HashSet<>(names());
        for (String group : machine.cgroups().sandboxes()) {
            if (!boxes.contains(group)) {
                LocalSandbox.removeCgroup(machine, group);
            }
        }
        for (String tree : machine.store().trees()) {
            if (Box.boxOf(tree).filter(name -> !boxes.contains(name)).isPresent()) {
                machine.store().delete(tree);
            }
        }
        try (DirectoryStream<Path> links = Files.newDirectoryStream(machine.ids())) {
            for (Path link : links) {
                if (!boxes.contains(Files.readSymbolicLink(link).toString())) {
                    Files.deleteIfExists(link);
                }
            }
        }
    }

    private void removeBox(Box box) throws IOException {
        List<String> trees = machine.store().trees().stream()
                .filter(tree -> Box.boxOf(tree).equals(Optional.of(box.name())))
                .toList();
        LocalSandbox.removeCgroup(machine, box.name());
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

    private Path link(SandboxId id) {
        return machine.ids().resolve(id.value());
    }
}
