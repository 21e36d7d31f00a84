package dev.berth.sandbox.local.attack;

import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import java.io.IOException;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** The attacks on runsc's sandboxes. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RunscAttackTest implements SystemCallAttacks, FileAttacks, SandboxAttacks {
    private Siege siege;

    @BeforeAll
    void begin() throws IOException {
        siege = new Siege(RuntimeKind.RUNSC);
    }

    @Override
    public Siege siege() {
        return siege;
    }

    @Override
    public Set<String> emulated() {
        return Set.of(
                "reads /proc/1/maps",
                "reads /proc/1/auxv",
                "follows /proc/1/fd/4",
                "exempts itself from the OOM killer",
                "runs at a better priority",
                "raises CAP_BPF",
                "marks packets for the host's routing",
                "writes /proc/sys/kernel/yama/ptrace_scope",
                "makes a node of FUSE",
                "makes a node of FUSE in /dev/shm",
                "opens /dev/fuse",
                "opens /dev/net/tun");
    }

    @AfterAll
    void leaveNothing() throws IOException {
        siege.close();
    }
}
