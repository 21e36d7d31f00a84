package dev.berth.sandbox.local;

import dev.berth.sandbox.SandboxContract;
import dev.berth.sandbox.SandboxProvider;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import java.io.IOException;
import org.junit.jupiter.api.AfterAll;

/** The contract on runc. Needs root and the package runc. */
class RuncContractTest extends SandboxContract {
    private final TestMachine machine = new TestMachine(RuntimeKind.RUNC);

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
