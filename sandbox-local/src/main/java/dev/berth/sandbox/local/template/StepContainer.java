package dev.berth.sandbox.local.template;

import dev.berth.sandbox.local.IdMap;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import tools.jackson.databind.json.JsonMapper;

/**
 * Runs build steps as root of the template and nobody on the host: in an OCI container with the template's user
 * namespace, the layers so far below an overlay, and the host's network.
 *
 * <p>Each call is a confined command (see {@link ExternalCommand#confined}), so a build that is killed at any moment
 * leaves directories behind, but no mount and no process.
 */
final class StepContainer {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    /** What an ordinary container has; in the user namespace they reach no further than the template's own files. */
    private static final List<String> CAPABILITIES = List.of(
            "CAP_AUDIT_WRITE",
            "CAP_CHOWN",
            "CAP_DAC_OVERRIDE",
            "CAP_FOWNER",
            "CAP_FSETID",
            "CAP_KILL",
            "CAP_MKNOD",
            "CAP_NET_BIND_SERVICE",
            "CAP_SETFCAP",
            "CAP_SETGID",
            "CAP_SETPCAP",
            "CAP_SETUID",
            "CAP_SYS_CHROOT");

    private static final List<String> MASKED = List.of(
            "/proc/acpi",
            "/proc/asound",
            "/proc/kcore",
            "/proc/keys",
            "/proc/latency_stats",
            "/proc/sched_debug",
            "/proc/scsi",
            "/proc/timer_list",
            "/proc/timer_stats");
    private static final List<String> READ_ONLY =
            List.of("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger");
    /** Features that would make a layer unusable below another overlay, wherever the kernel has them on. */
    private static final String PLAIN = ",index=off,redirect_dir=off,metacopy=off,xino=off";

    private final Path layers;
    private final Path scratch;
    private final BuildNetwork network;
    private final List<String> readOnlyHostPaths;

    /**
     * @param layers the directory that layers are named relative to
     * @param scratch a directory of this build, two levels below the templates directory as {@code layers} is
     */
    StepContainer(Path layers, Path scratch, BuildNetwork network, List<String> readOnlyHostPaths) {
        this.layers = layers;
        this.scratch = scratch;
        this.network = network;
        this.readOnlyHostPaths = readOnlyHostPaths;
    }

    /** What a step is to do: the arguments of inside.sh and where. */
    record Work(List<String> arguments, String workdir, Map<String, String> env, Map<String, String> scratchMounts) {}

    /**
     * Runs it.
     *
     * @param lower the layers below, topmost first
     * @param upper takes what the step changes
     */
    ExternalCommand.Ended run(List<String> lower, Path upper, Work work, Consumer<String> onLine) throws IOException {
        Path bundle = FileTree.privateDirectory(scratch.resolve("bundle"));
        Files.write(bundle.resolve("config.json"), JSON.writeValueAsBytes(config(work)));
        Path overlayWork = FileTree.privateDirectory(scratch.resolve("work"));
        FileTree.deleteChildren(overlayWork);
        FileTree.privateDirectory(upper);
        new RootTree(upper).directory("/");
        String options = "lowerdir=" + String.join(":", lower) + ",upperdir=" + layers.relativize(upper) + ",workdir="
                + layers.relativize(overlayWork) + PLAIN;
        return outside(List.of("run", options, scratch.toString(), bundle.toString()), onLine);
    }

    /** Copies what the layers show together into a directory. */
    ExternalCommand.Ended flatten(List<String> lower, Path target, Consumer<String> onLine) throws IOException {
        // an overlay without an upper directory has to have two lower ones
        Path empty = FileTree.privateDirectory(scratch.resolve("empty"));
        String options = "lowerdir=" + String.join(":", lower) + ":" + layers.relativize(empty) + PLAIN;
        return outside(List.of("flatten", options, target.toString()), onLine);
    }

    private ExternalCommand.Ended outside(List<String> arguments, Consumer<String> onLine) throws IOException {
        List<String> argv = new ArrayList<>(List.of("sh", "-c", Resources.text("outside.sh"), "outside.sh"));
        argv.addAll(arguments);
        return ExternalCommand.of(argv).confined().in(layers).run(onLine);
    }

    private Map<String, Object> config(Work work) {
        List<String> args = new ArrayList<>(List.of("/bin/bash", "-c", Resources.text("inside.sh"), "inside.sh"));
        args.addAll(work.arguments);
        List<String> env = work.env.entrySet().stream()
                .map(e -> e.getKey() + "=" + e.getValue())
                .toList();
        Map<String, Object> process = Map.of(
                "terminal",
                false,
                "user",
                Map.of("uid", 0, "gid", 0),
                "args",
                args,
                "env",
                env,
                "cwd",
                work.workdir,
                "capabilities",
                Map.of("bounding", CAPABILITIES, "effective", CAPABILITIES, "permitted", CAPABILITIES),
                "rlimits",
                List.of(Map.of("type", "RLIMIT_NOFILE", "hard", 65_536, "soft", 4096)),
                "noNewPrivileges",
                false);
        List<Map<String, Integer>> ids =
                List.of(Map.of("containerID", 0, "hostID", IdMap.toHost(0), "size", IdMap.SIZE));
        Map<String, Object> linux = Map.of(
                "namespaces",
                        List.of("pid", "ipc", "uts", "mount", "cgroup", "user").stream()
                                .map(type -> Map.of("type", type))
                                .toList(),
                "uidMappings", ids,
                "gidMappings", ids,
                "maskedPaths", MASKED,
                "readonlyPaths", READ_ONLY);
        return Map.of(
                "ociVersion",
                "1.0.0",
                "hostname",
                "sandbox",
                "process",
                process,
                "root",
                Map.of("path", "/mnt/root", "readonly", false),
                "mounts",
                mounts(work),
                "linux",
                linux);
    }

    private List<Map<String, Object>> mounts(Work work) {
        List<Map<String, Object>> mounts = new ArrayList<>();
        mounts.add(mount("/proc", "proc", "proc", "nosuid", "noexec", "nodev"));
        mounts.add(mount("/dev", "tmpfs", "tmpfs", "nosuid", "strictatime", "mode=755", "size=65536k"));
        mounts.add(mount(
                "/dev/pts",
                "devpts",
                "devpts",
                "nosuid",
                "noexec",
                "newinstance",
                "ptmxmode=0666",
                "mode=0620",
                "gid=5"));
        mounts.add(mount("/dev/shm", "tmpfs", "shm", "nosuid", "noexec", "nodev", "mode=1777", "size=65536k"));
        mounts.add(mount("/run", "tmpfs", "tmpfs", "nosuid", "nodev", "mode=755"));
        readOnlyHostPaths.forEach(path -> mounts.add(mount(path, "bind", path, "rbind", "ro", "nosuid", "nodev")));
        network.mounts().forEach((inside, host) -> mounts.add(mount(inside, "bind", host.toString(), "bind", "ro")));
        work.scratchMounts.forEach(
                (inside, name) -> mounts.add(mount(inside, "bind", "/mnt/scratch/" + name, "bind", "rw")));
        return mounts;
    }

    private static Map<String, Object> mount(String destination, String type, String source, String... options) {
        Map<String, Object> mount = new LinkedHashMap<>();
        mount.put("destination", destination);
        mount.put("type", type);
        mount.put("source", source);
        mount.put("options", List.of(options));
        return mount;
    }
}
