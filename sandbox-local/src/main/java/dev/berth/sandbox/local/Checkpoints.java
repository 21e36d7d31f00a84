package dev.berth.sandbox.local;

import dev.berth.sandbox.Change;
import dev.berth.sandbox.Checkpoint;
import dev.berth.sandbox.CheckpointId;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.local.linux.ProcessLock;
import dev.berth.sandbox.local.store.Changes;
import dev.berth.sandbox.local.store.Store;
import dev.berth.sandbox.local.template.Template;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.json.JsonMapper;

/**
 * The checkpoints of a data directory: for each a read-only tree and a file that says what it is. The file comes after
 * the tree and goes before it, so that a checkpoint is there as a whole or not at all. While one is made there is a lock
 * file beside, held by its maker, from before the tree until after the file.
 */
final class Checkpoints {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final Logger LOG = LoggerFactory.getLogger(Checkpoints.class);
    private static final String TREE = "checkpoint-";
    private static final String COMPLETE = ".json";
    private static final String PARTIAL = ".partial";
    private static final String DRAFT = ".draft";

    private final Machine machine;

    /** @param bytes what its tree takes on disk, with all it shares */
    record Entry(
            String id,
            String name,
            String sandbox,
            Optional<String> parent,
            String template,
            long bytes,
            Instant createdAt) {
        Checkpoint checkpoint() {
            return new Checkpoint(
                    new CheckpointId(id), name, new SandboxId(sandbox), parent.map(CheckpointId::new), createdAt);
        }

        String tree() {
            return TREE + id;
        }
    }

    Checkpoints(Machine machine) {
        this.machine = machine;
    }

    Checkpoint take(String name, BoxRecord of) throws IOException {
        if (name.isBlank() || name.length() > 200) {
            throw SandboxException.invalid("a checkpoint's name has 1 to 200 characters");
        }
        String id = Names.random("cp-");
        Path partial = partial(id);
        try (var _ = ProcessLock.acquire(partial)) {
            store().copy(of.tree(), TREE + id, true);
            // Measured after the copy, which has the store count what was only in memory before.
            Entry entry = new Entry(
                    id,
                    name,
                    of.sandboxId().value(),
                    of.parent(),
                    of.template(),
                    store().used(of.tree()) + of.inheritedBytes(),
                    machine.clock().instant());
            Files.write(draft(id), JSON.writeValueAsBytes(entry));
            Files.move(draft(id), file(id), StandardCopyOption.ATOMIC_MOVE);
            Files.deleteIfExists(partial);
            return entry.checkpoint();
        }
    }

    Entry get(CheckpointId id) throws IOException {
        try {
            return JSON.readValue(Files.readAllBytes(file(id.value())), Entry.class);
        } catch (NoSuchFileException e) {
            throw SandboxException.notFound("there is no checkpoint " + id);
        }
    }

    List<Checkpoint> list() throws IOException {
        List<Checkpoint> found = new ArrayList<>();
        for (String id : ids(COMPLETE)) {
            try {
                found.add(get(new CheckpointId(id)).checkpoint());
            } catch (SandboxException e) {
                LOG.debug("checkpoint {} was deleted since the directory was read", id, e);
            }
        }
        found.sort(Comparator.comparing(Checkpoint::createdAt));
        return found;
    }

    void delete(CheckpointId id) throws IOException {
        Entry entry = get(id);
        Files.deleteIfExists(file(id.value()));
        store().delete(entry.tree());
    }

    /** Makes a writable tree with a checkpoint's files. */
    void copyTo(Entry from, String tree) throws IOException {
        store().copy(from.tree(), tree, false);
    }

    /** What a tree made from it holds that the store will not count. */
    long inherited(Entry entry) {
        return store().countsShared() ? 0 : entry.bytes();
    }

