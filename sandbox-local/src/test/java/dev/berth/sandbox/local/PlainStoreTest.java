package dev.berth.sandbox.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.Capability;
import dev.berth.sandbox.Change;
import dev.berth.sandbox.Checkpoint;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import dev.berth.sandbox.local.store.StoreKind;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A machine without btrfs: everything but the disk limit. Needs root and crun. */
class PlainStoreTest {
    private static final Limits NO_DISK_LIMIT = Limits.DEFAULT.withDisk(0);

    @Test
    void refusesADiskLimitItCannotKeep() throws IOException {
        try (TestMachine machine = new TestMachine(RuntimeKind.CRUN, StoreKind.PLAIN, Map.of())) {
            assertThat(machine.provider().capabilities()).doesNotContain(Capability.DISK_LIMIT, Capability.VOLUMES);
            assertThatThrownBy(() -> machine.provider().volumes().make("unlimited"))
                    .isInstanceOfSatisfying(
                            SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.UNSUPPORTED));
            assertThatThrownBy(() -> machine.provider().create(SandboxSpec.of("limited", "host")))
                    .isInstanceOfSatisfying(
                            SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.UNSUPPORTED));
            assertThat(machine.provider().list()).isEmpty();
            Sandbox unlimited = machine.provider()
                    .create(SandboxSpec.of("unlimited", "host").withLimits(NO_DISK_LIMIT));
            assertThatThrownBy(() -> unlimited.limit(Limits.DEFAULT))
                    .isInstanceOfSatisfying(
                            SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.UNSUPPORTED));
            assertThat(unlimited.limits()).isEqualTo(NO_DISK_LIMIT);
        }
    }

    @Test
    void removesFilesHoweverDeepTheyAre() throws IOException {
        try (TestMachine machine = new TestMachine(RuntimeKind.CRUN, StoreKind.PLAIN, Map.of())) {
            Sandbox sandbox =
                    machine.provider().create(SandboxSpec.of("deep", "host").withLimits(NO_DISK_LIMIT));
            String name = "d".repeat(200);
            assertThat(sandbox.run(Command.shell("for i in $(seq 30); do mkdir " + name + " && cd " + name + "; done"))
                            .code())
                    .isZero();
            sandbox.destroy();
            assertThat(machine.provider().machine().store().trees()).isEmpty();
        }
    }

    @Test
    void checkpointsRollsBackForksAndCompares() throws IOException {
        try (TestMachine machine = new TestMachine(RuntimeKind.CRUN, StoreKind.PLAIN, Map.of())) {
            Sandbox sandbox =
                    machine.provider().create(SandboxSpec.of("plain", "host").withLimits(NO_DISK_LIMIT));
            sandbox.run(Command.shell("echo one > file; mkdir dir; touch dir/a; rm .bashrc"));
            Checkpoint point = sandbox.checkpoint("one");
            sandbox.run(Command.shell("echo changed > file; rm -r dir"));
            assertThat(sandbox.changesSince(point.id()))
                    .containsExactlyInAnyOrder(
                            new Change(Change.Kind.MODIFIED, "/home/user/file", 8),
                            new Change(Change.Kind.DELETED, "/home/user/dir", 0));
            Sandbox fork = machine.provider()
                    .fork(sandbox, List.of(new SandboxId("fork")))
                    .getFirst();
            sandbox.rollback(point.id());
            assertThat(sandbox.run(Command.shell("cat file; ls dir; ls -A | grep -c bashrc"))
                            .stdout())
                    .isEqualTo("one\na\n0\n");
            assertThat(fork.run(Command.shell("cat file")).stdout()).isEqualTo("changed\n");
        }
    }
}
