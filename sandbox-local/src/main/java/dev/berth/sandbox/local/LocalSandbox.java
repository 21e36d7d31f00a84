package dev.berth.sandbox.local;

import dev.berth.sandbox.Account;
import dev.berth.sandbox.Change;
import dev.berth.sandbox.Checkpoint;
import dev.berth.sandbox.CheckpointId;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.CommandInfo;
import dev.berth.sandbox.Connection;
import dev.berth.sandbox.Limit;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.Outlet;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxFiles;
import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.SandboxInfo;
import dev.berth.sandbox.SandboxState;
import dev.berth.sandbox.Usage;
import dev.berth.sandbox.local.cgroup.Cgroup;
import dev.berth.sandbox.local.files.Accounts;
import dev.berth.sandbox.local.files.RootFiles;
import dev.berth.sandbox.local.guest.GuestLink;
import dev.berth.sandbox.local.pack.TreePacker;
import dev.berth.sandbox.local.template.Template;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A sandbox of this machine.
 *
 * <p>Its parts are a box (directory and mounted root), a cgroup (limits, freezer, and the truth about its processes), a
 * tree of the store (its writable files) and, while it runs, a link to its guest. Transitions take the lifecycle lock;
 * commands and files do not. Whether it runs is always asked of the cgroup, never of memory or disk.
 */
final class LocalSandbox implements Sandbox {
    private static final Logger LOG = LoggerFactory.getLogger(LocalSandbox.class);
    private static final Duration KILL_PATIENCE = Duration.ofSeconds(20);
    private static final Duration FREEZE_PATIENCE = Duration.ofSeconds(10);
    private static final Duration RECONNECT_PATIENCE = Duration.ofSeconds(10);

    private final Machine machine;
    private final OciRuntime runtime;
    private final Checkpoints checkpoints;
    private final Box box;
    private final Template template;
    private final Cgroup cgroup;
    private final DiskLimit disk;
    private final RootFiles files;
    private final MountPoints mountPoints;
    private final Commands commands;
    private final WayOut wayOut;
    private final StartUp startUp;
    private final ReentrantLock lifecycle = new ReentrantLock();
    private final Consumer<LocalSandbox> onDestroyed;

    private volatile BoxRecord record;
    private volatile @Nullable GuestLink link;
    private volatile boolean paused;
    private volatile boolean destroyed;
    /** Whether nothing is left of it. Guarded by lifecycle. */
    private boolean removed;

    LocalSandbox(
            Machine machine,
            OciRuntime runtime,
            Checkpoints checkpoints,
            Box box,
            BoxRecord record,
            Template template,
            Outlet outlet,
            Consumer<LocalSandbox> onDestroyed) {
        this.machine = machine;
        this.runtime = runtime;
        this.checkpoints = checkpoints;
        this.box = box;
        this.record = record;
        this.template = template;
        this.onDestroyed = onDestroyed;
        this.cgroup = machine.cgroups().of(box.name());
        this.wayOut = new WayOut(this, outlet, machine.network(), box.name(), cgroup::pids);
        this.disk = new DiskLimit(machine.store());
        this.commands = new Commands(template, this::mountedRoot);
        Accounts.Account owner = machine.owners().of(template);
        this.files = new RootFiles(this::mountedRoot, owner.uid(), owner.gid(), owner.home(), commands::known);
        this.mountPoints = new MountPoints(box.name(), files);
        this.startUp = new StartUp(this, box.name(), template);
    }

    // ---- making, finding, leaving -------------------------------------------------------------------------------

    /** Mounts and boots a box whose tree is there. */
    void boot() throws IOException {
        box.mount(machine.store(), record.tree(), template, record.mounts());
        disk.apply(record);
        startGuest();
        startUp.await();
    }

    /** Takes up a box that a process before this one served. */
    void adopt() throws IOException {
        if (!cgroup.populated()) {
            // A server killed while it mounted or rolled back leaves half a root, or one of the tree before. Whoever
            // needs the files mounts what the record says.
            box.unmount();
            wayOut.close();
            return;
        }
        paused = cgroup.frozen();
        link = listen();
        wayOut.takeUp(record.network());
    }

    /** Gives a booted box of the warm pool its identity. */
    void claim(BoxRecord claimed) throws IOException {
        if (!claimed.limits().equals(record.limits())) {
            cgroup.apply(runtime.inCgroup(claimed.limits()));
            disk.apply(claimed);
        }
        wayOut.change(link, paused, record.network(), claimed.network(), _ -> {
            record = claimed;
            box.record(claimed);
        });
    }

    /** Stops serving it and leaves it as it is. */
    void leave() {
        lifecycle.lock();
        try {
            GuestLink served = link;
            if (served != null) {
                served.leave();
            }
            box.unlock();
        } finally {
            lifecycle.unlock();
        }
    }

