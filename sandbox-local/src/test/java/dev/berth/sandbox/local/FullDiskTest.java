package dev.berth.sandbox.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Result;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** A machine whose disk for sandboxes is full. Needs root and crun. */
class FullDiskTest {
    /** btrfs may say that it is full when it has not given out all it has; so until nothing more goes in. */
    private static final String FILL =
            "for n in $(seq 100); do head -c 1G /dev/zero > big-$n; sync; [ -s big-$n ] || exit 0; done; exit 1";

    @Test
    void refusesMoreWithAClearErrorAndKeepsWhatIsThere() throws Exception {
        Limits limits = Limits.DEFAULT.withDisk(0);
        try (TestMachine machine = new TestMachine(RuntimeKind.CRUN, 512L << 20)) {
            LocalProvider provider = machine.provider();
            Sandbox filler = provider.create(SandboxSpec.of("filler", "host").withLimits(limits));
            Sandbox other = provider.create(SandboxSpec.of("other", "host").withLimits(limits));
            other.run(Command.shell("echo kept > file; sync"));
            Result filled = filler.run(Command.shell(FILL));
            assertThat(filled.code()).as(filled.stderr()).isZero();
            assertThat(filled.stderr()).contains("No space left on device");

            assertFull(() -> provider.create(SandboxSpec.of("more", "host").withLimits(limits)));
            assertThat(provider.find(new SandboxId("more"))).isEmpty();
            assertFull(() -> other.files().write("up", new java.io.ByteArrayInputStream(new byte[8 << 20])));
            assertThat(other.run(Command.of("cat", "file")).stdout()).isEqualTo("kept\n");
        }
    }

    private static void assertFull(ThrowingCallable call) {
        assertThatThrownBy(call).isInstanceOfSatisfying(SandboxException.class, e -> {
            assertThat(e.code()).isEqualTo(ErrorCode.LIMIT);
            assertThat(e.getMessage()).contains("full");
        });
    }
}
