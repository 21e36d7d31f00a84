package dev.berth.sandbox.local;

import dev.berth.sandbox.Capability;
import dev.berth.sandbox.Change;
import dev.berth.sandbox.Checkpoint;
import dev.berth.sandbox.CheckpointId;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.Origin;
import dev.berth.sandbox.Outlet;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.SandboxProvider;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.Templates;
import dev.berth.sandbox.Volumes;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import dev.berth.sandbox.local.cgroup.Cgroups;
import dev.berth.sandbox.local.linux.IdMap;
import dev.berth.sandbox.local.network.OpenNetwork;
import dev.berth.sandbox.local.network.Traffic;
import dev.berth.sandbox.local.pack.TreeUnpacker;
import dev.berth.sandbox.local.store.Stores;
import dev.berth.sandbox.local.template.Template;
import dev.berth.sandbox.local.template.TemplateBuilder;
import dev.berth.sandbox.local.template.TemplateStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Clock;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sandboxes on this machine, isolated by an OCI runtime.
 *
 * <p>All that is known of a sandbox is on the machine itself: a box directory with its record, a mounted root, a cgroup
 * with its processes. So this object can go away at any instruction, and the next one finds everything again. Several
 * processes may work on one data directory; a box is served by the one that holds its lock.
 *
 * <p>The order in which things are made keeps a crash harmless. A box directory comes first and goes last: a tree, a
 * cgroup or a name without one is a leftover. Its record comes when all of it works: a box without one is a leftover
 * too. Whoever opens the data directory next removes both, and so does every process that has it open, once a minute or
 * as soon as such a leftover is in its way.
 */
public final class LocalProvider implements SandboxProvider {
    private static final Logger LOG = LoggerFactory.getLogger(LocalProvider.class);
    /** How long a busy guest may say nothing before it is asked, and how long it may take to answer. */
    private static final Duration SILENCE = Duration.ofSeconds(5);

    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final Duration HOUSEKEEPING = Duration.ofSeconds(5);
    private static final Duration SWEEPING = Duration.ofMinutes(1);
    /** sun_path of unix(7) has 108 bytes. */
    private static final int LONGEST_SOCKET = 107;

    private final Machine machine;
    private final String location;
    private final RuntimeKind runtime;
    private final Checkpoints checkpoints;
    private final Boxes boxes;
    private final LocalVolumes volumes;
    private final WarmPool warm;
    private final LongAdder warmHits = new LongAdder();
    private final LongAdder warmMisses = new LongAdder();
    private final Map<RuntimeKind, OciRuntime> runtimes = new ConcurrentHashMap<>();
    private final Map<SandboxId, LocalSandbox> served = new ConcurrentHashMap<>();
    /** Held while a box is taken up, so that whoever looks for the same one waits for that. */
    private final ReentrantLock adopting = new ReentrantLock();
    /** Two threads, as sweeping may take long and links must not wait for it. */
    private final ScheduledExecutorService housekeeping = Executors.newScheduledThreadPool(
            2, Thread.ofPlatform().daemon().name("local-housekeeping").factory());

    private final LateOutlet outlet = new LateOutlet();
    private final TemplateBuilder builder;
    private final Templates templates;

    private LocalProvider(Machine machine, String location, LocalConfig config) {
        this.machine = machine;
        this.location = location;
        this.runtime = config.runtime();
        this.checkpoints = new Checkpoints(machine);
        this.boxes = new Boxes(machine, checkpoints);
        this.volumes = new LocalVolumes(machine.store(), boxes);
        this.warm = new WarmPool(config.warm(), this::bootForPool);
        this.builder = TemplateBuilder.ofRequests(
                machine.templates(),
                config.builds(),
                new BuildYard(machine.data(), group(machine.data()), config.network()));
        this.templates = new LocalTemplates(machine.templates(), builder, this::templatesInUse);
    }