    Box box() {
        return box;
    }

    BoxRecord record() {
        return record;
    }

    /** Whether its end has begun. */
    boolean destroyed() {
        return destroyed;
    }

    boolean connected() {
        GuestLink served = link;
        return served != null && served.connected();
    }

    void lookAfterLink(Duration silence, Duration patience) {
        GuestLink served = link;
        if (served != null && !paused) {
            served.lookAfter(silence, patience);
        }
    }

    // ---- what it is ----------------------------------------------------------------------------------------------

    @Override
    public SandboxId id() {
        return record.sandboxId();
    }

    @Override
    public SandboxInfo info() {
        BoxRecord known = record;
        return new SandboxInfo(
                known.sandboxId(),
                state(),
                known.template(),
                known.runtime(),
                known.limits(),
                known.labels(),
                known.parentId(),
                known.createdAt());
    }

    @Override
    public SandboxState state() {
        if (destroyed) {
            return SandboxState.DESTROYED;
        }
        try {
            if (!cgroup.populated()) {
                return SandboxState.STOPPED;
            }
            return cgroup.frozen() ? SandboxState.PAUSED : SandboxState.RUNNING;
        } catch (IOException e) {
            throw failed("look at", e);
        }
    }

    @Override
    public boolean ready() {
        return !paused && !destroyed && connected();
    }

    @Override
    public Map<String, String> env() {
        return record.env();
    }

    @Override
    public void env(Map<String, String> env) {
        Command.checkEnv(env);
        transition("change the variables of", () -> {
            record = record.withEnv(env);
            box.record(record);
        });
    }

    @Override
    public Network network() {
        return record.network();
    }

    @Override
    public void network(Network network) {
        WayOut.check(machine, runtime, network);
        transition(
                "change the network of",
                () -> wayOut.change(link, paused, record.network(), network, kept -> {
                    BoxRecord changed = record.withNetwork(kept);
                    box.record(changed);
                    record = changed;
                }));
    }

    @Override
    public Limits limits() {
        return record.limits();
    }

    @Override
    public Usage usage() {
        alive();
        try {
            boolean running = cgroup.exists();
            return new Usage(
                    running ? cgroup.memoryBytes() : 0,
                    cgroup.pids().size(),
                    running ? cgroup.cpuTime() : Duration.ZERO,
                    disk.used(record),
                    running ? cgroup.cacheBytes() : 0);
        } catch (IOException e) {
            throw failed("measure", e);
        }
    }

    // ---- commands and files --------------------------------------------------------------------------------------

    @Override
    public RunningCommand start(Command command) {
        GuestLink live = live();
        return live.start(commands.resolve(command, record), limitProbe());
    }

    @Override
    public List<CommandInfo> commands() {
        return live().commands().stream().map(startUp::shown).toList();
    }

    @Override
    public RunningCommand attach(int command, long stdoutFrom, long stderrFrom) {
        return live().attach(command, stdoutFrom, stderrFrom, limitProbe());
    }

    @Override
    public Connection dial(int port) {
        if (port < 1 || port > 65_535) {
            throw SandboxException.invalid("a port is a number from 1 to 65535, not " + port);
        }
        return live().dial(port);
    }

    @Override
    public SandboxFiles files() {
        alive();
        return files;
    }

    @Override
    public String defaultUser() {
        return template.user();
    }

    @Override
    public Account account(String user) {
        alive();
        return commands.known(user);
    }

    @Override
    public Optional<String> userName(int uid) {
        alive();
        return commands.accounts().userName(uid);
    }

    @Override
    public Optional<String> groupName(int gid) {
        alive();
        return commands.accounts().groupName(gid);
    }

    // ---- transitions ---------------------------------------------------------------------------------------------

    @Override
    public void pause() {
        transition("pause", () -> {
            switch (state()) {
                case RUNNING -> {
                    paused = true;
                    startUp.pausing();
                    try {
                        cgroup.freeze(FREEZE_PATIENCE);
                    } catch (RuntimeException | IOException e) {
                        paused = false;
                        throw e;
                    }
                }
                case PAUSED -> paused = true;
                default -> throw SandboxException.conflict("could not pause sandbox " + id() + ": it is stopped");
            }
        });
    }

    @Override
    public void wake() {
        transition("wake", () -> {
            switch (state()) {
                case RUNNING -> paused = false;
                case PAUSED -> {
                    cgroup.thaw();
                    paused = false;
                    thawed(link);
                }
                default -> {
                    endProcesses();
                    if (!box.inPlace(machine.store(), record.mounts())) {
                        box.unmount();
                    }
                    mountPoints.restore();
                    startGuest();
                }
            }
        });
        startUp.await();
    }

    @Override
    public void stop() {
        transition("stop", this::endProcesses);
    }

