package dev.berth.sandbox.local.template;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class StepGateTest {
    @TempDir
    private Path dir;

    /** Where nothing begins: it waits until nobody waits for it any more. */
    private static final class Nowhere implements StepYard {
        private final CountDownLatch left = new CountDownLatch(1);

        @Override
        public List<String> open() {
            return List.of();
        }

        @Override
        public Optional<String> lacking() {
            return Optional.empty();
        }

        @Override
        public void connect() {
            try {
                Thread.sleep(60_000);
            } catch (InterruptedException e) {
                left.countDown();
            }
            throw SandboxException.unavailable("the step of a build did not begin");
        }

        @Override
        public String resolvConf() {
            return "";
        }

        @Override
        public void close() {}
    }

    @Test
    void aStepThatEndedHasItsOwnReason() throws IOException, InterruptedException {
        Process step = new ProcessBuilder("false").start();
        StepGate gate = StepGate.make(dir, new Nowhere());
        gate.open(step);
        assertThat(step.waitFor()).isEqualTo(1);

        gate.close();
    }

    @Test
    void aStepThatCannotBeConnectedIsEnded() throws IOException, InterruptedException {
        Process step = new ProcessBuilder("sleep", "1000").start();
        StepGate gate = StepGate.make(dir, new Nowhere());
        gate.open(step);

        assertThatThrownBy(gate::close).hasMessageContaining("did not begin");
        assertThat(step.waitFor()).isEqualTo(128 + 9);
    }

    @Test
    void whoIsInterruptedWaitsUntilNobodyConnectsAnyMore() throws IOException {
        Process step = new ProcessBuilder("false").start();
        Nowhere yard = new Nowhere();
        StepGate gate = StepGate.make(dir, yard);
        gate.open(step);
        step.onExit().join();

        Thread.currentThread().interrupt();
        gate.close();

        assertThat(Thread.interrupted()).isTrue();
        assertThat(yard.left.getCount()).isZero();
    }
}
