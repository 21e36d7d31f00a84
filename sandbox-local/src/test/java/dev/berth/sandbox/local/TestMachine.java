package dev.berth.sandbox.local;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import dev.berth.sandbox.local.cgroup.Cgroups;
import dev.berth.sandbox.local.linux.Directories;
import dev.berth.sandbox.local.linux.Mounts;
import dev.berth.sandbox.local.network.NetworkConfig;
import dev.berth.sandbox.local.store.StoreKind;
import dev.berth.sandbox.local.template.BuildConfig;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A data directory of its own for a test, with a provider on it. Closing it checks that the provider left nothing behind
 * on the machine: no mount, no cgroup, no process.
 */
public final class TestMachine implements AutoCloseable {
    private static final long POOL = 8L << 30;

    private final Path data;
    private LocalConfig config;
    private LocalProvider provider;

    public TestMachine(RuntimeKind runtime) {
        this(runtime, StoreKind.BTRFS, Map.of());
    }

    TestMachine(RuntimeKind runtime, StoreKind store, Map<String, Integer> warm) {
        this(runtime, store, POOL, warm, NetworkConfig.DEFAULT);
    }

    TestMachine(RuntimeKind runtime, NetworkConfig network) {
        this(runtime, StoreKind.BTRFS, POOL, Map.of(), network);
    }

    /** With a disk of this size. */
    TestMachine(RuntimeKind runtime, long pool) {
        this(runtime, StoreKind.BTRFS, pool, Map.of(), NetworkConfig.DEFAULT);
    }

    private TestMachine(
            RuntimeKind runtime, StoreKind store, long pool, Map<String, Integer> warm, NetworkConfig network) {
        try {
            // Short, because the path of a socket is; and on the disk, not on a tmpfs.
            data = Files.createTempDirectory(Path.of("/var/tmp"), "berth-");
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
        config = new LocalConfig(data, templates(), runtime, store, pool, warm, network, BuildConfig.DEFAULT);
        provider = LocalProvider.open(config);
    }

    /** Shared by all tests, and kept for the next run: building one takes a minute. */
    public static Path templates() {
        return Path.of(System.getenv().getOrDefault("BERTH_TEST_TEMPLATES", "/var/tmp/berth-test-templates"));
    }

    public Path data() {
        return data;
    }

    LocalConfig config() {
        return config;
    }

    public LocalProvider provider() {
        return provider;
    }

    /** As after a restart of the server. */
    public LocalProvider reopen() {
        provider.close();
        provider = LocalProvider.open(config);
        return provider;
    }

    /** As after a restart of the server that is told something else; the one before has to be closed. */
    LocalProvider reopenWith(LocalConfig other) {
        config = other;
        provider = LocalProvider.open(config);
        return provider;
    }

    /** Takes away what does not live through a restart of the machine. */
    void pretendReboot() throws IOException {
        for (Mounts.Mounted mount : Mounts.all().reversed()) {
            if (mount.target().startsWith(data)) {
                Mounts.unmount(mount.target());
            }
        }
        for (String group : Cgroups.detect(LocalProvider.group(data)).sandboxes()) {
            Cgroups.detect(LocalProvider.group(data)).of(group).remove();
        }
    }

    @Override
    public void close() throws IOException {
        provider.list().forEach(dev.berth.sandbox.Sandbox::destroy);
        provider.checkpoints().forEach(point -> provider.deleteCheckpoint(point.id()));
        provider.closeAndUnmount();
        assertNothingLeft(data);
        Directories.remove(data);
    }

    /** Looks at the machine, not at what the provider believes. */
    public static void assertNothingLeft(Path data) throws IOException {
        assertThat(Mounts.all()).as("mounts").noneMatch(mount -> mount.target().startsWith(data));
        assertThat(data.resolve("boxes")).as("boxes").isEmptyDirectory();
        assertThat(data.resolve("ids")).as("names").isEmptyDirectory();
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (processes(data) > 0 && System.nanoTime() < deadline) {
            Thread.onSpinWait();
        }
        assertThat(processes(data)).as("processes").isZero();
        assertThat(cgroups(data)).as("cgroups").isEmpty();
    }

    /** In every hierarchy there is, whether or not we have anything to do with it. */
    private static List<Path> cgroups(Path data) throws IOException {
        List<Path> found = new ArrayList<>();
        Files.walkFileTree(Path.of("/sys/fs/cgroup"), Set.of(), 4, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path path, BasicFileAttributes attributes) {
                if (path.endsWith(LocalProvider.group(data))) {
                    found.add(path);
                }
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path path, IOException e) {
                return FileVisitResult.CONTINUE; // somebody else's, which went away meanwhile
            }

            @Override
            public FileVisitResult postVisitDirectory(Path path, @Nullable IOException e) {
                return FileVisitResult.CONTINUE;
            }
        });
        return found;
    }

    /** The boxes that have a cgroup, whether or not there is a box. */
    public static List<String> boxesWithCgroup(Path data) throws IOException {
        return Cgroups.detect(LocalProvider.group(data)).sandboxes();
    }

    private static long processes(Path data) {
        return ProcessHandle.allProcesses()
                .filter(process -> process.info()
                        .commandLine()
                        .filter(line -> line.contains(data.toString()) && !line.contains("java"))
                        .isPresent())
                .count();
    }
}
