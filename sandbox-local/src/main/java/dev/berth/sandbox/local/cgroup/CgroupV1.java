package dev.berth.sandbox.local.cgroup;

import dev.berth.sandbox.Limits;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/** A cgroup of version 1: one directory in each controller's hierarchy, see cgroups(7). */
final class CgroupV1 extends Cgroup {
    private static final long STUCK_NANOS = 300_000_000;
    private static final long MOMENT_NANOS = 10_000_000;

    private static final int PERIOD_MICROS = 100_000;
    /** What version 1 calls ordinary is 1024, what we call ordinary is 100. */
    private static final int SHARES_PER_WEIGHT_100 = 1024;

    private final Map<String, Path> byController;

    CgroupV1(Map<String, Path> byController) {
        this.byController = byController;
    }

    @Override
    public List<Path> directories() {
        return byController.values().stream().distinct().toList();
    }

    @Override
    protected Path membership() {
        return dir("pids");
    }

    @Override
    public void create() throws IOException {
        super.create();
        Path devices = byController.get("devices");
        if (devices != null) {
            write(devices.resolve("devices.deny"), "a");
            for (String device : ALLOWED_DEVICES) {
                write(devices.resolve("devices.allow"), device);
            }
        }
    }

    /** null, zero, full, random, urandom, tty, ptmx and terminals: what every program expects and nothing else. */
    private static final List<String> ALLOWED_DEVICES = List.of(
            "c 1:3 rwm", "c 1:5 rwm", "c 1:7 rwm", "c 1:8 rwm", "c 1:9 rwm", "c 5:0 rwm", "c 5:2 rwm", "c 136:* rwm");

    @Override
    public void apply(Limits limits) throws IOException {
        applyMemory(limits.memoryBytes());
        write(dir("pids").resolve("pids.max"), Integer.toString(limits.pids()));
        long shares = Math.clamp((long) limits.cpuWeight() * SHARES_PER_WEIGHT_100 / 100, 2, 262_144);
        write(dir("cpu").resolve("cpu.shares"), Long.toString(shares));
        Path quota = dir("cpu").resolve("cpu.cfs_quota_us");
        if (Files.exists(quota)) {
            write(quota, limits.cpus() == 0 ? "-1" : Long.toString((long) (limits.cpus() * PERIOD_MICROS)));
        }
    }

    /** Memory with swap may never be below memory alone, so the order depends on the direction. */
    private void applyMemory(long bytes) throws IOException {
        Path memory = dir("memory").resolve("memory.limit_in_bytes");
        Path withSwap = dir("memory").resolve("memory.memsw.limit_in_bytes");
        String value = Long.toString(bytes);
        if (!Files.exists(withSwap)) {
            write(memory, value);
        } else if (bytes > Long.parseLong(read(memory))) {
            write(withSwap, value);
            write(memory, value);
        } else {
            write(memory, value);
            write(withSwap, value);
        }
    }

    /**
     * Freezes it. This freezer can stay half-way for ever when a process waits for another that is frozen already, as a
     * tracer does for its tracee under gVisor; letting all of them run for a moment gets it out of that.
     */
    @Override
    public void freeze(Duration patience) throws IOException {
        Path state = dir("freezer").resolve("freezer.state");
        write(state, "FROZEN");
        long[] since = {System.nanoTime()};
        try {
            waitFor(patience, "freeze the sandbox", () -> {
                if (read(state).equals("FROZEN")) {
                    return true;
                }
                if (System.nanoTime() - since[0] > STUCK_NANOS) {
                    write(state, "THAWED");
                    LockSupport.parkNanos(MOMENT_NANOS);
                    write(state, "FROZEN");
                    since[0] = System.nanoTime();
                }
                return false;
            });
        } catch (RuntimeException e) {
            thaw();
            throw e;
        }
    }

    @Override
    public void thaw() throws IOException {
        // One that a crash left half-made has no freezer yet, and has to be removable all the same.
        if (frozen()) {
            write(dir("freezer").resolve("freezer.state"), "THAWED");
        }
    }

    @Override
    public boolean frozen() throws IOException {
        Path state = dir("freezer").resolve("freezer.state");
        return Files.exists(state) && !read(state).equals("THAWED");
    }

    @Override
    public Events events() throws IOException {
        return new Events(
                field(dir("memory").resolve("memory.oom_control"), "oom_kill"),
                field(dir("pids").resolve("pids.events"), "max"));
    }

    @Override
    public long memoryBytes() throws IOException {
        return Long.parseLong(read(dir("memory").resolve("memory.usage_in_bytes")));
    }

    @Override
    public long cacheBytes() throws IOException {
        return field(dir("memory").resolve("memory.stat"), "total_cache");
    }

    @Override
    public Duration cpuTime() throws IOException {
        Path account = byController.get("cpuacct");
        return account == null
                ? Duration.ZERO
                : Duration.ofNanos(Long.parseLong(read(account.resolve("cpuacct.usage"))));
    }

    @Override
    protected void killOnce() throws IOException {
        killEach();
    }

    private Path dir(String controller) {
        Path directory = byController.get(controller);
        if (directory == null) {
            throw new IllegalStateException("no cgroup controller " + controller);
        }
        return directory;
    }
}
