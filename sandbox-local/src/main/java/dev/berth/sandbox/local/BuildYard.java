package dev.berth.sandbox.local;

import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.cgroup.Cgroup;
import dev.berth.sandbox.local.cgroup.Cgroups;
import dev.berth.sandbox.local.linux.Uninterrupted;
import dev.berth.sandbox.local.network.NetworkConfig;
import dev.berth.sandbox.local.network.OpenNetwork;
import dev.berth.sandbox.local.template.StepYard;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;

/**
 * A cgroup and a link to the public internet for the step of a build. Both are beside those of sandboxes, where they would
 * be swept up as leftovers; and both have one name, so whatever a killed build left is what the next one begins with.
 */
final class BuildYard implements StepYard {
    private static final Duration KILL_PATIENCE = Duration.ofSeconds(20);
    private static final Duration START_PATIENCE = Duration.ofSeconds(30);
    private static final int PIDS = 2048;
    private static final int HALF_WEIGHT = 50;
    private static final String STEP = "step";
    /** Each directory after the first argument up to "--" is a cgroup to be in, see cgroups(7). */
    private static final String ENTER =
            "while [ \"$1\" != -- ]; do echo $$ >\"$1/cgroup.procs\" || exit 70; shift; done; shift; exec \"$@\"";

    private final Cgroups cgroups;
    private final Cgroup cgroup;
    private final OpenNetwork internet;
    private final Path home;
    private final String box;

    /** @param group what the cgroups and links of the data directory are called by */
    BuildYard(Path data, String group, NetworkConfig network) {
        this.box = group + "b";
        this.cgroups = Cgroups.detect(box);
        this.cgroup = cgroups.of(STEP);
        this.home = data.resolve("build");
        this.internet = OpenNetwork.of(home, box, network);
    }

    @Override
    public List<String> open() throws IOException {
        close();
        cgroups.prepare();
        cgroup.create();
        cgroup.apply(new Limits(memory(), PIDS, 0, HALF_WEIGHT, 0, Limits.DEFAULT.outputBytes()));
        List<String> enter = new ArrayList<>(List.of("sh", "-c", ENTER, "enter"));
        cgroup.directories().forEach(directory -> enter.add(directory.toString()));
        enter.add("--");
        return enter;
    }

    /** Half of what the machine has: enough for compilers, and the sandboxes keep the other half. */
    private static long memory() throws IOException {
        String total = Files.readAllLines(Path.of("/proc/meminfo")).getFirst().replaceAll("[^0-9]", "");
        return Math.max(512L << 20, Long.parseLong(total) * 1024 / 2);
    }

    @Override
    public Optional<String> lacking() {
        return internet.lacking();
    }

    @Override
    public void connect() throws IOException {
        Files.createDirectories(home.resolve(box));
        long deadline = System.nanoTime() + START_PATIENCE.toNanos();
        List<Integer> pids = cgroup.pids();
        while (!OpenNetwork.hasGuest(pids)) {
            if (System.nanoTime() > deadline || Thread.currentThread().isInterrupted()) {
                throw SandboxException.unavailable("the step of a build did not begin");
            }
            LockSupport.parkNanos(5_000_000);
            pids = cgroup.pids();
        }
        internet.connect(box, pids, Network.OPEN);
    }

    @Override
    public String resolvConf() {
        return OpenNetwork.resolvConf();
    }

    @Override
    public void close() throws IOException {
        Uninterrupted.run(() -> {
            try {
                cgroup.kill(KILL_PATIENCE);
                cgroup.remove();
                cgroups.removeIfEmpty();
            } finally {
                internet.disconnect(box);
                internet.sweep();
            }
        });
    }
}
