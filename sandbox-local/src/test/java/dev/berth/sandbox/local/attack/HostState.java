package dev.berth.sandbox.local.attack;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What attacks on the machine would change.
 *
 * @param settings values of the kernel
 * @param best the best rank, for processors and before the OOM killer, of the processes that serve sandboxes
 */
record HostState(Map<String, String> settings, String best) {
    private static final List<String> SETTINGS = List.of(
            "/proc/sys/kernel/core_pattern",
            "/proc/sys/kernel/modprobe",
            "/proc/sys/kernel/hostname",
            "/proc/sys/kernel/sysrq",
            "/proc/sys/kernel/randomize_va_space",
            "/proc/sys/kernel/yama/ptrace_scope",
            "/proc/sys/vm/overcommit_memory",
            "/proc/sys/vm/swappiness",
            "/proc/sys/fs/suid_dumpable",
            "/sys/kernel/uevent_helper");

    static HostState now(Path data) throws IOException {
        Map<String, String> settings = new TreeMap<>();
        for (String setting : SETTINGS) {
            if (Files.exists(Path.of(setting))) {
                settings.put(setting, Files.readString(Path.of(setting)));
            }
        }
        return new HostState(settings, best(data));
    }

    private static String best(Path data) {
        long[] best = {Long.MAX_VALUE, Long.MAX_VALUE};
        ProcessHandle.allProcesses()
                .filter(process -> process.info()
                        .commandLine()
                        .filter(line -> line.contains(data.toString()) && !line.contains("java"))
                        .isPresent())
                .forEach(process -> {
                    Path proc = Path.of("/proc", Long.toString(process.pid()));
                    try {
                        String stat = Files.readString(proc.resolve("stat"));
                        String[] fields =
                                stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
                        best[0] = Math.min(best[0], Long.parseLong(fields[16]));
                        best[1] = Math.min(
                                best[1],
                                Long.parseLong(Files.readString(proc.resolve("oom_score_adj"))
                                        .strip()));
                    } catch (IOException e) {
                        // It has ended meanwhile.
                        best[0] = Math.min(best[0], 19);
                    }
                });
        return "nice " + best[0] + ", oom " + best[1];
    }
}