    /** Opens a data directory, removing what crashes left in it and nothing else. */
    public static LocalProvider open(LocalConfig config) {
        if (!"root".equals(System.getProperty("user.name"))) {
            throw SandboxException.unsupported(
                    "sandboxes on this machine need root, to mount and to set limits; try sudo");
        }
        if (!"UTF-8".equals(System.getProperty("sun.jnu.encoding"))) {
            throw SandboxException.unsupported(
                    "this Java cannot name all files that a sandbox may have; start it with a"
                            + " UTF-8 locale, such as LC_ALL=C.UTF-8");
        }
        try {
            Path data = directory(config.data(), "rwx--x--x").toRealPath();
            if (data.resolve("boxes/xxxxxxxxxxxx/link")
                            .resolve(Box.SOCKET)
                            .toString()
                            .length()
                    > LONGEST_SOCKET) {
                throw SandboxException.invalid(
                        "the path of the data directory is too long for a socket in it: " + data);
            }
            Machine machine = new Machine(
                    data,
                    Stores.open(data, config.store(), config.poolBytes()),
                    new TemplateStore(config.templates()),
                    Cgroups.detect(group(data)),
                    OpenNetwork.of(data.resolve("boxes"), group(data), config.network()),
                    Programs.unpack(data),
                    new Owners(),
                    Clock.systemUTC());
            // The runtime passes here as the sandbox's root user; people with accounts on this machine may not.
            directory(machine.boxes(), "rwx--x---");
            Files.setAttribute(machine.boxes(), "unix:gid", IdMap.toHost(0));
            directory(machine.ids(), "rwx------");
            directory(machine.checkpoints(), "rwx------");
            machine.cgroups().prepare();
            Kernel.raiseInotifyLimits();
            LocalProvider provider = new LocalProvider(machine, Location.of(data), config);
            provider.runtime(config.runtime());
            provider.boxes.sweep();
            provider.sweepBuilds();
            provider.warm.start();
            var _ = provider.housekeeping.scheduleWithFixedDelay(
                    provider::lookAfterLinks, HOUSEKEEPING.toMillis(), HOUSEKEEPING.toMillis(), TimeUnit.MILLISECONDS);
            var _ = provider.housekeeping.scheduleWithFixedDelay(
                    provider::sweep, SWEEPING.toMillis(), SWEEPING.toMillis(), TimeUnit.MILLISECONDS);
            return provider;
        } catch (IOException e) {
            throw SandboxException.unavailable(
                    "could not open the data directory " + config.data() + ": " + e.getMessage(), e);
        }
    }

    /** What a build left is in nobody's way but that of the next one, which clears it as well. */
    private void sweepBuilds() {
        try {
            builder.sweep();
        } catch (IOException | SandboxException e) {
            LOG.warn("could not remove what a build left", e);
        }
    }

    @Override
    public String name() {
        return "local";
    }

    @Override
    public String location() {
        return location;
    }

    @Override
    public Set<Capability> capabilities() {
        Set<Capability> all = EnumSet.allOf(Capability.class);
        all.removeAll(runtime(runtime).missing());
        if (machine.network().lacking().isPresent()) {
            all.remove(Capability.OPEN_NETWORK);
        }
        if (!machine.store().enforcesLimits()) {
            all.remove(Capability.DISK_LIMIT);
            // One volume could fill the disk of all.
            all.remove(Capability.VOLUMES);
        }
        return all;
    }

    @Override
    public Map<String, Double> measures() {
        Traffic open = openTraffic();
        return Map.of(
                "warm.hits", (double) warmHits.sum(),
                "warm.misses", (double) warmMisses.sum(),
                "sandboxes.served", (double) served.size(),
                "disk.used.bytes", (double) machine.store().usedBytes(),
                "network.open.sent.bytes", (double) open.out(),
                "network.open.received.bytes", (double) open.in());
    }

    /** Nothing is asked of the machine while no sandbox has such a network. */
    private Traffic openTraffic() {
        if (served.values().stream().noneMatch(sandbox -> sandbox.network().mode() == Network.Mode.OPEN)) {
            return Traffic.NONE;
        }
        try {
            return machine.network().used();
        } catch (IOException e) {
            LOG.warn("could not read how much went through open networks", e);
            return Traffic.NONE;
        }
    }

    @Override
    public void outlet(Outlet newOutlet) {
        outlet.set(newOutlet);
    }

