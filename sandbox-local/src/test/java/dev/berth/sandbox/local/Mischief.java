package dev.berth.sandbox.local;

import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.local.cgroup.Cgroup;
import dev.berth.sandbox.local.cgroup.Cgroups;
import dev.berth.sandbox.local.linux.Processes;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/** What somebody on the machine may do to a sandbox behind the server's back. */
public final class Mischief {
    private final TestMachine machine;

    public Mischief(TestMachine machine) {
        this.machine = machine;
    }

    /** Ends the guest, and with it all that runs. */
    public void killGuest(Sandbox sandbox) throws IOException {
        Processes.kill(guest(sandbox));
    }

    /** Keeps the guest from answering, without ending it. */
    public void suspendGuest(Sandbox sandbox) throws IOException, InterruptedException {
        int status = new ProcessBuilder("kill", "-STOP", Integer.toString(guest(sandbox)))
                .start()
                .waitFor();
        if (status != 0) {
            throw new IOException("kill ended with " + status);
        }
    }

    public void freeze(Sandbox sandbox) throws IOException {
        cgroup(sandbox).freeze(Duration.ofSeconds(10));
    }

    private int guest(Sandbox sandbox) throws IOException {
        for (int pid : cgroup(sandbox).pids()) {
            Path line = Path.of("/proc", Integer.toString(pid), "cmdline");
            if (new String(Files.readAllBytes(line), StandardCharsets.UTF_8).startsWith(Bundle.GUEST)) {
                return pid;
            }
        }
        throw new AssertionError("sandbox " + sandbox.id() + " has no guest");
    }

    private Cgroup cgroup(Sandbox sandbox) {
        return Cgroups.detect(LocalProvider.group(machine.data()))
                .of(((LocalSandbox) sandbox).box().name());
    }
}