    @Override
    public void destroy() {
        lifecycle.lock();
        try {
            if (removed) {
                return;
            }
            // It stays so if the rest fails. Without its record it is nobody's any more: what is written to it would be
            // swept up with it.
            destroyed = true;
            closeLink(SandboxException.gone("the sandbox was destroyed"));
            // From here on it is a leftover: if this process dies, the next one removes the rest.
            box.forget();
            remove(machine, box, record.tree());
            onDestroyed.accept(this);
            removed = true;
        } catch (IOException e) {
            throw failed("destroy", e);
        } finally {
            lifecycle.unlock();
        }
    }

    /** Removes every trace of a box, whatever state it is in. This can be repeated. */
    static void remove(Machine machine, Box box, String tree) throws IOException {
        removeCgroup(machine, box.name());
        machine.network().disconnect(box.name());
        box.unmount();
        machine.store().delete(tree);
        box.delete();
    }

    static void removeCgroup(Machine machine, String name) throws IOException {
        Cgroup cgroup = machine.cgroups().of(name);
        cgroup.kill(KILL_PATIENCE);
        cgroup.remove();
    }

    @Override
    public void limit(Limits limits) {
        transition("change the limits of", () -> {
            BoxRecord changed = record.withLimits(limits);
            // First what may be refused.
            if (limits.diskBytes() != record.limits().diskBytes()) {
                disk.apply(changed);
            }
            if (cgroup.exists()) {
                cgroup.apply(runtime.inCgroup(limits));
            }
            record = changed;
            box.record(record);
        });
    }

    // ---- points in time ------------------------------------------------------------------------------------------

    @Override
    public Checkpoint checkpoint(String name) {
        return inTransition("checkpoint", () -> {
            boolean freeze = !machine.store().copiesAtomically() && state() == SandboxState.RUNNING;
            if (freeze) {
                cgroup.freeze(FREEZE_PATIENCE);
            }
            try {
                Checkpoint taken = checkpoints.take(name, record);
                record = record.withParent(taken.id());
                box.record(record);
                return taken;
            } finally {
                if (freeze) {
                    cgroup.thaw();
                }
            }
        });
    }

    @Override
    public void rollback(CheckpointId checkpoint) {
        transition("roll back", () -> {
            Checkpoints.Entry entry = checkpoints.get(checkpoint);
            if (!entry.checkpoint().sandbox().equals(id())) {
                throw SandboxException.invalid(
                        "checkpoint " + checkpoint + " is of another sandbox; create one from it");
            }
            String tree = box.nextTree(record.tree());
            machine.store().delete(tree); // left by one that failed after it
            checkpoints.copyTo(entry, tree);
            endProcesses();
            String before = record.tree();
            record = record.withTree(tree, checkpoints.inherited(entry)).withParent(checkpoint);
            box.record(record);
            box.unmount();
            machine.store().delete(before);
            mountedRoot();
            disk.apply(record);
            startGuest();
        });
        startUp.await();
    }

    @Override
    public void pack(OutputStream target) throws IOException {
        lifecycle.lock();
        try {
            alive();
            if (state() == SandboxState.RUNNING) {
                throw SandboxException.conflict(
                        "could not pack the files of sandbox " + id() + ": it is running; pause or stop it first");
            }
            if (machine.store().copiesAtomically()) {
                // Files may still be written from outside, and what is in memory only has to be on the disk for tar to
                // tell a hole from it. A copy costs nothing here and settles both.
                checkpoints.withCopy(record, files -> {
                    TreePacker.pack(files, target);
                    return files;
                });
            } else {
                TreePacker.pack(machine.store().upper(record.tree()), target);
            }
        } finally {
            lifecycle.unlock();
        }
    }

    @Override
    public List<Change> changesSince(CheckpointId checkpoint) {
        return inTransition("compare", () -> checkpoints.changesSince(checkpoint, record, template));
    }

    // ---- parts ---------------------------------------------------------------------------------------------------

    private void startGuest() throws IOException {
        mountedRoot();
        cgroup.create();
        cgroup.apply(runtime.inCgroup(record.limits()));
        GuestLink fresh = listen();
        link = fresh;
        paused = false;
        boolean marked = runtime.coversEmptyTmp() && mountPoints.markTmp();
        try {
            Launcher.boot(machine, runtime, box, template, cgroup, fresh, record.token(), this::prepareMeanwhile);
            if (runtime.managesCgroups()) {
                // It has added what it holds to be harmless to the devices that may be used.
                cgroup.create();
            }
            wayOut.open(record.network());
            startUp.begin();
        } catch (RuntimeException | IOException e) {
            endProcesses();
            throw e;
        } finally {
            if (marked) {
                mountPoints.unmarkTmp();
            }
        }
    }

