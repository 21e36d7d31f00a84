package dev.berth.cli.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.cli.doctor.Finding.Status;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReportTest {
    private static final String V2 = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n";
    private static final String V1 = """
            cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0
            cgroup /sys/fs/cgroup/pids cgroup rw,pids 0 0
            cgroup /sys/fs/cgroup/cpu cgroup rw,cpu,cpuacct 0 0
            cgroup /sys/fs/cgroup/freezer cgroup rw,freezer 0 0
            cgroup /sys/fs/cgroup/devices cgroup rw,devices 0 0
            """;

    @TempDir
    Path root;

    private boolean isRoot = true;
    private long free = 100L << 30;

    @BeforeEach
    void aMachineThatHasEverything() throws IOException {
        write("/etc/os-release", "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
        write("/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
        write("/proc/sys/user/max_user_namespaces", "96349\n");
        write("/proc/self/ns/user", "");
        write("/proc/sys/kernel/seccomp/actions_avail", "kill_process errno allow\n");
        write("/proc/filesystems", "nodev\tproc\nnodev\toverlay\n\tbtrfs\n");
        write("/dev/loop-control", "");
        write("/proc/mounts", "proc /proc proc rw 0 0\n" + V2);
        write("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n");
        write("/proc/meminfo", "MemTotal:       16000000 kB\nMemAvailable:   8000000 kB\nSwapTotal: 0 kB\n");
        write("/proc/sys/fs/inotify/max_user_watches", "1048576");
        write("/proc/sys/fs/inotify/max_user_instances", "1024");
        for (String name :
                List.of("crun", "runc", "runsc", "mmdebstrap", "rg", "gcc", "make", "mvn", "bwrap", "setpriv")) {
            program("/usr/bin/" + name);
        }
        program("/usr/sbin/mkfs.btrfs");
    }

    @Test
    void findsNothingWrongWithAMachineThatHasEverything() {
        assertThat(report().findings()).allSatisfy(finding -> {
            assertThat(finding.status()).as(finding.name()).isEqualTo(Status.GOOD);
            assertThat(finding.fix()).isEmpty();
        });
        assertThat(finding("system").found()).isEqualTo("Debian GNU/Linux 12 (bookworm)");
        assertThat(finding("crun").found()).isEqualTo("1.8.1");
        assertThat(report().ready()).isTrue();
    }

    @Test
    void saysHowToGetEveryThingThatIsMissing() throws IOException {
        Path empty = Files.createDirectory(root.resolve("empty"));
        Report report = Report.of(machine(empty, "crun", List.of()));
        assertThat(report.ready()).isFalse();
        assertThat(report.findings())
                .filteredOn(finding -> finding.status() != Status.GOOD)
                .hasSizeGreaterThan(15)
                .allSatisfy(
                        finding -> assertThat(finding.fix()).as(finding.name()).isNotEmpty());
    }

    @Test
    void needsRoot() {
        isRoot = false;
        assertBad("root", "no", "run berth with sudo: mounts, cgroups and user ids need it");
    }

    @Test
    void needsAKernelWithOpenat2() throws IOException {
        write("/proc/sys/kernel/osrelease", "5.4.0-200-generic");
        assertBad("kernel", "5.4.0-200-generic", "boot Linux 5.6 or newer");
    }

    @Test
    void needsUserNamespacesThatAreAllowed() throws IOException {
        write("/proc/sys/user/max_user_namespaces", "0\n");
        assertBad("user namespaces", "forbidden", "sysctl -w user.max_user_namespaces=65536");
    }

    @Test
    void takesAFilesystemThatIsAModule() throws IOException {
        write("/proc/filesystems", "nodev\tproc\n");
        write(
                "/lib/modules/6.1.0-18-amd64/modules.dep",
                "kernel/fs/overlayfs/overlay.ko:\nkernel/fs/btrfs/btrfs.ko:\n");
        assertThat(finding("overlayfs").found()).isEqualTo("as a module");
        assertThat(report().ready()).isTrue();
    }

    @Test
    void canDoWithoutBtrfsButNotWithoutOverlay() throws IOException {
        write("/proc/filesystems", "nodev\toverlay\n");
        assertThat(finding("btrfs").status()).isEqualTo(Status.LACKING);
        assertThat(report().ready()).isTrue();
        write("/proc/filesystems", "\tbtrfs\n");
        assertThat(report().ready()).isFalse();
    }

    @Test
    void knowsTheThreeLayoutsOfCgroups() throws IOException {
        assertThat(finding("cgroups").found()).isEqualTo("v2");
        assertThat(finding("controllers").found()).isEqualTo("cpu memory pids");
        write("/proc/mounts", V1);
        assertThat(finding("cgroups").found()).isEqualTo("v1");
        assertThat(finding("controllers").found()).isEqualTo("cpu devices freezer memory pids");
        write("/proc/mounts", V1 + "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n");
        assertThat(finding("cgroups").found()).isEqualTo("v1 and v2 (hybrid)");
        assertThat(report().ready()).isTrue();
    }

    @Test
    void needsTheControllersThatEnforceLimits() throws IOException {
        write("/sys/fs/cgroup/cgroup.controllers", "cpu pids\n");
        assertBad("controllers", "without memory", "boot with cgroup_enable=memory");
        write("/proc/mounts", V1.replace("freezer", "net_cls"));
        assertBad("controllers", "without freezer", "boot with cgroup_enable=freezer");
    }

    @Test
    void needsCgroupsThatCanBeWritten() throws IOException {
        write("/proc/mounts", V2.replace("rw", "ro"));
        assertBad("cgroups", "v2, read-only: /sys/fs/cgroup", "mount -o remount,rw /sys/fs/cgroup");
        write("/proc/mounts", "proc /proc proc rw 0 0\n");
        assertThat(finding("cgroups").status()).isEqualTo(Status.BAD);
    }

    @Test
    void needsTheRuntimeThatIsToBeUsedAndNoOther() throws IOException {
        Files.delete(root.resolve("usr/bin/runsc"));
        assertThat(finding("runsc"))
                .isEqualTo(Finding.lacking("runsc", "missing: no --runtime runsc", "apt-get install -y runsc"));
        assertThat(report().ready()).isTrue();
        assertThat(Report.of(machine(root, "runsc", List.of())).ready()).isFalse();
    }

    @Test
    void needsSomeDisk() {
        free = 2L << 30;
        assertThat(finding("disk").status()).isEqualTo(Status.LACKING);
        free = 100L << 20;
        assertThat(finding("disk").status()).isEqualTo(Status.BAD);
        assertThat(finding("disk").found()).isEqualTo("0.0g free at /var/lib/berth");
    }

    private void assertBad(String name, String found, String fix) {
        assertThat(finding(name)).isEqualTo(Finding.bad(name, found, fix));
        assertThat(report().ready()).isFalse();
    }

    private Finding finding(String name) {
        return report().findings().stream()
                .filter(finding -> finding.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    private Report report() {
        return Report.of(machine(root, "crun", List.of("base:1")));
    }

    private Machine machine(Path at, String runtime, List<String> templates) {
        return new Machine(
                at,
                isRoot,
                "25.0.3",
                Path.of("/var/lib/berth"),
                runtime,
                templates,
                List.of(Path.of("/usr/sbin"), Path.of("/usr/bin")),
                command -> Optional.of(Path.of(command.getFirst()).getFileName() + " version 1.8.1"),
                directory -> free);
    }

    private void write(String file, String content) throws IOException {
        Path path = root.resolve(file.substring(1));
        Files.createDirectories(path.getParent());
        Files.writeString(path, content);
    }

    private void program(String file) throws IOException {
        write(file, "");
        Files.setPosixFilePermissions(root.resolve(file.substring(1)), PosixFilePermissions.fromString("rwxr-xr-x"));
    }
}