    @Override
    public Templates templates() {
        return templates;
    }

    public TemplateStore templateStore() {
        return machine.templates();
    }

    /** The templates that sandboxes or checkpoints here stand on. */
    public Set<String> templatesInUse() {
        try {
            return boxes.templatesInUse();
        } catch (IOException e) {
            throw SandboxException.unavailable("could not look through the data directory", e);
        }
    }

    /** How many sandboxes of a template wait in the warm pool. */
    public int warm(String template) {
        return warm.ready(template);
    }

    @Override
    public Sandbox create(SandboxSpec spec) {
        return create(spec, false);
    }

    /** Makes a sandbox that is removed when this process is gone, however it went. */
    public Sandbox createEphemeral(SandboxSpec spec) {
        return create(spec, true);
    }

    private Sandbox create(SandboxSpec spec, boolean ephemeral) {
        WayOut.check(machine, runtime(runtime), spec.network());
        try (var _ = volumes.hold(spec.mounts());
                var _ = warm.busy()) {
            return switch (spec.origin()) {
                case Origin.Template named -> fromTemplate(spec, named.name(), ephemeral);
                case Origin.FromCheckpoint(CheckpointId id) -> fromCheckpoint(spec, id, ephemeral);
                case Origin.Packed packed -> fromPacked(spec, packed, ephemeral);
            };
        } catch (IOException e) {
            throw Failures.of("create sandbox " + spec.id(), e);
        }
    }

    private Sandbox fromTemplate(SandboxSpec spec, String name, boolean ephemeral) throws IOException {
        Template template = machine.templates().get(name);
        // One that is up cannot be given a volume, as the runtime has bound its root already. And what the template
        // starts has been running in it without the variables of this sandbox.
        boolean tooLate = !spec.mounts().isEmpty()
                || (template.start().isPresent() && !spec.env().isEmpty());
        Optional<LocalSandbox> ready = tooLate ? Optional.empty() : warm.take(name, template.id());
        if (ready.isPresent()) {
            warmHits.increment();
            return claim(ready.get(), spec, ephemeral);
        }
        warmMisses.increment();
        Box box = boxes.make();
        return make(
                box, record(box, spec, template, 0, Optional.empty(), ephemeral), template, machine.store()::create);
    }

    private Sandbox fromCheckpoint(SandboxSpec spec, CheckpointId id, boolean ephemeral) throws IOException {
        Checkpoints.Entry entry = checkpoints.get(id);
        Template template = machine.templates().get(entry.template());
        Box box = boxes.make();
        BoxRecord record =
                record(box, spec, template, checkpoints.inherited(entry), Optional.of(id.value()), ephemeral);
        return make(box, record, template, tree -> checkpoints.copyTo(entry, tree));
    }

    /**
     * All of it is written to the new tree, so the store counts all of it. The limit comes afterwards, with the boot: it
     * binds from then on, and what was packed comes back even if it fills the limit.
     */
    private Sandbox fromPacked(SandboxSpec spec, Origin.Packed packed, boolean ephemeral) throws IOException {
        Template template = machine.templates().get(packed.template());
        Box box = boxes.make();
        BoxRecord record = record(box, spec, template, 0, Optional.empty(), ephemeral);
        return make(box, record, template, tree -> {
            machine.store().create(tree);
            TreeUnpacker.unpack(packed.content(), machine.store().upper(tree));
        });
    }

    private BoxRecord record(
            Box box,
            SandboxSpec spec,
            Template template,
            long inheritedBytes,
            Optional<String> parent,
            boolean ephemeral) {
        return new BoxRecord(
                Optional.of(spec.id().value()),
                template.id(),
                runtime(runtime).name(),
                spec.limits(),
                spec.network(),
                spec.env(),
                spec.labels(),
                box.firstTree(),
                inheritedBytes,
                parent,
                ephemeral,
                Names.token(),
                machine.clock().instant(),
                spec.mounts());
    }

    /** Makes the files that a sandbox begins with. */
    private interface Beginning {
        void make(String tree) throws IOException;
    }

