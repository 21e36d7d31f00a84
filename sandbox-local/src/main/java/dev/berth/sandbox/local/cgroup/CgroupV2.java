package dev.berth.sandbox.local.cgroup;

import dev.berth.sandbox.Limits;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** A cgroup of version 2: one directory for everything, see the kernel's admin-guide/cgroup-v2. */
final class CgroupV2 extends Cgroup {
    private static final int PERIOD_MICROS = 100_000;

    private final Path directory;

    CgroupV2(Path directory) {
        this.directory = directory;
    }

    @Override
    public List<Path> directories() {
        return List.of(directory);
    }

    @Override
    protected Path membership() {
        return directory;
    }

    @Override
    public void apply(Limits limits) throws IOException {
        write(file("memory.max"), Long.toString(limits.memoryBytes()));
        if (Files.exists(file("memory.swap.max"))) {
            write(file("memory.swap.max"), "0");
        }
        write(file("pids.max"), Integer.toString(limits.pids()));
        write(file("cpu.weight"), Integer.toString(limits.cpuWeight()));
        String quota = limits.cpus() == 0 ? "max" : Long.toString((long) (limits.cpus() * PERIOD_MICROS));
        write(file("cpu.max"), quota + " " + PERIOD_MICROS);
    }

    @Override
    public void freeze(Duration patience) throws IOException {
        write(file("cgroup.freeze"), "1");
        try {
            waitFor(patience, "freeze the sandbox", this::frozen);
        } catch (RuntimeException e) {
            thaw();
            throw e;
        }
    }

    @Override
    public void thaw() throws IOException {
        write(file("cgroup.freeze"), "0");
    }

    @Override
    public boolean frozen() throws IOException {
        return Files.exists(file("cgroup.events")) && field(file("cgroup.events"), "frozen") == 1;
    }

    @Override
    public Events events() throws IOException {
        return new Events(field(file("memory.events"), "oom_kill"), field(file("pids.events"), "max"));
    }

    @Override
    public long memoryBytes() throws IOException {
        return Long.parseLong(read(file("memory.current")));
    }

    @Override
    public long cacheBytes() throws IOException {
        return field(file("memory.stat"), "file");
    }

    @Override
    public Duration cpuTime() throws IOException {
        return Duration.ofNanos(1000 * field(file("cpu.stat"), "usage_usec"));
    }

    @Override
    protected void killOnce() throws IOException {
        if (Files.exists(file("cgroup.kill"))) {
            write(file("cgroup.kill"), "1");
        } else {
            killEach();
        }
    }

    private Path file(String name) {
        return directory.resolve(name);
    }
}
