package dev.berth.sandbox.local;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.Connection;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import dev.berth.sandbox.local.store.StoreKind;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Networks across the lives of servers. Needs root and the package crun. */
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class OutletTest {
    private static final Network RESTRICTED = Network.restricted(Network.Rule.to("example.com"));
    private static final String ASK =
            "exec 3<>/dev/tcp/127.0.0.1/3128 && echo asked >&3 && timeout 20 head -n 1 <&3 || echo refused";

    private static void echo(Sandbox sandbox, Connection connection) {
        try (OutputStream output = connection.output()) {
            connection.input().transferTo(output);
        } catch (IOException e) {
            assertThat(sandbox.id()).as("broke off: %s", e).isNotNull();
        }
    }

    private static String ask(Sandbox sandbox) {
        return sandbox.run(Command.shell(ASK + " 2>/dev/null")).stdout();
    }

    @Test
    void aNetworkIsThereAgainAfterARestartOfTheServer() throws IOException {
        try (TestMachine machine = new TestMachine(RuntimeKind.CRUN)) {
            machine.provider().outlet(OutletTest::echo);
            SandboxId open = machine.provider()
                    .create(SandboxSpec.of("restarted", "host").withNetwork(RESTRICTED))
                    .id();
            SandboxId changed =
                    machine.provider().create(SandboxSpec.of("changed", "host")).id();
            SandboxId closed = machine.provider()
                    .create(SandboxSpec.of("closed", "host").withNetwork(RESTRICTED))
                    .id();
            machine.provider().find(changed).orElseThrow().network(RESTRICTED);
            machine.provider().find(closed).orElseThrow().network(Network.NONE);
            for (int round = 0; round < 2; round++) {
                machine.reopen().outlet(OutletTest::echo);
                for (SandboxId each : java.util.List.of(open, changed)) {
                    Sandbox sandbox = machine.provider().find(each).orElseThrow();
                    assertThat(sandbox.network()).isEqualTo(RESTRICTED);
                    assertThat(ask(sandbox)).isEqualTo("asked\n");
                }
                assertThat(ask(machine.provider().find(closed).orElseThrow())).isEqualTo("refused\n");
            }
        }
    }

    @Test
    void whoConnectsBeforeTheOutletIsThereIsServedByIt() throws Exception {
        try (TestMachine machine = new TestMachine(RuntimeKind.CRUN)) {
            Sandbox sandbox =
                    machine.provider().create(SandboxSpec.of("early", "host").withNetwork(RESTRICTED));
            try (RunningCommand command = sandbox.start(Command.of("python3", "-c", """
                    import socket
                    s = socket.create_connection(('127.0.0.1', 3128))
                    print('connected', flush=True)
                    s.sendall(b'asked')
                    s.shutdown(socket.SHUT_WR)
                    print(s.recv(100).decode())
                    """))) {
                assertThat(new String(command.stdout().readNBytes(10), UTF_8)).isEqualTo("connected\n");
                machine.provider().outlet(OutletTest::echo);
                assertThat(new String(command.stdout().readAllBytes(), UTF_8)).isEqualTo("asked\n");
            }
        }
    }

    @Test
    void whoConnectsWhileTheServerIsAwayIsServedByTheNext() throws Exception {
        try (TestMachine machine = new TestMachine(RuntimeKind.CRUN)) {
            machine.provider().outlet((_, connection) -> {
                try {
                    assertThat(connection.input().readAllBytes()).isEmpty();
                } catch (IOException e) {
                    assertThat(e).isNotNull();
                }
            });
            Sandbox sandbox =
                    machine.provider().create(SandboxSpec.of("patient", "host").withNetwork(RESTRICTED));
            int id;
            try (RunningCommand command = sandbox.start(Command.of("python3", "-c", """
                    import socket
                    s = socket.create_connection(('127.0.0.1', 3128))
                    print('connected', flush=True)
                    print('ended', s.recv(10), flush=True)
                    s = socket.create_connection(('127.0.0.1', 3128))
                    s.sendall(b'asked')
                    print(s.recv(5).decode(), flush=True)
                    """))) {
                id = command.id();
                assertThat(command.stdout().read()).isEqualTo('c');
            }
            machine.reopen().outlet(OutletTest::echo);
            Sandbox found = machine.provider().find(sandbox.id()).orElseThrow();
            try (RunningCommand command = found.attach(id, 0, 0)) {
                assertThat(new String(command.stdout().readAllBytes(), UTF_8))
                        .isEqualTo("connected\nended b''\nasked\n");
            }
        }
    }

    @Test
    void aSandboxOfTheWarmPoolGetsTheNetworkOfItsOwner() throws Exception {
        try (TestMachine machine = new TestMachine(RuntimeKind.CRUN, StoreKind.BTRFS, Map.of("host", 1))) {
            machine.provider().outlet(OutletTest::echo);
            while (machine.provider().warm("host") < 1) {
                TimeUnit.MILLISECONDS.sleep(5);
            }
            Sandbox sandbox =
                    machine.provider().create(SandboxSpec.of("claimed", "host").withNetwork(RESTRICTED));
            assertThat(machine.provider().measures()).containsEntry("warm.hits", 1.0);
            assertThat(ask(sandbox)).isEqualTo("asked\n");
            machine.reopen().outlet(OutletTest::echo);
            assertThat(ask(machine.provider().find(sandbox.id()).orElseThrow())).isEqualTo("asked\n");
        }
    }

    /** A server that was killed between what it told the guest and what it wrote down. */
    @Test
    void whatWasWrittenDownHoldsAfterAServerWasKilledInBetween() throws IOException {
        try (TestMachine machine = new TestMachine(RuntimeKind.CRUN)) {
            machine.provider().outlet(OutletTest::echo);
            LocalSandbox opened = (LocalSandbox) machine.provider().create(SandboxSpec.of("opened", "host"));
            LocalSandbox closed = (LocalSandbox)
                    machine.provider().create(SandboxSpec.of("closed", "host").withNetwork(RESTRICTED));
            opened.network(RESTRICTED);
            opened.box().record(opened.record().withNetwork(Network.NONE));
            closed.network(Network.NONE);
            closed.box().record(closed.record().withNetwork(RESTRICTED));
            machine.reopen().outlet(OutletTest::echo);
            assertThat(ask(machine.provider().find(opened.id()).orElseThrow())).isEqualTo("refused\n");
            assertThat(ask(machine.provider().find(closed.id()).orElseThrow())).isEqualTo("asked\n");
        }
    }
}
