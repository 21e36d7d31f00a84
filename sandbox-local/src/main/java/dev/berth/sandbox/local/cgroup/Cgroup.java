package dev.berth.sandbox.local.cgroup;

import dev.berth.sandbox.Limits;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.Processes;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * The cgroup of one sandbox: its limits, its freezer, and the truth about which processes it has.
 *
 * <p>The provider makes and owns these itself instead of leaving them to the OCI runtime: then they are the same for all
 * runtimes, the runtime starts faster, and limits can be changed without it.
 */
public abstract sealed class Cgroup permits CgroupV1, CgroupV2 {
    private static final long POLL_NANOS = 500_000;

    /** How often something in the sandbox ran into a limit since its cgroup was made. */
    public record Events(long memory, long pids) {}

    /** The directories a process has to enter to be in this cgroup. */
    public abstract List<Path> directories();

    public abstract void apply(Limits limits) throws IOException;

    public abstract void freeze(Duration patience) throws IOException;

    public abstract void thaw() throws IOException;

    public abstract boolean frozen() throws IOException;

    public abstract Events events() throws IOException;

    public abstract long memoryBytes() throws IOException;

    /** How much of that is cache of files, which the kernel gives up when the room is needed. */
    public abstract long cacheBytes() throws IOException;

    public abstract Duration cpuTime() throws IOException;

    /** The directory whose process list and count is taken as the truth. */
    protected abstract Path membership();

    protected abstract void killOnce() throws IOException;

    public void create() throws IOException {
        for (Path directory : directories()) {
            Files.createDirectories(directory);
        }
    }

    public boolean exists() {
        return Files.isDirectory(membership());
    }

    public List<Integer> pids() throws IOException {
        String procs;
        try {
            procs = read(membership().resolve("cgroup.procs"));
        } catch (NoSuchFileException e) {
            return List.of();
        }
        return procs.lines().map(Integer::valueOf).toList();
    }

    public boolean populated() throws IOException {
        return !pids().isEmpty();
    }

    /** Ends every process in it. */
    public void kill(Duration patience) throws IOException {
        if (!exists()) {
            return;
        }
        thaw();
        waitFor(patience, "end the sandbox's processes", () -> {
            killOnce();
            return !populated();
        });
    }

    /** Removes the empty cgroup. */
    public void remove() throws IOException {
        for (Path directory : directories()) {
            waitFor(Duration.ofSeconds(5), "remove cgroup " + directory, () -> {
                try {
                    // The last process of a cgroup may be gone from its list a moment before the kernel lets go of it.
                    Files.deleteIfExists(directory);
                    return true;
                } catch (DirectoryNotEmptyException e) {
                    throw e;
                } catch (FileSystemException e) {
                    return false;
                }
            });
        }
    }

    protected final void killEach() throws IOException {
        pids().forEach(Processes::kill);
    }

    /** Something the kernel does soon but tells nobody about. */
    protected interface Condition {
        boolean holds() throws IOException;
    }

    protected static void waitFor(Duration patience, String what, Condition condition) throws IOException {
        long deadline = System.nanoTime() + patience.toNanos();
        long pause = POLL_NANOS / 4;
        while (!condition.holds()) {
            if (System.nanoTime() > deadline) {
                throw SandboxException.timeout("could not " + what + " within " + patience.toSeconds() + " s");
            }
            LockSupport.parkNanos(pause);
            pause = Math.min(pause * 2, 10 * POLL_NANOS);
        }
    }

    protected static String read(Path file) throws IOException {
        return new String(Files.readAllBytes(file), StandardCharsets.US_ASCII).strip();
    }

    protected static void write(Path file, String value) throws IOException {
        Files.write(file, value.getBytes(StandardCharsets.US_ASCII));
    }

    /** The number behind a name in a file of {@code name number} lines, 0 if it is not there. */
    protected static long field(Path file, String name) throws IOException {
        List<String> lines = new ArrayList<>(read(file).lines().toList());
        for (String line : lines) {
            if (line.startsWith(name + " ")) {
                return Long.parseLong(line.substring(name.length() + 1));
            }
        }
        return 0;
    }
}
