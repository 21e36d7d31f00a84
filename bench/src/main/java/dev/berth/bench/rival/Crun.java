package dev.berth.bench.rival;

import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.local.cgroup.Cgroups;
import dev.berth.sandbox.local.linux.Spawn;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * The OCI runtime by itself, with the very bundle of a sandbox: the same root, namespaces and mounts, but {@code true}
 * where the sandbox has its guest, and none of what makes it a sandbox (a root of its own, cgroups, limits, a link).
 *
 * <p>On machines with both versions of cgroups mounted crun does not start, so there it is called through berth-launch,
 * as the provider calls it.
 */
public final class Crun {
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private final Path box;
    private final Path bundle;
    private final Path state;
    private final List<String> prefix;

    private Crun(Path box, Path bundle, Path state, List<String> prefix) {
        this.box = box;
        this.bundle = bundle;
        this.state = state;
        this.prefix = prefix;
    }

    /** @param sandbox one that runs, in the provider's data directory; it has to stay while this is used */
    public static Crun like(SandboxId sandbox, Path data, Path scratch) throws IOException {
        Path box = data.resolve("boxes")
                .resolve(Files.readSymbolicLink(data.resolve("ids").resolve(sandbox.value())));
        Path bundle = Files.createDirectories(scratch.resolve("bundle"));
        ObjectNode config = (ObjectNode) JSON.readTree(Files.readAllBytes(box.resolve("bundle/config.json")));
        ObjectNode process = (ObjectNode) config.get("process");
        process.putArray("args").add("/bin/true");
        process.putArray("env").add("PATH=/usr/local/bin:/usr/bin:/bin");
        Files.write(bundle.resolve("config.json"), JSON.writeValueAsBytes(config));
        return new Crun(box, bundle, Files.createDirectories(scratch.resolve("state")), prefix(data));
    }

    private static List<String> prefix(Path data) throws IOException {
        List<String> words = new ArrayList<>();
        Path hidden = Cgroups.detect("bench").hybridMount().orElse(null);
        if (hidden != null) {
            words.addAll(List.of(launch(data).toString(), "--unmount", hidden.toString(), "--"));
        }
        words.addAll(List.of("crun", "--cgroup-manager=disabled", "--root"));
        return words;
    }

    private static Path launch(Path data) throws IOException {
        try (DirectoryStream<Path> found = Files.newDirectoryStream(data.resolve("programs"), "berth-launch-*")) {
            return found.iterator().next();
        }
    }

    /** {@code crun run … true}. */
    public Timed runTrue() {
        return spawn(state.toString(), "run", "--bundle", bundle.toString(), "bench");
    }

    /** {@code crun exec … bash -c true} in the sandbox. */
    public Timed execTrue() {
        return spawn(
                box.resolve("runtime").toString(), "exec", box.getFileName().toString(), "/bin/bash", "-c", "true");
    }

    /** {@code bwrap … bash -c true} on the sandbox's root. */
    public Timed bubblewrap() {
        return Spawn.of(
                "bwrap",
                "--unshare-all",
                "--bind",
                box.resolve("root").toString(),
                "/",
                "--proc",
                "/proc",
                "--dev",
                "/dev",
                "bash",
                "-c",
                "true")::run;
    }

    private Timed spawn(String... words) {
        List<String> all = new ArrayList<>(prefix);
        all.addAll(List.of(words));
        return Spawn.of(all)::run;
    }
}
