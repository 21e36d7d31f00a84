package dev.berth.cli.doctor;

import java.util.Optional;
import java.util.stream.Stream;

/** How much there is of what runs out. */
final class ResourceChecks {
    private static final long MIB = 1L << 20;
    private static final long GIB = 1L << 30;

    private ResourceChecks() {}

    static Stream<Finding> all(Machine machine) {
        return Stream.of(
                memory(machine),
                swap(machine),
                disk(machine),
                atLeast(machine, "inotify watches", "fs.inotify.max_user_watches", 65_536),
                atLeast(machine, "inotify instances", "fs.inotify.max_user_instances", 512),
                templates(machine));
    }

    private static Finding memory(Machine machine) {
        long free = meminfo(machine, "MemAvailable").orElse(0L);
        String found = gigabytes(free) + " of "
                + gigabytes(meminfo(machine, "MemTotal").orElse(0L)) + " free";
        return free >= GIB
                ? Finding.good("memory", found)
                : Finding.lacking(
                        "memory", found, "a sandbox takes up to 512m unless told otherwise; free some memory");
    }

    private static Finding swap(Machine machine) {
        long total = meminfo(machine, "SwapTotal").orElse(0L);
        return Finding.good("swap", total == 0 ? "none, not needed" : gigabytes(total));
    }

    private static Finding disk(Machine machine) {
        long free = machine.freeBytes().applyAsLong(machine.data());
        String found = gigabytes(free) + " free at " + machine.data();
        if (free < 256 * MIB) {
            return Finding.bad("disk", found, "free some space, or name another place by --data or BERTH_DATA");
        } else if (free < 5 * GIB) {
            return Finding.lacking("disk", found, "a sandbox may write up to 10g unless told otherwise");
        }
        return Finding.good("disk", found);
    }

    private static Finding atLeast(Machine machine, String name, String key, long enough) {
        long value = machine.number("/proc/sys/" + key.replace('.', '/')).orElse(0L);
        return value >= enough
                ? Finding.good(name, Long.toString(value))
                : Finding.lacking(
                        name, value + ": few directories can be watched at a time", "sysctl -w " + key + "=" + enough);
    }

    private static Finding templates(Machine machine) {
        return machine.templates().stream().anyMatch(name -> name.startsWith("base:"))
                ? Finding.good("templates", String.join(" ", machine.templates()))
                : Finding.lacking(
                        "templates", "'base' is not built; 'host' is used in its place", "berth template build");
    }

    private static Optional<Long> meminfo(Machine machine, String name) {
        return machine.read("/proc/meminfo").stream()
                .flatMap(String::lines)
                .filter(line -> line.startsWith(name + ":"))
                .map(line -> Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024)
                .findFirst();
    }

    private static String gigabytes(long bytes) {
        long tenths = bytes * 10 / GIB;
        return tenths / 10 + "." + tenths % 10 + "g";
    }
}