    /** From an empty box to a running sandbox with a name, or to nothing at all. */
    private LocalSandbox make(Box box, BoxRecord record, Template template, Beginning files) throws IOException {
        boolean done = false;
        try {
            if (record.id().isPresent()) {
                boxes.reserve(record.sandboxId(), box);
            }
            files.make(record.tree());
            LocalSandbox sandbox = sandbox(box, record, template);
            sandbox.boot();
            box.record(record);
            if (record.id().isPresent()) {
                served.put(record.sandboxId(), sandbox);
            }
            done = true;
            return sandbox;
        } finally {
            if (!done) {
                boxes.discard(box, record);
            }
        }
    }

    private Sandbox claim(LocalSandbox sandbox, SandboxSpec spec, boolean ephemeral) throws IOException {
        boolean done = false;
        try {
            boxes.reserve(spec.id(), sandbox.box());
            sandbox.claim(sandbox.record()
                    .claimed(
                            spec.id(),
                            spec.limits(),
                            spec.network(),
                            spec.env(),
                            spec.labels(),
                            ephemeral,
                            machine.clock().instant()));
            served.put(spec.id(), sandbox);
            done = true;
            return sandbox;
        } finally {
            if (!done) {
                sandbox.destroy();
            }
        }
    }

    private LocalSandbox bootForPool(String name) {
        try {
            Template template = machine.templates().get(name);
            Box box = boxes.make();
            BoxRecord record = new BoxRecord(
                    Optional.empty(),
                    template.id(),
                    runtime(runtime).name(),
                    Limits.DEFAULT.withDisk(machine.store().enforcesLimits() ? Limits.DEFAULT.diskBytes() : 0),
                    Network.NONE,
                    Map.of(),
                    Map.of(),
                    box.firstTree(),
                    0,
                    Optional.empty(),
                    true,
                    Names.token(),
                    machine.clock().instant(),
                    List.of());
            LocalSandbox sandbox = make(box, record, template, machine.store()::create);
            // The first command of a sandbox fills the kernel's caches; here nobody waits for it.
            sandbox.run(Command.shell("true"));
            return sandbox;
        } catch (IOException e) {
            throw SandboxException.unavailable("could not boot a sandbox: " + e.getMessage(), e);
        }
    }

    @Override
    public Optional<Sandbox> find(SandboxId id) {
        LocalSandbox known = served.get(id);
        if (known != null) {
            if (!known.destroyed()) {
                return Optional.of(known);
            }
            // It is being destroyed, or that failed half-way: it is not there, but its name is free only after the
            // rest.
            known.destroy();
        }
        try {
            Optional<Box> box = boxes.find(id);
            return box.isPresent() ? adopt(box.get()) : Optional.empty();
        } catch (IOException e) {
            throw SandboxException.unavailable("could not look for sandbox " + id + ": " + e.getMessage(), e);
        }
    }

    @Override
    public List<Sandbox> list() {
        try {
            for (Box box : boxes.all()) {
                if (!boxes.removeIfLeftover(box)
                        && box.record().flatMap(BoxRecord::id).isPresent()) {
                    tryAdopt(box);
                }
            }
            return List.copyOf(served.values());
        } catch (IOException e) {
            throw SandboxException.unavailable("could not list the sandboxes: " + e.getMessage(), e);
        }
    }

    private Optional<Sandbox> adopt(Box box) throws IOException {
        Optional<BoxRecord> record = box.record();
        if (record.isEmpty() || record.get().id().isEmpty()) {
            return Optional.empty();
        }
        tryAdopt(box);
        LocalSandbox sandbox = served.get(record.get().sandboxId());
        if (sandbox == null) {
            throw SandboxException.conflict(
                    "sandbox " + record.get().sandboxId() + " is in use by another process on this machine");
        }
        return Optional.of(sandbox);
    }

    /** Serves a box from now on, unless a living process does. */
    private void tryAdopt(Box box) throws IOException {
        adopting.lock();
        try {
            if (box.lock()) {
                adoptLocked(box);
            }
        } finally {
            adopting.unlock();
        }
    }