    /** What can be done before the guest is there, and would otherwise be waited for afterwards. */
    private void prepareMeanwhile() throws IOException {
        box.prepareRecord(record);
        commands.prepare();
    }

    private static void thawed(@Nullable GuestLink link) {
        if (link != null) {
            link.thawed();
        }
    }

    private GuestLink listen() throws IOException {
        GuestLink fresh = wayOut.listen(box.name(), box.socket(), record.token(), record.network());
        box.protectSocket();
        fresh.onLost(() -> connectionLost(fresh));
        return fresh;
    }

    /** Ends all processes, and lets go of what was for them. */
    private void endProcesses() throws IOException {
        closeLink(SandboxException.gone("the sandbox was stopped while this ran"));
        cgroup.kill(KILL_PATIENCE);
        paused = false;
        wayOut.close();
        box.clearRuntimeState();
    }

    private void closeLink(SandboxException why) {
        GuestLink served = link;
        link = null;
        if (served != null) {
            served.close(why);
        }
    }

    /**
     * The guest connects again by itself unless its processes are all gone; then nobody should wait for them. They go one
     * after the other, and the kernel closes the connection when it comes to the guest, so this waits for either.
     */
    private void connectionLost(GuestLink lost) {
        try {
            long pause = 1_000_000;
            while (!destroyed && lost.equals(link) && lost.listening() && !lost.connected()) {
                if (!cgroup.populated()) {
                    LOG.warn("sandbox {}: its processes are gone", box.name());
                    lost.close(SandboxException.gone("the sandbox's processes ended"));
                    return;
                }
                LockSupport.parkNanos(pause);
                pause = Math.min(2 * pause, 1_000_000_000);
            }
        } catch (IOException e) {
            LOG.warn("sandbox {}: could not look at its cgroup", box.name(), e);
        }
    }

    private GuestLink live() {
        alive();
        GuestLink live = link;
        if (paused) {
            throw SandboxException.conflict("sandbox " + id() + " is paused; wake it first");
        }
        if (live == null) {
            throw SandboxException.conflict("sandbox " + id() + " is stopped; wake it first");
        }
        if (!live.connected()) {
            awaitConnection(live);
        }
        return live;
    }

    /** After a restart of the server, or a connection that broke, the guest takes a moment to dial again. */
    private void awaitConnection(GuestLink live) {
        long deadline = System.nanoTime() + RECONNECT_PATIENCE.toNanos();
        while (!live.connected()) {
            if (state() == SandboxState.STOPPED) {
                throw SandboxException.conflict("sandbox " + id() + " is stopped; wake it first");
            }
            if (System.nanoTime() > deadline) {
                throw SandboxException.unavailable(
                        "the guest of sandbox " + id() + " does not answer; stop and wake it");
            }
            LockSupport.parkNanos(1_000_000);
        }
    }

    private void alive() {
        if (destroyed) {
            throw SandboxException.gone("sandbox " + id() + " was destroyed");
        }
    }

    /** The root on the host, mounted if it is not: after a reboot of the machine nothing is. */
    private Path mountedRoot() {
        try {
            if (!box.mounted()) {
                lifecycle.lock();
                try {
                    alive();
                    if (!box.mounted()) {
                        box.mountAgain(machine.store(), record.tree(), template, record.mounts());
                    }
                } finally {
                    lifecycle.unlock();
                }
            }
            return box.root();
        } catch (IOException e) {
            throw failed("mount the files of", e);
        }
    }

    /** What a command that starts now will have run into when it ends. */
    private Supplier<Set<Limit>> limitProbe() {
        Cgroup.Events before = events();
        return () -> {
            Set<Limit> hit = EnumSet.noneOf(Limit.class);
            Cgroup.Events after = events();
            if (after.memory() > before.memory()) {
                hit.add(Limit.MEMORY);
            }
            if (after.pids() > before.pids()) {
                hit.add(Limit.PIDS);
            }
            if (disk.full(record)) {
                hit.add(Limit.DISK);
            }
            return hit;
        };
    }

    private Cgroup.Events events() {
        try {
            return cgroup.events();
        } catch (IOException e) {
            // Its cgroup goes with the sandbox, perhaps between two commands.
            return new Cgroup.Events(0, 0);
        }
    }

    private interface Step<T> {
        T run() throws IOException;
    }

    private interface Action {
        void run() throws IOException;
    }

    private void transition(String what, Action action) {
        inTransition(what, () -> {
            action.run();
            return this;
        });
    }

    private <T> T inTransition(String what, Step<T> step) {
        lifecycle.lock();
        try {
            alive();
            return step.run();
        } catch (IOException e) {
            throw failed(what, e);
        } finally {
            lifecycle.unlock();
        }
    }

    private SandboxException failed(String what, IOException e) {
        return Failures.of(what + " sandbox " + id(), e);
    }
}
