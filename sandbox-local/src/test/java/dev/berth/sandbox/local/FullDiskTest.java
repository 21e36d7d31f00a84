package dev.berth.sandbox.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.local.linux.Directories;
import java.nio.file.Files;
import java.nio.file.Path;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** A machine whose disk for sandboxes is full. Needs root and crun. */
class FullDiskTest {
    @Test
    void refusesMoreWithAClearErrorAndKeepsWhatIsThere() throws Exception {
        Path data = Files.createTempDirectory(Path.of("/var/tmp"), "berth-");
        LocalProvider provider = LocalProvider.open(
                LocalConfig.of(data).withTemplates(TestMachine.templates()).withPoolBytes(512L << 20));
        Limits limits = Limits.DEFAULT.withDisk(0);
        Sandbox filler = provider.create(SandboxSpec.of("filler", "host").withLimits(limits));
        Sandbox other = provider.create(SandboxSpec.of("other", "host").withLimits(limits));
        other.run(Command.shell("echo kept > file; sync"));
        assertThat(filler.run(Command.shell("head -c 1G /dev/zero > big; sync")).stderr())
                .contains("No space left on device");

        assertFull(() -> provider.create(SandboxSpec.of("more", "host").withLimits(limits)));
        assertThat(provider.find(new SandboxId("more"))).isEmpty();
        assertFull(() -> other.files().write("up", new java.io.ByteArrayInputStream(new byte[8 << 20])));
        assertThat(other.run(Command.of("cat", "file")).stdout()).isEqualTo("kept\n");

        filler.destroy();
        other.destroy();
        provider.closeAndUnmount();
        Directories.remove(data);
    }

    private static void assertFull(ThrowingCallable call) {
        assertThatThrownBy(call).isInstanceOfSatisfying(SandboxException.class, e -> {
            assertThat(e.code()).isEqualTo(ErrorCode.LIMIT);
            assertThat(e.getMessage()).contains("full");
        });
    }
}