    private void adoptLocked(Box box) throws IOException {
        boolean done = false;
        try {
            Optional<BoxRecord> record = box.record();
            if (record.isPresent()
                    && record.get().id().isPresent()
                    && !served.containsKey(record.get().sandboxId())) {
                Template template = machine.templates().get(record.get().template());
                LocalSandbox sandbox = sandbox(box, record.get(), template);
                sandbox.adopt();
                boxes.removeStaleTrees(box, record.get());
                served.put(record.get().sandboxId(), sandbox);
                done = true;
            }
        } finally {
            if (!done) {
                box.unlock();
            }
        }
    }

    private LocalSandbox sandbox(Box box, BoxRecord record, Template template) {
        return new LocalSandbox(
                machine,
                runtime(RuntimeKind.valueOf(record.runtime().toUpperCase(Locale.ROOT))),
                checkpoints,
                box,
                record,
                template,
                outlet,
                gone -> {
                    if (gone.record().id().isPresent()) {
                        // The name may belong to another by now.
                        served.remove(gone.id(), gone);
                        boxes.release(gone.id(), gone.box());
                    }
                });
    }

    @Override
    public Volumes volumes() {
        return volumes;
    }

    @Override
    public List<Checkpoint> checkpoints() {
        try {
            return checkpoints.list();
        } catch (IOException e) {
            throw SandboxException.unavailable("could not list the checkpoints: " + e.getMessage(), e);
        }
    }

    @Override
    public void deleteCheckpoint(CheckpointId id) {
        try {
            checkpoints.delete(id);
        } catch (IOException e) {
            throw SandboxException.unavailable("could not delete checkpoint " + id + ": " + e.getMessage(), e);
        }
    }

    @Override
    public List<Change> changes(CheckpointId from, CheckpointId to) {
        try {
            return checkpoints.changes(from, to);
        } catch (IOException e) {
            throw SandboxException.unavailable("could not compare the checkpoints: " + e.getMessage(), e);
        }
    }

    /** Stops serving. Every sandbox that has a name stays as it is; ephemeral ones and the warm pool go. */
    @Override
    public void close() {
        warm.close();
        endHousekeeping();
        for (LocalSandbox sandbox : served.values()) {
            try {
                if (sandbox.record().ephemeral()) {
                    sandbox.destroy();
                } else {
                    sandbox.leave();
                }
            } catch (SandboxException e) {
                LOG.warn("could not let go of sandbox {}: {}", sandbox.id(), e.getMessage());
            }
        }
        served.clear();
        machine.cgroups().removeIfEmpty();
        try {
            machine.network().sweep();
        } catch (IOException | SandboxException e) {
            LOG.warn("could not remove rules of the network that nobody needs; the next server will", e);
        }
    }

    /** Unmounts the pool as well: for a data directory that is to be moved or removed. */
    public void closeAndUnmount() {
        close();
        try {
            machine.store().unmount();
        } catch (IOException e) {
            throw SandboxException.unavailable("could not unmount the pool: " + e.getMessage(), e);
        }
    }

    Machine machine() {
        return machine;
    }

    Boxes boxes() {
        return boxes;
    }

    private void lookAfterLinks() {
        served.values().forEach(sandbox -> sandbox.lookAfterLink(SILENCE, PATIENCE));
    }

    /** What other processes left that were killed; they need not have been servers, and none may start for long. */
    void sweep() {
        try {
            boxes.sweep();
        } catch (IOException | SandboxException e) {
            LOG.warn("could not sweep up in {}; it will be tried again", machine.data(), e);
        }
    }

    private void endHousekeeping() {
        housekeeping.shutdown();
        try {
            if (!housekeeping.awaitTermination(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                housekeeping.shutdownNow();
            }
        } catch (InterruptedException e) {
            housekeeping.shutdownNow();
            Thread.currentThread().interrupt();
        }
    }

    private OciRuntime runtime(RuntimeKind kind) {
        return runtimes.computeIfAbsent(kind, OciRuntime::of);
    }

    private static Path directory(Path path, String permissions) throws IOException {
        Files.createDirectories(path);
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString(permissions));
        return path;
    }

    /** One name per data directory, so that several on a machine do not meet in their cgroups. */
    static String group(Path data) {
        return Integer.toHexString(data.toString().hashCode());
    }
}
