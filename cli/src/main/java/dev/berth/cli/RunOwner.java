package dev.berth.cli;

import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxProvider;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The process that a sandbox of {@code berth run} lives for, kept as a label of the sandbox: its id and the time it was
 * started, since ids are used again. A sandbox whose owner is dead was left by one that was killed.
 *
 * @param started in clock ticks after boot, field 22 of proc_pid_stat(5)
 */
record RunOwner(long pid, long started) {
    static final String LABEL = "berth.run";
    private static final Path PROC = Path.of("/proc");

    static Map<String, String> labels() {
        long pid = ProcessHandle.current().pid();
        return startOf(PROC, pid)
                .map(started -> Map.of(LABEL, pid + ":" + started))
                .orElse(Map.of());
    }

    /** Destroys what dead owners left. */
    static void sweep(SandboxProvider provider) {
        List<Sandbox> orphans = provider.list().stream()
                .filter(sandbox ->
                        of(sandbox).filter(owner -> !owner.isAlive(PROC)).isPresent())
                .toList();
        orphans.forEach(Sandbox::destroy);
    }

    boolean isAlive(Path proc) {
        return startOf(proc, pid).filter(start -> start == started).isPresent();
    }

    static Optional<RunOwner> parse(String label) {
        String[] parts = label.split(":");
        try {
            return parts.length == 2
                    ? Optional.of(new RunOwner(Long.parseLong(parts[0]), Long.parseLong(parts[1])))
                    : Optional.empty();
        } catch (NumberFormatException e) {
            return Optional.empty();
        }
    }

    private static Optional<RunOwner> of(Sandbox sandbox) {
        return Optional.ofNullable(sandbox.info().labels().get(LABEL)).flatMap(RunOwner::parse);
    }

    private static Optional<Long> startOf(Path proc, long pid) {
        try {
            String stat = Files.readString(proc.resolve(pid + "/stat"));
            String[] afterName = stat.substring(stat.lastIndexOf(')') + 2).split(" "); // the name may hold anything
            return Optional.of(Long.parseLong(afterName[19]));
        } catch (IOException e) {
            return Optional.empty();
        }
    }
}