    List<Change> changes(CheckpointId from, CheckpointId to) throws IOException {
        Entry earlier = get(from);
        Entry later = get(to);
        if (!earlier.template().equals(later.template())) {
            throw SandboxException.invalid("the checkpoints are of different templates and cannot be compared");
        }
        Template template = machine.templates().get(earlier.template());
        return Changes.between(store().upper(earlier.tree()), store().upper(later.tree()), template.root());
    }

    /** Something done with a directory. */
    interface Use<T> {
        T of(Path directory) throws IOException;
    }

    /** Compares with a copy of the sandbox's files, since its processes may go on writing. */
    List<Change> changesSince(CheckpointId from, BoxRecord record, Template template) throws IOException {
        Entry earlier = get(from);
        if (!earlier.sandbox().equals(record.sandboxId().value())) {
            throw SandboxException.invalid("checkpoint " + from + " is of another sandbox");
        }
        return withCopy(record, now -> Changes.between(store().upper(earlier.tree()), now, template.root()));
    }

    /**
     * Does something with the files of a sandbox as they are at this moment.
     *
     * @throws IOException what the use of it threw; a copy that cannot be made is a SandboxException
     */
    <T> T withCopy(BoxRecord record, Use<T> use) throws IOException {
        String now = Names.random("now-");
        try (var _ = ProcessLock.acquire(partial(now))) {
            copyNow(record, TREE + now);
            return use.of(store().upper(TREE + now));
        } finally {
            removeCopy(now);
        }
    }

    private void copyNow(BoxRecord record, String tree) {
        try {
            store().copy(record.tree(), tree, true);
        } catch (IOException e) {
            throw Failures.of("copy the files of sandbox " + record.sandboxId(), e);
        }
    }

    private void removeCopy(String id) {
        try {
            store().delete(TREE + id);
            Files.deleteIfExists(partial(id));
        } catch (IOException e) {
            LOG.warn("could not remove the copy {}; it will be tried again", id, e);
        }
    }

    Set<String> templatesInUse() throws IOException {
        Set<String> used = new HashSet<>();
        for (String id : ids(COMPLETE)) {
            try {
                used.add(get(new CheckpointId(id)).template());
            } catch (SandboxException e) {
                LOG.debug("checkpoint {} was deleted since the directory was read", id, e);
            }
        }
        return used;
    }

    /**
     * Removes what crashes left half-made, while others may be making some. What is being made has its partial file, and
     * that is locked. Trees are listed before the files: one that is there by then without a file has lost it, and not
     * yet to get it. Partial files are listed before complete ones, as one becomes the other.
     */
    void sweep() throws IOException {
        for (String id : ids(PARTIAL)) {
            try (ProcessLock free = ProcessLock.tryAcquireExisting(partial(id)).orElse(null)) {
                if (free != null) {
                    if (!Files.exists(file(id))) {
                        store().delete(TREE + id);
                    }
                    Files.deleteIfExists(draft(id));
                    Files.deleteIfExists(partial(id));
                }
            }
        }
        Set<String> trees = new HashSet<>(store().trees());
        trees.removeIf(tree -> !tree.startsWith(TREE));
        ids(PARTIAL).forEach(id -> trees.remove(TREE + id));
        ids(COMPLETE).forEach(id -> trees.remove(TREE + id));
        for (String tree : trees) {
            store().delete(tree);
        }
    }

    private List<String> ids(String suffix) throws IOException {
        List<String> ids = new ArrayList<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(machine.checkpoints(), "*" + suffix)) {
            for (Path file : files) {
                String name = file.getFileName().toString();
                ids.add(name.substring(0, name.length() - suffix.length()));
            }
        }
        return ids;
    }

    private Path file(String id) {
        return machine.checkpoints().resolve(id + COMPLETE);
    }

    private Path partial(String id) {
        return machine.checkpoints().resolve(id + PARTIAL);
    }

    private Path draft(String id) {
        return machine.checkpoints().resolve(id + DRAFT);
    }

    private Store store() {
        return machine.store();
    }
}
