package dev.berth.sandbox.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.SandboxState;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import dev.berth.sandbox.local.cgroup.Cgroups;
import dev.berth.sandbox.local.linux.Processes;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What callers see when somebody on the machine kills a sandbox behind the server's back. Needs root and the runtimes. */
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SandboxDeathTest {
    @ParameterizedTest
    @EnumSource(RuntimeKind.class)
    void aKilledSandboxIsStoppedItsCommandsAreGoneAndItWakesAgain(RuntimeKind runtime) throws Exception {
        try (TestMachine machine = new TestMachine(runtime)) {
            Sandbox sandbox = machine.provider().create(SandboxSpec.of("victim", "host"));
            sandbox.run(Command.shell("echo kept > file"));
            RunningCommand waiting = sandbox.start(Command.of("sleep", "1000"));
            RunningCommand read = sandbox.start(Command.of("sleep", "1000"));

            assertThat(sandbox.ready()).isTrue();
            Processes.kill(firstProcess(machine, sandbox, runtime));

            assertGone(() -> waiting.await(Duration.ofSeconds(60)));
            assertGone(() -> read.stdout().read());
            awaitStopped(sandbox);
            assertThat(sandbox.ready()).isFalse();
            assertThatThrownBy(() -> sandbox.run(Command.of("true")))
                    .isInstanceOfSatisfying(
                            SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CONFLICT));
            sandbox.wake();
            assertThat(sandbox.ready()).isTrue();
            assertThat(sandbox.run(Command.of("cat", "file")).stdout()).isEqualTo("kept\n");
        }
    }

    private static void assertGone(ThrowingCallable call) {
        assertThatThrownBy(call).hasStackTraceContaining("SandboxException").hasStackTraceContaining("processes ended");
    }

    private static void awaitStopped(Sandbox sandbox) throws InterruptedException {
        Instant deadline = Instant.now().plusSeconds(60);
        while (sandbox.state() != SandboxState.STOPPED) {
            assertThat(Instant.now()).as("state " + sandbox.state()).isBefore(deadline);
            TimeUnit.MILLISECONDS.sleep(5);
        }
    }

    /** The guest, or gVisor with the guest in it. */
    private static int firstProcess(TestMachine machine, Sandbox sandbox, RuntimeKind runtime) throws IOException {
        String name = runtime == RuntimeKind.RUNSC ? "runsc-sandbox" : Bundle.GUEST;
        String box = ((LocalSandbox) sandbox).box().name();
        Cgroups cgroups = Cgroups.detect(LocalProvider.group(machine.data()));
        for (int pid : cgroups.of(box).pids()) {
            Path line = Path.of("/proc", Integer.toString(pid), "cmdline");
            if (new String(Files.readAllBytes(line), StandardCharsets.UTF_8).startsWith(name)) {
                return pid;
            }
        }
        throw new AssertionError("the sandbox has no process " + name);
    }
}
