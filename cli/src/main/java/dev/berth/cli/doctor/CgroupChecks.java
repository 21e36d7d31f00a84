package dev.berth.cli.doctor;

import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** How cgroups are laid out, and which of the controllers that enforce limits are there. See cgroups(7). */
final class CgroupChecks {
    private static final Set<String> NEEDED = Set.of("memory", "pids", "cpu");
    /** Controllers of their own in v1; in v2 a file and a BPF program in every group do their work. */
    private static final Set<String> NEEDED_IN_V1 = Set.of("freezer", "devices");

    private CgroupChecks() {}

    static Stream<Finding> all(Machine machine) {
        List<Mount> mounts = machine.read("/proc/mounts").stream()
                .flatMap(String::lines)
                .map(line -> line.split(" "))
                .filter(fields -> fields.length > 3 && fields[2].startsWith("cgroup"))
                .map(fields -> new Mount(fields[1], fields[2].equals("cgroup2"), List.of(fields[3].split(","))))
                .toList();
        if (mounts.isEmpty()) {
            return Stream.of(
                    Finding.bad("cgroups", "not mounted", "mount -t cgroup2 cgroup2 /sys/fs/cgroup, or use systemd"));
        }
        boolean hasV1 = mounts.stream().anyMatch(mount -> !mount.v2);
        boolean hasV2 = mounts.stream().anyMatch(Mount::v2);
        return Stream.of(layout(mounts, hasV1, hasV2), controllers(machine, mounts, hasV1));
    }

    private record Mount(String directory, boolean v2, List<String> options) {}

    private static Finding layout(List<Mount> mounts, boolean hasV1, boolean hasV2) {
        String layout = hasV1 && hasV2 ? "v1 and v2 (hybrid)" : hasV2 ? "v2" : "v1";
        String readOnly = mounts.stream()
                .filter(mount -> mount.options.contains("ro"))
                .map(Mount::directory)
                .collect(Collectors.joining(" "));
        return readOnly.isEmpty()
                ? Finding.good("cgroups", layout)
                : Finding.bad("cgroups", layout + ", read-only: " + readOnly, "mount -o remount,rw " + readOnly);
    }

    private static Finding controllers(Machine machine, List<Mount> mounts, boolean hasV1) {
        Set<String> there = new TreeSet<>();
        for (Mount mount : mounts) {
            if (mount.v2) {
                there.addAll(List.of(machine.read(mount.directory + "/cgroup.controllers")
                        .orElse("")
                        .split(" ")));
            } else {
                there.addAll(mount.options); // a v1 mount names its controllers among its options
            }
        }
        Set<String> missing = new TreeSet<>(NEEDED);
        missing.addAll(hasV1 ? NEEDED_IN_V1 : Set.of());
        there.retainAll(missing);
        missing.removeAll(there);
        return missing.isEmpty()
                ? Finding.good("controllers", String.join(" ", there))
                : Finding.bad(
                        "controllers",
                        "without " + String.join(" ", missing),
                        "boot with cgroup_enable=" + String.join(",", missing));
    }
}
