package dev.berth.sandbox.local.template;

import dev.berth.sandbox.local.linux.IdMap;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Consumer;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * Runs build steps as root of the template and nobody on the host: in an OCI container with the template's user
 * namespace, the layers so far below an overlay, and the host's network.
 *
 * <p>Each call is a confined command (see {@link ExternalCommand#confined}), so a build that is killed at any moment
 * leaves directories behind, but no mount and no process.
 */
final class StepContainer {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    /** What a sandbox has; in the user namespace they reach no further than the template's own files. */
    private static final List<String> CAPABILITIES = List.of(
            "CAP_AUDIT_WRITE",
            "CAP_CHOWN",
            "CAP_DAC_OVERRIDE",
            "CAP_FOWNER",
            "CAP_FSETID",
            "CAP_KILL",
            "CAP_NET_BIND_SERVICE",
            "CAP_SETFCAP",
            "CAP_SETGID",
            "CAP_SETPCAP",
            "CAP_SETUID",
            "CAP_SYS_CHROOT");

    /** Features that would make a layer unusable below another overlay, wherever the kernel has them on. */
    private static final String PLAIN = ",index=off,redirect_dir=off,metacopy=off,xino=off";

    /** Of those who ask for builds; see {@link BuildWatch} for all files together. */
    private static final long LARGEST_FILE = 8L << 30;

    private final Path layers;
    private final Path scratch;
    private final BuildNetwork network;
    private final List<String> readOnlyHostPaths;
    private final boolean asked;

    /**
     * @param layers the directory that layers are named relative to
     * @param scratch a directory of this build, two levels below the templates directory as {@code layers} is
     * @param asked whether the steps are somebody's who need not be the operator
     */
    StepContainer(Path layers, Path scratch, BuildNetwork network, List<String> readOnlyHostPaths, boolean asked) {
        this.asked = asked;
        this.layers = layers;
        this.scratch = scratch;
        this.network = network;
        this.readOnlyHostPaths = readOnlyHostPaths;
    }

    /** What a step is to do: the arguments of inside.sh and where. */
    record Work(List<String> arguments, String workdir, Map<String, String> env, Map<String, String> scratchMounts) {
        Work with(Map<String, String> moreMounts) {
            Map<String, String> all = new TreeMap<>(scratchMounts);
            all.putAll(moreMounts);
            return new Work(arguments, workdir, env, all);
        }
    }

    /** How a step reaches the world. */
    enum Way {
        /** Not at all: it has its own loopback. */
        NONE,
        /** By what the yard gives it. */
        OPEN,
        /** As this machine does. */
        HOST
    }

    /**
     * Runs it.
     *
     * @param lower the layers below, topmost first
     * @param upper takes what the step changes
     */
    ExternalCommand.Ended run(
            List<String> lower, Path upper, Work work, Way way, Optional<StepYard> yard, Consumer<String> onLine)
            throws IOException {
        if (yard.isEmpty()) {
            return run(lower, upper, config(work, way), List.of(), process -> {}, onLine);
        }
        try {
            List<String> enter = yard.get().open();
            if (way != Way.OPEN) {
                return run(lower, upper, config(work, way), enter, process -> {}, onLine);
            }
            try (StepGate gate = StepGate.make(scratch, yard.get())) {
                return run(lower, upper, config(work.with(gate.mounts()), way), enter, gate::open, onLine);
            }
        } finally {
            yard.get().close();
        }
    }

    private ExternalCommand.Ended run(
            List<String> lower,
            Path upper,
            ObjectNode config,
            List<String> enter,
            Consumer<Process> started,
            Consumer<String> onLine)
            throws IOException {
        Path bundle = FileTree.privateDirectory(scratch.resolve("bundle"));
        Files.write(bundle.resolve("config.json"), JSON.writeValueAsBytes(config));
        Path overlayWork = FileTree.privateDirectory(scratch.resolve("work"));
        FileTree.deleteChildren(overlayWork);
        FileTree.privateDirectory(upper);
        new RootTree(upper).directory("/");
        String options = "lowerdir=" + String.join(":", lower) + ",upperdir=" + layers.relativize(upper) + ",workdir="
                + layers.relativize(overlayWork) + PLAIN;
        return outside(List.of("run", options, scratch.toString(), bundle.toString()))
                .after(enter)
                .whenStarted(started)
                .run(onLine);
    }

    /** Copies what the layers show together into a directory. */
    ExternalCommand.Ended flatten(List<String> lower, Path target, Consumer<String> onLine) throws IOException {
        // an overlay without an upper directory has to have two lower ones
        Path empty = FileTree.privateDirectory(scratch.resolve("empty"));
        String options = "lowerdir=" + String.join(":", lower) + ":" + layers.relativize(empty) + PLAIN;
        return outside(List.of("flatten", options, target.toString())).run(onLine);
    }

    private ExternalCommand outside(List<String> arguments) {
        List<String> argv = new ArrayList<>(List.of("sh", "-c", Resources.text("outside.sh"), "outside.sh"));
        argv.addAll(arguments);
        return ExternalCommand.of(argv).confined().in(layers);
    }

    /** The parts that are always the same stand in step.json. */
    private ObjectNode config(Work work, Way way) {
        ObjectNode config = (ObjectNode) JSON.readTree(Resources.text("step.json"));
        config.withObject("/linux").set("seccomp", StepFilter.make());
        if (way != Way.HOST) {
            config.withObject("/linux").withArray("/namespaces").addObject().put("type", "network");
        }
        ObjectNode process = (ObjectNode) config.get("process");
        ArrayNode args = process.putArray("args");
        List.of("/bin/bash", "-c", Resources.text("inside.sh"), "inside.sh").forEach(args::add);
        work.arguments.forEach(args::add);
        ArrayNode env = process.putArray("env");
        work.env.forEach((name, value) -> env.add(name + "=" + value));
        if (!work.env.containsKey("HOME")) {
            env.add("HOME="); // or crun would set root's; inside.sh sets that of the step's user
        }
        process.put("cwd", work.workdir);
        if (asked) {
            process.putArray("rlimits")
                    .addObject()
                    .put("type", "RLIMIT_FSIZE")
                    .put("soft", LARGEST_FILE)
                    .put("hard", LARGEST_FILE);
        }
        for (String set : List.of("bounding", "effective", "permitted")) {
            ArrayNode capabilities = process.withObject("/capabilities").putArray(set);
            CAPABILITIES.forEach(capabilities::add);
        }
        for (String mapping : List.of("uidMappings", "gidMappings")) {
            config.withObject("/linux")
                    .putArray(mapping)
                    .addObject()
                    .put("containerID", 0)
                    .put("hostID", IdMap.toHost(0))
                    .put("size", IdMap.SIZE);
        }
        ArrayNode mounts = (ArrayNode) config.get("mounts");
        readOnlyHostPaths.forEach(path -> bind(mounts, path, path, "rbind", "ro", "nosuid", "nodev"));
        network.mounts().forEach((inside, host) -> bind(mounts, inside, host.toString(), "bind", "ro"));
        work.scratchMounts.forEach((inside, name) -> bind(mounts, inside, "/mnt/scratch/" + name, "bind", "rw"));
        return config;
    }

    private static void bind(ArrayNode mounts, String inside, String host, String... options) {
        ObjectNode mount = mounts.addObject()
                .put("destination", inside)
                .put("type", "bind")
                .put("source", host);
        ArrayNode list = mount.putArray("options");
        List.of(options).forEach(list::add);
    }
}
