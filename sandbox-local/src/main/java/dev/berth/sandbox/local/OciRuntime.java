package dev.berth.sandbox.local;

import dev.berth.sandbox.Capability;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** How one OCI runtime is called to start a sandbox. Everything after that goes without it. */
final class OciRuntime {
    private final RuntimeKind kind;
    private final List<String> options;

    private OciRuntime(RuntimeKind kind, List<String> options) {
        this.kind = kind;
        this.options = options;
    }

    static OciRuntime of(RuntimeKind kind) {
        String help = kind == RuntimeKind.RUNSC ? output(kind, "--help") : output(kind, "--version");
        return new OciRuntime(
                kind,
                switch (kind) {
                    case CRUN -> List.of("crun", "--cgroup-manager=disabled");
                    case RUNC -> List.of("runc");
                    case RUNSC -> gvisor(help);
                });
    }

    /** Builds before 2023 know neither the systrap platform nor today's name for letting the guest dial out. */
    private static List<String> gvisor(String help) {
        boolean old = help.contains("fsgofer-host-uds");
        return List.of(
                "runsc",
                "--ignore-cgroups",
                "--network=none",
                "--file-access=shared",
                old ? "--platform=ptrace" : "--platform=systrap",
                old ? "--fsgofer-host-uds" : "--host-uds=open");
    }

    RuntimeKind kind() {
        return kind;
    }

    String name() {
        return options.getFirst();
    }

    /** The arguments that start a sandbox in the background. */
    List<String> run(Path bundle, Path state, String name) {
        List<String> command = new java.util.ArrayList<>(options);
        command.addAll(List.of("--root", state.toString(), "run", "--detach", "--bundle", bundle.toString(), name));
        return command;
    }

    /** What sandboxes of this runtime cannot do: gVisor's processes are not the machine's, so cgroups see only gVisor. */
    Set<Capability> missing() {
        return kind == RuntimeKind.RUNSC
                ? EnumSet.of(Capability.MEMORY_LIMIT, Capability.MEMORY_LIMIT_REPORTED, Capability.PIDS_LIMIT)
                : EnumSet.noneOf(Capability.class);
    }

    private static String output(RuntimeKind kind, String option) {
        String program = kind.name().toLowerCase(java.util.Locale.ROOT);
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
                    dev.berth.sandbox.ErrorCode.UNSUPPORTED,
                    program + " is not installed; install it with: apt-get install -y " + program,
                    e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("interrupted while looking at " + program, e);
        }
    }
}
