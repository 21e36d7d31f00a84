package dev.berth.sandbox.local;

import dev.berth.sandbox.Capability;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** How one OCI runtime is called to start a sandbox, and how it differs from the others. What gVisor lacks, see docs/gvisor.md. */
final class OciRuntime {
    private static final long MIB = 1 << 20;
    /** The first gVisor builds whose terminals send signals and whose statx takes all flags are of early 2023. */
    private static final int GVISOR_COMPLETE = 2023_04_01;

    private static final Pattern GVISOR_DATE = Pattern.compile("20[0-9]{6}");

    private final RuntimeKind kind;
    private final List<String> options;
    private final boolean incomplete;

    private OciRuntime(RuntimeKind kind, List<String> options, boolean incomplete) {
        this.kind = kind;
        this.options = options;
        this.incomplete = incomplete;
    }

    static OciRuntime of(RuntimeKind kind) {
        String version = output(kind, "--version");
        return switch (kind) {
            case CRUN -> new OciRuntime(kind, List.of("crun", "--cgroup-manager=disabled"), false);
            case RUNC -> new OciRuntime(kind, List.of("runc"), false);
            case RUNSC -> new OciRuntime(kind, gvisor(output(kind, "flags")), beforeComplete(version));
        };
    }

    /** Builds before 2023 know neither the systrap platform nor today's name for letting the guest dial out. */
    private static List<String> gvisor(String flags) {
        boolean old = flags.contains("fsgofer-host-uds");
        return List.of(
                "runsc",
                "--ignore-cgroups",
                "--network=none",
                "--file-access=shared",
                old ? "--platform=ptrace" : "--platform=systrap",
                old ? "--fsgofer-host-uds" : "--host-uds=open");
    }

    /** Versions are dates, {@code release-20230320.0} or Debian's {@code 0.0~20221219.0}. */
    static boolean beforeComplete(String version) {
        Matcher date = GVISOR_DATE.matcher(version);
        return date.find() && Integer.parseInt(date.group()) < GVISOR_COMPLETE;
    }

    RuntimeKind kind() {
        return kind;
    }

    String name() {
        return options.getFirst();
    }

    /** The arguments that start a sandbox in the background. */
    List<String> run(Path bundle, Path state, String name) {
        List<String> command = new ArrayList<>(options);
        command.addAll(List.of("--root", state.toString(), "run", "--detach", "--bundle", bundle.toString(), name));
        return command;
    }

    /** What sandboxes of this runtime cannot do: gVisor's processes are not the machine's, so cgroups see only gVisor. */
    Set<Capability> missing() {
        Set<Capability> missing = EnumSet.noneOf(Capability.class);
        if (!takesBootId()) {
            missing.add(Capability.BOOT_ID);
        }
        if (kind == RuntimeKind.RUNSC) {
            missing.addAll(Set.of(
                    Capability.MEMORY_LIMIT,
                    Capability.MEMORY_LIMIT_REPORTED,
                    Capability.PIDS_LIMIT,
                    Capability.ATTRIBUTES,
                    Capability.OPEN_NETWORK));
        }
        if (incomplete) {
            missing.addAll(Set.of(Capability.PTY_SIGNALS, Capability.SESSIONS));
        }
        return missing;
    }

    /**
     * What the cgroup has to allow so that the sandbox gets its limits: gVisor is in it too. Its ptrace platform has, for
     * each process inside, a process outside with a thread for every thread of gVisor that has run it; when it cannot
     * make one it stands still.
     */
    Limits inCgroup(Limits limits) {
        if (kind != RuntimeKind.RUNSC) {
            return limits;
        }
        return limits.withMemory(limits.memoryBytes() + 64 * MIB + limits.pids() * (MIB / 2))
                .withPids(1024 + 64 * limits.pids());
    }

    /** runc insists on managing cgroups: it is told which, and kept from seeing others. */
    boolean managesCgroups() {
        return kind == RuntimeKind.RUNC;
    }

    /** gVisor has no boot_id to mount over, and runc refuses to mount anything in /proc that it does not know. */
    boolean takesBootId() {
        return kind == RuntimeKind.CRUN;
    }

    /** gVisor mounts a tmpfs on a /tmp that is empty, and its files would go with the processes. */
    boolean coversEmptyTmp() {
        return kind == RuntimeKind.RUNSC;
    }

    /** Whether programs have to be kept from a flag of stat that this build refuses, see guest/gvisor/statx.c. */
    boolean needsStatxPreload() {
        return incomplete;
    }

    private static String output(RuntimeKind kind, String option) {
        String program = kind.name().toLowerCase(Locale.ROOT);
        try {
            Process process = new ProcessBuilder(program, option)
                    .redirectErrorStream(true)
                    .start();
            process.getOutputStream().close();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            process.waitFor(10, TimeUnit.SECONDS);
            return output;
        } catch (IOException e) {
            throw new SandboxException(
                    ErrorCode.UNSUPPORTED,
                    program + " is not installed; install it with: apt-get install -y " + program,
                    e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("interrupted while looking at " + program, e);
        }
    }
}
