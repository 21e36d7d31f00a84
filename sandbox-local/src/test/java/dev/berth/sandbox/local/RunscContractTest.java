package dev.berth.sandbox.local;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxContract;
import dev.berth.sandbox.SandboxProvider;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import java.io.IOException;
import org.junit.jupiter.api.AfterAll;

/** The contract on runsc. Needs root and the package runsc. */
class RunscContractTest extends SandboxContract {
    private final TestMachine machine = new TestMachine(RuntimeKind.RUNSC);

    @Override
    protected SandboxProvider provider() {
        return machine.provider();
    }

    @Override
    protected String template() {
        return "host";
    }

    /** gVisor's sync(2) does not reach the machine's disk. */
    @Override
    protected void sync(Sandbox sandbox) {
        try {
            Process sync = new ProcessBuilder(
                            "sync",
                            "--file-system",
                            machine.data().resolve("pool").toString())
                    .inheritIO()
                    .start();
            assertThat(sync.waitFor()).isZero();
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @AfterAll
    void leaveNothing() throws IOException {
        machine.close();
    }
}
