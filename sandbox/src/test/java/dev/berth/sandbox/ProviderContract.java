package dev.berth.sandbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** What the tests of a provider's promises have in common: the provider, and sandboxes that go with the test. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@ExtendWith(SkippedTests.class)
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class ProviderContract {
    static final Duration PATIENCE = Duration.ofSeconds(60);

    private final AtomicInteger counter = new AtomicInteger();
    final List<Sandbox> made = new ArrayList<>();

    /** The provider under test, the same for all tests. */
    protected abstract SandboxProvider provider();

    /** A template with bash, coreutils and python3, and a user {@code user} with the uid 1000. */
    protected abstract String template();

    /** What sandboxes get unless a test says otherwise. */
    protected Limits limits() {
        return Limits.DEFAULT;
    }

    /** Has what a sandbox wrote counted; until then its use of disk may lag behind. */
    protected void sync(Sandbox sandbox) {
        assertThat(run(sandbox, "sync").code()).isZero();
    }

    @AfterEach
    void destroySandboxes() {
        made.forEach(Sandbox::destroy);
        made.clear();
    }

    protected final SandboxSpec spec() {
        return SandboxSpec.of("contract-" + ProcessHandle.current().pid() + "-" + counter.incrementAndGet(), template())
                .withLimits(limits());
    }

    protected final Sandbox create(SandboxSpec spec) {
        Sandbox sandbox = provider().create(spec);
        made.add(sandbox);
        return sandbox;
    }

    protected final Sandbox create() {
        return create(spec());
    }

    protected final void needs(Capability capability) {
        assumeTrue(provider().capabilities().contains(capability), () -> "this provider lacks " + capability);
    }

    protected static Result run(Sandbox sandbox, String line) {
        return sandbox.run(Command.shell(line));
    }

    protected static void assertFails(ErrorCode code, ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        SandboxException.class,
                        e -> assertThat(e.code()).as(e.getMessage()).isEqualTo(code));
    }

    protected static void eventually(String what, Callable<Boolean> condition) throws Exception {
        Instant deadline = Instant.now().plus(PATIENCE);
        while (!condition.call()) {
            assertThat(Instant.now()).as(what).isBefore(deadline);
            Thread.onSpinWait();
            TimeUnit.MILLISECONDS.sleep(5);
        }
    }
}
