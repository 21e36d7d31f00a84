package dev.berth.session;

import dev.berth.sandbox.Capability;
import dev.berth.sandbox.Change;
import dev.berth.sandbox.Checkpoint;
import dev.berth.sandbox.CheckpointId;
import dev.berth.sandbox.Origin;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.SandboxProvider;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.session.CreationLog.What;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A provider that several processes share: each sandbox is a directory below one that all of them see. It isolates
 * nothing, but it really creates, runs and removes, and it writes down what it did.
 *
 * <p>As with a real one, making a sandbox takes a while between the moment its name is taken and the moment it can be
 * found. It is made under a lock of the kernel, which a killed process loses; what that left behind is not there for
 * anybody who looks, and is cleared away by the next one who makes it.
 */
final class DirectoryProvider implements SandboxProvider {
    /** A lock of the kernel is the process's, see fcntl(2), so its threads need one among themselves. */
    private static final Map<Path, ReentrantLock> THREADS = new ConcurrentHashMap<>();

    private static final Duration PATIENCE = Duration.ofSeconds(30);

    /** What takes time in the middle of a change. */
    interface Delay {
        void pass(What what, SandboxId id) throws InterruptedException;
    }

    private final Path boxes;
    private final Path locks;
    private final Path outputs;
    private final CreationLog log;
    private final Delay delay;

    private DirectoryProvider(Path directory, Delay delay) throws IOException {
        this.boxes = Files.createDirectories(directory.resolve("boxes"));
        this.locks = Files.createDirectories(directory.resolve("locks"));
        this.outputs = Files.createDirectories(directory.resolve("outputs"));
        this.log = new CreationLog(directory.resolve("log"));
        this.delay = delay;
    }

    static DirectoryProvider open(Path directory, Delay delay) {
        try {
            return new DirectoryProvider(directory.toRealPath(), delay);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** For what commands print. */
    Path outputs() {
        return outputs;
    }

    CreationLog log() {
        return log;
    }

    @Override
    public String name() {
        return "directory";
    }

    @Override
    public String location() {
        return "directory:" + boxes;
    }

    @Override
    public Set<Capability> capabilities() {
        return EnumSet.of(Capability.PAUSE);
    }

    @Override
    public Sandbox create(SandboxSpec spec) {
        if (!(spec.origin() instanceof Origin.Template(String template))) {
            throw SandboxException.unsupported("a directory starts from a template");
        }
        SandboxId id = spec.id();
        return locked(id, () -> {
            Path box = boxes.resolve(id.value());
            if (find(id).isPresent()) {
                log.append(What.REFUSED, id.value());
                throw SandboxException.conflict("there is a sandbox " + id + " already");
            }
            if (Files.exists(box)) {
                DirectorySandbox.removeFiles(box);
                log.append(What.ABANDONED, id.value());
            }
            Files.createDirectory(box);
            log.append(What.BEGUN, id.value());
            DirectorySandbox made = DirectorySandbox.make(
                    this,
                    box,
                    new DirectorySandbox.Spec(
                            template,
                            spec.limits(),
                            spec.network(),
                            spec.env(),
                            spec.labels(),
                            Instant.now().toEpochMilli()));
            pass(What.CREATED, id);
            log.append(What.CREATED, id.value());
            made.complete();
            return made;
        });
    }

    @Override
    public Optional<Sandbox> find(SandboxId id) {
        return DirectorySandbox.find(this, boxes.resolve(id.value())).map(Sandbox.class::cast);
    }

    @Override
    public List<Sandbox> list() {
        try (var entries = Files.list(boxes)) {
            return entries.flatMap(box -> DirectorySandbox.find(this, box).stream())
                    .map(Sandbox.class::cast)
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public List<Checkpoint> checkpoints() {
        return List.of();
    }

    @Override
    public void outlet(dev.berth.sandbox.Outlet outlet) {}

    @Override
    public void deleteCheckpoint(CheckpointId id) {
        throw SandboxException.notFound("there is no checkpoint " + id);
    }

    @Override
    public List<Change> changes(CheckpointId from, CheckpointId to) {
        throw SandboxException.unsupported("directories have no checkpoints");
    }

    @Override
    public void close() {}

    void pass(What what, SandboxId id) {
        try {
            delay.pass(what, id);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("interrupted in the middle of a change of " + id, e);
        }
    }

    interface Work<T> {
        T run() throws IOException;
    }

    /** One change of a sandbox at a time, among all processes. */
    <T> T locked(SandboxId id, Work<T> work) {
        Path file = locks.resolve(id.value());
        ReentrantLock threads = THREADS.computeIfAbsent(file, _ -> new ReentrantLock());
        threads.lock();
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                FileLock _ = lock(id, channel)) {
            return work.run();
        } catch (IOException e) {
            throw SandboxException.unavailable("could not change sandbox " + id + ": " + e, e);
        } finally {
            threads.unlock();
        }
    }

    /** Waiting in the kernel would block the carrier of a virtual thread, so it is asked again and again. */
    private static FileLock lock(SandboxId id, FileChannel channel) throws IOException {
        Deadline deadline = Deadline.after(PATIENCE);
        for (FileLock lock = channel.tryLock(); ; lock = channel.tryLock()) {
            if (lock != null) {
                return lock;
            }
            if (deadline.passed()) {
                throw SandboxException.timeout("sandbox " + id + " is busy");
            }
            try {
                Thread.sleep(2);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw SandboxException.unavailable("interrupted while waiting for sandbox " + id, e);
            }
        }
    }
}
