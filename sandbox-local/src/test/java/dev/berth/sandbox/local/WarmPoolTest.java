package dev.berth.sandbox.local;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.local.LocalConfig.RuntimeKind;
import dev.berth.sandbox.local.store.StoreKind;
import dev.berth.sandbox.local.template.TestingTemplates;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Sandboxes that wait for an owner. Needs root and crun. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class WarmPoolTest {
    @Test
    void handsOutAWaitingSandboxBoundToItsNewOwner() throws Exception {
        try (TestMachine machine = new TestMachine(RuntimeKind.CRUN, StoreKind.BTRFS, Map.of("host", 2))) {
            awaitWarm(machine, 2);
            Limits limits = Limits.DEFAULT.withMemory(64 << 20).withDisk(16 << 20);
            Sandbox sandbox = machine.provider()
                    .create(SandboxSpec.of("claimed", "host")
                            .withLimits(limits)
                            .withEnv(Map.of("WHO", "me"))
                            .withLabels(Map.of("a", "b")));
            assertThat(sandbox.run(Command.shell("echo $WHO")).stdout()).isEqualTo("me\n");
            assertThat(sandbox.info().labels()).containsEntry("a", "b");
            assertThat(sandbox.run(Command.shell("python3 -c 'bytearray(200 << 20)'"))
                            .exit()
                            .limitsHit())
                    .contains(dev.berth.sandbox.Limit.MEMORY);
            assertThat(sandbox.run(Command.shell("head -c 32M /dev/zero > big")).code())
                    .isNotZero();
            awaitWarm(machine, 2);
            assertThat(machine.provider().list()).hasSize(1);
            assertThat(machine.reopen().find(sandbox.id())).isPresent();
        }
    }

    @Test
    void aBurstBeyondThePoolIsServedAndThePoolFillsUpAgain() throws Exception {
        try (TestMachine machine = new TestMachine(RuntimeKind.CRUN, StoreKind.BTRFS, Map.of("host", 2))) {
            awaitWarm(machine, 2);
            for (int i = 0; i < 5; i++) {
                Sandbox sandbox = machine.provider().create(SandboxSpec.of("burst-" + i, "host"));
                assertThat(sandbox.run(Command.of("hostname")).code()).isZero();
            }
            awaitWarm(machine, 2);
            assertThat(machine.provider().list()).hasSize(5);
        }
    }

    @Test
    void whatWaitsGoesWithTheServer() throws IOException, InterruptedException {
        try (TestMachine machine = new TestMachine(RuntimeKind.CRUN, StoreKind.BTRFS, Map.of("host", 1))) {
            awaitWarm(machine, 1);
            machine.provider().close();
            assertThat(machine.data().resolve("boxes")).isEmptyDirectory();
            machine.reopen();
        }
    }

    @Test
    void whatATemplateStartsHasTheVariablesOfItsSandbox() throws Exception {
        TestingTemplates.build("started", "from base\nstart printenv WHO > who.new; mv who.new who");
        try (TestMachine machine = new TestMachine(RuntimeKind.CRUN, StoreKind.BTRFS, Map.of("started", 1))) {
            awaitWarm(machine, "started", 1);
            Sandbox sandbox =
                    machine.provider().create(SandboxSpec.of("mine", "started").withEnv(Map.of("WHO", "me")));
            assertThat(sandbox.run(Command.shell("until [ -e who ]; do sleep 0.02; done; cat who"))
                            .stdout())
                    .isEqualTo("me\n");
        }
    }

    private static void awaitWarm(TestMachine machine, int count) throws InterruptedException {
        awaitWarm(machine, "host", count);
    }

    private static void awaitWarm(TestMachine machine, String template, int count) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (machine.provider().warm(template) < count) {
            assertThat(System.nanoTime()).as("the pool fills up").isLessThan(deadline);
            TimeUnit.MILLISECONDS.sleep(5);
        }
    }
}
