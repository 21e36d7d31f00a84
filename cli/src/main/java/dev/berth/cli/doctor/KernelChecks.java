package dev.berth.cli.doctor;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** What the kernel can do. */
final class KernelChecks {
    private static final Pattern RELEASE = Pattern.compile("([0-9]+)\\.([0-9]+).*");
    /** openat2(2), by which files are served, came with 5.6. */
    private static final int OLDEST = 5_006;

    private KernelChecks() {}

    static Stream<Finding> all(Machine machine) {
        return Stream.of(
                version(machine),
                userNamespaces(machine),
                seccomp(machine),
                overlay(machine),
                btrfs(machine),
                loop(machine),
                kvm(machine));
    }

    private static Finding version(Machine machine) {
        String release = machine.read("/proc/sys/kernel/osrelease").orElse("unknown");
        Matcher numbers = RELEASE.matcher(release);
        boolean isNew = numbers.matches()
                && Integer.parseInt(numbers.group(1)) * 1000 + Integer.parseInt(numbers.group(2)) >= OLDEST;
        return isNew ? Finding.good("kernel", release) : Finding.bad("kernel", release, "boot Linux 5.6 or newer");
    }

    private static Finding userNamespaces(Machine machine) {
        Optional<Long> most = machine.number("/proc/sys/user/max_user_namespaces");
        if (!machine.exists("/proc/self/ns/user")) {
            return Finding.bad("user namespaces", "none", "boot a kernel with CONFIG_USER_NS");
        } else if (most.isPresent() && most.get() == 0) {
            return Finding.bad("user namespaces", "forbidden", "sysctl -w user.max_user_namespaces=65536");
        }
        return Finding.good("user namespaces", most.map(n -> "up to " + n).orElse("yes"));
    }

    private static Finding seccomp(Machine machine) {
        return machine.read("/proc/sys/kernel/seccomp/actions_avail")
                .map(actions -> Finding.good("seccomp", "filter"))
                .orElseGet(() -> Finding.bad("seccomp", "none", "boot a kernel with CONFIG_SECCOMP_FILTER"));
    }

    private static Finding overlay(Machine machine) {
        return filesystem(machine, "overlay")
                .map(found -> Finding.good("overlayfs", found))
                .orElseGet(() -> Finding.bad("overlayfs", "none", "boot a kernel with CONFIG_OVERLAY_FS"));
    }

    private static Finding btrfs(Machine machine) {
        return filesystem(machine, "btrfs")
                .map(found -> Finding.good("btrfs", found))
                .orElseGet(() -> Finding.lacking(
                        "btrfs",
                        "none: checkpoints are copies, no hard disk limit",
                        "boot a kernel with CONFIG_BTRFS_FS"));
    }

    private static Finding loop(Machine machine) {
        return machine.exists("/dev/loop-control")
                ? Finding.good("loop devices", "yes")
                : Finding.lacking(
                        "loop devices",
                        "none: a btrfs pool file cannot be mounted",
                        "modprobe loop, or put the data directory on btrfs");
    }

    private static Finding kvm(Machine machine) {
        return Finding.good("kvm", machine.exists("/dev/kvm") ? "there, not used" : "none, not needed");
    }

    /** Whether it is there, or is a module that the kernel loads at the first mount. */
    private static Optional<String> filesystem(Machine machine, String name) {
        boolean isThere = machine.read("/proc/filesystems").stream()
                .flatMap(String::lines)
                .anyMatch(line -> line.substring(line.indexOf('\t') + 1).equals(name));
        String release = machine.read("/proc/sys/kernel/osrelease").orElse("");
        boolean isModule = machine.read("/lib/modules/" + release + "/modules.dep").stream()
                .anyMatch(modules -> modules.contains("/" + name + ".ko"));
        return isThere ? Optional.of("yes") : isModule ? Optional.of("as a module") : Optional.empty();
    }
}
