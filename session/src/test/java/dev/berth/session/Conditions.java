package dev.berth.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/** What tests wait for and what they expect to fail. */
final class Conditions {
    private Conditions() {}

    static void await(String what, BooleanSupplier condition) {
        Deadline deadline = Deadline.after(Duration.ofSeconds(60));
        while (!condition.getAsBoolean()) {
            assertThat(deadline.passed()).as("waited in vain: " + what).isFalse();
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(2));
        }
    }

    static void assertFails(ErrorCode code, ThrowingCallable call) {
        assertFails(code, call, _ -> {});
    }

    static void assertFails(ErrorCode code, ThrowingCallable call, Consumer<SandboxException> more) {
        assertThatThrownBy(call).isInstanceOfSatisfying(SandboxException.class, e -> {
            assertThat(e.code()).as(e.getMessage()).isEqualTo(code);
            more.accept(e);
        });
    }
}
