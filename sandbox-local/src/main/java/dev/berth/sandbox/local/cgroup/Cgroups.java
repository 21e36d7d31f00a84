package dev.berth.sandbox.local.cgroup;

import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.Mounts;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;

/**
 * Where the cgroups of one data directory's sandboxes are: {@code berth/<data directory>/<sandbox>} below the machine's
 * root, in each hierarchy there is.
 */
public final class Cgroups {
    private static final Path MOUNT = Path.of("/sys/fs/cgroup");
    private static final List<String> NEEDED = List.of("memory", "pids", "cpu", "freezer");
    private static final List<String> WELCOME = List.of("cpuacct", "devices");

    private final Map<String, Path> hierarchies;
    private final boolean v2;
    private final String group;

    private Cgroups(Map<String, Path> hierarchies, boolean v2, String group) {
        this.hierarchies = hierarchies;
        this.v2 = v2;
        this.group = group;
    }

    /** Looks at how this machine has its cgroups. */
    public static Cgroups detect(String group) {
        return detect(MOUNT, group);
    }

    static Cgroups detect(Path mount, String group) {
        if (Files.exists(mount.resolve("cgroup.controllers"))) {
            return new Cgroups(Map.of("", mount), true, group);
        }
        Map<String, Path> found = new LinkedHashMap<>();
        for (String controller : NEEDED) {
            found.put(
                    controller,
                    hierarchy(mount, controller)
                            .orElseThrow(() -> SandboxException.unsupported("the cgroup controller " + controller
                                    + " is not mounted at " + mount + "; mount it, or boot with cgroup version 2")));
        }
        for (String controller : WELCOME) {
            hierarchy(mount, controller).ifPresent(path -> found.put(controller, path));
        }
        return new Cgroups(found, false, group);
    }

    /** The directory that the runtime must not see: crun refuses a machine with both versions mounted. */
    public Optional<Path> hybridMount() {
        Path unified = MOUNT.resolve("unified");
        return !v2 && Files.exists(unified.resolve("cgroup.procs")) ? Optional.of(unified) : Optional.empty();
    }

    /** The mounted hierarchies that sandboxes have no cgroup in, for a runtime that would make some there. */
    public List<Path> foreignMounts() throws IOException {
        return Mounts.all().stream()
                .map(Mounts.Mounted::target)
                .filter(target ->
                        target.startsWith(MOUNT) && !target.equals(MOUNT) && !hierarchies.containsValue(target))
                .toList();
    }

    /** Where a sandbox's cgroup is in each hierarchy, as the OCI specification's cgroupsPath wants it. */
    public String path(String sandbox) {
        return "/berth/" + group + "/" + sandbox;
    }

    public Cgroup of(String sandbox) {
        if (v2) {
            return new CgroupV2(groupIn(hierarchies.values().iterator().next()).resolve(sandbox));
        }
        Map<String, Path> directories = new LinkedHashMap<>();
        hierarchies.forEach(
                (controller, root) -> directories.put(controller, groupIn(root).resolve(sandbox)));
        return new CgroupV1(directories);
    }

    /** The sandboxes that have a cgroup here, whether or not anything else is known of them. */
    public List<String> sandboxes() throws IOException {
        TreeSet<String> names = new TreeSet<>();
        for (Path root : hierarchies.values()) {
            Path parent = groupIn(root);
            if (Files.isDirectory(parent)) {
                try (DirectoryStream<Path> entries = Files.newDirectoryStream(parent, Files::isDirectory)) {
                    entries.forEach(e -> names.add(e.getFileName().toString()));
                }
            }
        }
        return new ArrayList<>(names);
    }

    /** Makes the group that all sandboxes of this data directory are in. */
    public void prepare() throws IOException {
        for (Path root : hierarchies.values()) {
            Files.createDirectories(groupIn(root));
            if (v2) {
                for (Path level : List.of(root, root.resolve("berth"), groupIn(root))) {
                    enableControllers(level);
                }
            }
            weighAsManyAsThereAreCores(root);
        }
    }

    /**
     * All sandboxes are below one group, which by default counts as much as a single process beside it, such as the
     * server: on a busy machine they would all share what one process gets.
     */
    private void weighAsManyAsThereAreCores(Path root) throws IOException {
        int cores = Runtime.getRuntime().availableProcessors();
        for (Path level : List.of(root.resolve("berth"), groupIn(root))) {
            if (Files.exists(level.resolve("cpu.shares"))) {
                writeNumber(level.resolve("cpu.shares"), Math.min(1024L * cores, 262_144));
            } else if (Files.exists(level.resolve("cpu.weight"))) {
                writeNumber(level.resolve("cpu.weight"), Math.min(100L * cores, 10_000));
            }
        }
    }

    private static void writeNumber(Path file, long number) throws IOException {
        Files.write(file, Long.toString(number).getBytes(StandardCharsets.US_ASCII));
    }

    /** Removes the group again if it is empty. */
    public void removeIfEmpty() {
        for (Path root : hierarchies.values()) {
            for (Path level : List.of(groupIn(root), root.resolve("berth"))) {
                try {
                    Files.deleteIfExists(level);
                } catch (DirectoryNotEmptyException e) {
                    break;
                } catch (FileSystemException e) {
                    // Busy: another data directory, or a sandbox that stays, is in it.
                    break;
                } catch (IOException e) {
                    throw SandboxException.unavailable("could not remove cgroup " + level, e);
                }
            }
        }
    }

    private Path groupIn(Path root) {
        return root.resolve("berth").resolve(group);
    }

    private static void enableControllers(Path level) throws IOException {
        try {
            Files.write(
                    level.resolve("cgroup.subtree_control"), "+memory +pids +cpu".getBytes(StandardCharsets.US_ASCII));
        } catch (FileSystemException e) {
            throw SandboxException.unavailable(
                    "could not turn on the memory, pids and cpu controllers in " + level
                            + "; run the server in a cgroup it may divide, for systemd with Delegate=yes",
                    e);
        }
    }

    private static Optional<Path> hierarchy(Path mount, String controller) {
        Path plain = mount.resolve(controller);
        if (Files.exists(plain.resolve("cgroup.procs"))) {
            return Optional.of(plain);
        }
        Path joint = mount.resolve("cpu,cpuacct");
        return controller.startsWith("cpu") && Files.exists(joint.resolve("cgroup.procs"))
                ? Optional.of(joint)
                : Optional.empty();
    }
}
