package dev.berth.sandbox.local;

import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import dev.berth.sandbox.local.template.Template;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import tools.jackson.databind.json.JsonMapper;

/**
 * The config.json that tells an OCI runtime what a sandbox is: its root, its namespaces, what it may see. The format is
 * the OCI runtime specification's.
 *
 * <p>The seccomp filter is not here: the guest installs it on itself as its first act. A runtime would compile it anew
 * for every sandbox, which takes longer than all the rest of a start.
 */
final class Bundle {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    static final String GUEST = "/.berth/guest";
    static final String LINK = "/.berth/link";

    /** What the guest starts with; it drops SYS_ADMIN, needed to install the filter, at once and for everybody. */
    private static final List<String> CAPABILITIES = List.of(
            "CAP_CHOWN",
            "CAP_DAC_OVERRIDE",
            "CAP_FOWNER",
            "CAP_FSETID",
            "CAP_KILL",
            "CAP_SETGID",
            "CAP_SETUID",
            "CAP_SETPCAP",
            "CAP_NET_BIND_SERVICE",
            "CAP_SYS_CHROOT",
            "CAP_SETFCAP",
            "CAP_AUDIT_WRITE",
            "CAP_SYS_ADMIN");

    private static final List<String> MASKED = List.of(
            "/proc/acpi",
            "/proc/asound",
            "/proc/kcore",
            "/proc/keys",
            "/proc/latency_stats",
            "/proc/sched_debug",
            "/proc/scsi",
            "/proc/timer_list",
            "/proc/timer_stats",
            "/sys/devices/virtual/powercap",
            "/sys/firmware",
            "/sys/fs/cgroup",
            "/sys/kernel/security");
    private static final List<String> READ_ONLY =
            List.of("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger");

    private Bundle() {}

    static void write(Box box, Path guest, RuntimeKind runtime, Template template, String token) throws IOException {
        Map<String, Object> config = Map.of(
                "ociVersion",
                "1.0.2",
                "hostname",
                "sandbox",
                "root",
                Map.of("path", box.root().toString(), "readonly", false),
                "process",
                process(template, token),
                "mounts",
                mounts(box, guest, runtime),
                "linux",
                linux());
        Path file = box.bundle().resolve("config.json");
        Files.write(file, JSON.writeValueAsBytes(config));
        Files.setPosixFilePermissions(file, Box.OWNER_ONLY_FILE);
    }

    private static Map<String, Object> process(Template template, String token) {
        return Map.of(
                "terminal",
                false,
                "cwd",
                "/",
                "user",
                Map.of("uid", 0, "gid", 0),
                "args",
                List.of(GUEST, "--socket", LINK + "/" + Box.SOCKET),
                "env",
                List.of("BERTH_TOKEN=" + token),
                "noNewPrivileges",
                !template.sudo(),
                "capabilities",
                Map.of("bounding", CAPABILITIES, "effective", CAPABILITIES, "permitted", CAPABILITIES));
    }

    private static List<Map<String, Object>> mounts(Box box, Path guest, RuntimeKind runtime) {
        List<Map<String, Object>> mounts = new ArrayList<>(List.of(
                mount("/proc", "proc", "proc", "nosuid", "noexec", "nodev"),
                mount("/dev", "tmpfs", "tmpfs", "nosuid", "strictatime", "mode=755", "size=64k"),
                mount(
                        "/dev/pts",
                        "devpts",
                        "devpts",
                        "nosuid",
                        "noexec",
                        "newinstance",
                        "ptmxmode=0666",
                        "mode=0620",
                        "gid=5"),
                mount("/dev/shm", "tmpfs", "shm", "nosuid", "noexec", "nodev", "mode=1777", "size=64m"),
                mount("/dev/mqueue", "mqueue", "mqueue", "nosuid", "noexec", "nodev"),
                mount("/sys", "sysfs", "sysfs", "nosuid", "noexec", "nodev", "ro"),
                mount(GUEST, "bind", guest.toString(), "bind", "ro", "nosuid", "nodev"),
                mount(LINK, "bind", box.link().toString(), "bind", "ro", "nosuid", "nodev", "noexec")));
        if (runtime == RuntimeKind.RUNSC) {
            // gVisor puts a tmpfs of its own over an empty /tmp, where no limit holds and which files() cannot see.
            mounts.add(mount("/tmp", "bind", box.root().resolve("tmp").toString(), "bind", "nosuid", "nodev"));
        } else {
            mounts.add(mount(
                    "/proc/sys/kernel/random/boot_id",
                    "bind",
                    box.bootId().toString(),
                    "bind",
                    "ro",
                    "nosuid",
                    "nodev"));
        }
        return mounts;
    }

    private static Map<String, Object> linux() {
        Map<String, Object> ids = Map.of("containerID", 0, "hostID", IdMap.BASE, "size", IdMap.SIZE);
        return Map.of(
                "namespaces",
                List.of(
                        Map.of("type", "user"),
                        Map.of("type", "pid"),
                        Map.of("type", "mount"),
                        Map.of("type", "network"),
                        Map.of("type", "ipc"),
                        Map.of("type", "uts"),
                        Map.of("type", "cgroup")),
                "uidMappings",
                List.of(ids),
                "gidMappings",
                List.of(ids),
                "maskedPaths",
                MASKED,
                "readonlyPaths",
                READ_ONLY);
    }

    private static Map<String, Object> mount(String where, String type, String source, String... options) {
        return Map.of("destination", where, "type", type, "source", source, "options", List.of(options));
    }
}
