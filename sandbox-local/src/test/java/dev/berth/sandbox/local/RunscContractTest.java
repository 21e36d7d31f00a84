package dev.berth.sandbox.local;

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

    @AfterAll
    void leaveNothing() throws IOException {
        machine.close();
    }
}
