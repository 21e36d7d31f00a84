package dev.berth.session;

import dev.berth.sandbox.Account;
import dev.berth.sandbox.Change;
import dev.berth.sandbox.Checkpoint;
import dev.berth.sandbox.CheckpointId;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.CommandInfo;
import dev.berth.sandbox.Connection;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxFiles;
import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.SandboxInfo;
import dev.berth.sandbox.SandboxState;
import dev.berth.sandbox.Usage;
import dev.berth.session.CreationLog.What;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A sandbox of {@link DirectoryProvider}: {@code home} with its files, {@code spec} with what it was made from, and
 * {@code state}.
 *
 * <p>Its state is a number in memory that all processes map, so each of them knows at once, and without asking, what
 * another one did; when the directory is gone, those who still have this see that it is. Commands are not frozen and not
 * ended with it: the tests run none that outlives the call it is run for.
 */
final class DirectorySandbox implements Sandbox {
    private static final VarHandle INT = MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());
    /** What a new file is full of. */
    private static final int UNFINISHED = 0;

    private static final SandboxState[] STATES = {
        SandboxState.RUNNING, SandboxState.PAUSED, SandboxState.STOPPED, SandboxState.DESTROYED
    };

    /** As it is written down. */
    record Spec(
            String template,
            Limits limits,
            Network network,
            Map<String, String> env,
            Map<String, String> labels,
            long createdAtMillis) {}

    private final DirectoryProvider provider;
    private final Path box;
    private final SandboxId id;
    private final Spec spec;
    private final MappedByteBuffer state;

    private DirectorySandbox(DirectoryProvider provider, Path box, Spec spec, MappedByteBuffer state) {
        this.provider = provider;
        this.box = box;
        this.id = new SandboxId(box.getFileName().toString());
        this.spec = spec;
        this.state = state;
    }

    /** Writes all of it but that it is complete. */
    static DirectorySandbox make(DirectoryProvider provider, Path box, Spec spec) throws IOException {
        Files.createDirectory(box.resolve("home"));
        Files.writeString(box.resolve("spec"), String.valueOf(Json.write(spec)));
        MappedByteBuffer state = map(box, StandardOpenOption.CREATE_NEW);
        return new DirectorySandbox(provider, box, spec, state);
    }

    /** Empty for what is half-made or half-removed. */
    static Optional<DirectorySandbox> find(DirectoryProvider provider, Path box) {
        try {
            MappedByteBuffer state = map(box, StandardOpenOption.READ);
            if (number(state) == UNFINISHED || stateOf(number(state)) == SandboxState.DESTROYED) {
                return Optional.empty();
            }
            Spec spec = Json.read(Files.readString(box.resolve("spec")), Spec.class);
            return Optional.of(new DirectorySandbox(provider, box, spec, state));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static MappedByteBuffer map(Path box, StandardOpenOption how) throws IOException {
        try (FileChannel channel =
                FileChannel.open(box.resolve("state"), StandardOpenOption.READ, StandardOpenOption.WRITE, how)) {
            return channel.map(FileChannel.MapMode.READ_WRITE, 0, Integer.BYTES);
        }
    }

    private static int number(MappedByteBuffer state) {
        return (int) INT.getVolatile(state, 0);
    }

    private static SandboxState stateOf(int number) {
        return STATES[number - 1];
    }

    private void become(SandboxState next) {
        INT.setVolatile(state, 0, List.of(STATES).indexOf(next) + 1);
    }

    void complete() {
        become(SandboxState.RUNNING);
    }

    @Override
    public SandboxId id() {
        return id;
    }

    @Override
    public SandboxState state() {
        return stateOf(number(state));
    }

    @Override
    public SandboxInfo info() {
        return new SandboxInfo(
                id,
                state(),
                spec.template(),
                "none",
                spec.limits(),
                spec.labels(),
                Optional.empty(),
                Instant.ofEpochMilli(spec.createdAtMillis()));
    }

    @Override
    public boolean ready() {
        return state() == SandboxState.RUNNING;
    }

    @Override
    public Map<String, String> env() {
        return spec.env();
    }

    @Override
    public RunningCommand start(Command command) {
        checkRunning();
        try {
            return DirectoryCommand.start(command, spec.env(), box.resolve("home"), provider.outputs());
        } catch (IOException e) {
            checkRunning(); // it may have gone meanwhile, and its directory with it
            throw SandboxException.notFound("could not run " + command.argv().getFirst() + ": " + e.getMessage());
        }
    }

    private void checkRunning() {
        switch (state()) {
            case RUNNING -> {}
            case PAUSED, STOPPED -> throw SandboxException.conflict("sandbox " + id + " is " + state());
            case DESTROYED -> throw gone();
        }
    }

    private SandboxException gone() {
        return SandboxException.gone("sandbox " + id + " is no more");
    }

    /** Whoever starts a command reads it to its end; there are none to be found. */
    @Override
    public List<CommandInfo> commands() {
        checkRunning();
        return List.of();
    }

    @Override
    public void pause() {
        change(was -> {
            if (was == SandboxState.STOPPED) {
                throw SandboxException.conflict("sandbox " + id + " is stopped");
            }
            return SandboxState.PAUSED;
        });
    }

    @Override
    public void wake() {
        change(_ -> SandboxState.RUNNING);
    }

    @Override
    public void stop() {
        change(_ -> SandboxState.STOPPED);
    }

    private interface Next {
        SandboxState after(SandboxState was);
    }

    private void change(Next next) {
        provider.locked(id, () -> {
            SandboxState was = state();
            if (was == SandboxState.DESTROYED) {
                throw gone();
            }
            become(next.after(was));
            return id;
        });
    }

    @Override
    public void destroy() {
        provider.locked(id, () -> {
            if (state() != SandboxState.DESTROYED) {
                provider.log().append(What.DESTROYED, id.value());
                become(SandboxState.DESTROYED);
                provider.pass(What.DESTROYED, id);
                removeFiles(box);
            }
            return id;
        });
    }

    static void removeFiles(Path directory) throws IOException {
        try (var files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        }
    }

    @Override
    public void env(Map<String, String> env) {
        throw unsupported("variables to be changed");
    }

    @Override
    public Network network() {
        return spec.network();
    }

    @Override
    public void network(Network network) {
        throw unsupported("networks");
    }

    @Override
    public Limits limits() {
        return spec.limits();
    }

    @Override
    public Usage usage() {
        try (var files = Files.walk(box.resolve("home"))) {
            long bytes = files.mapToLong(file -> file.toFile().length()).sum();
            return new Usage(0, 0, Duration.ZERO, bytes, 0);
        } catch (IOException e) {
            throw gone();
        }
    }

    // ---- what it cannot do ---------------------------------------------------------------------------------------

    @Override
    public RunningCommand attach(int command, long stdoutFrom, long stderrFrom) {
        throw unsupported("commands to be attached to");
    }

    @Override
    public SandboxFiles files() {
        throw unsupported("files to be used from outside");
    }

    @Override
    public String defaultUser() {
        throw unsupported("users");
    }

    @Override
    public Account account(String user) {
        throw unsupported("users");
    }

    @Override
    public Optional<String> userName(int uid) {
        throw unsupported("users");
    }

    @Override
    public Optional<String> groupName(int gid) {
        throw unsupported("groups");
    }

    @Override
    public Connection dial(int port) {
        throw unsupported("ports");
    }

    @Override
    public void limit(Limits limits) {
        throw unsupported("limits");
    }

    @Override
    public Checkpoint checkpoint(String name) {
        throw unsupported("checkpoints");
    }

    @Override
    public void rollback(CheckpointId checkpoint) {
        throw unsupported("checkpoints");
    }

    @Override
    public void pack(OutputStream target) {
        throw unsupported("archives");
    }

    @Override
    public List<Change> changesSince(CheckpointId checkpoint) {
        throw unsupported("checkpoints");
    }

    private static SandboxException unsupported(String what) {
        return SandboxException.unsupported("a directory has no " + what);
    }
}
