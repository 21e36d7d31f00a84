package dev.berth.egress.policy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.egress.policy.Refusal.Reason;
import dev.berth.sandbox.Network.Caps;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

class AccountTest {

    @Test
    void countsConnectionsUntilTheyAreClosed() throws Exception {
        Account account = new Account(() -> new Caps(1, 0, 0), 0);
        Account.Open open = account.open();
        refused(account::open, Reason.CAP_CONNECTIONS);
        open.close();
        open.close();
        assertThat(account.connections()).isZero();
        Account.Open again = account.open();
        refused(account::open, Reason.CAP_CONNECTIONS);
        again.close();
    }

    @Test
    void neverLetsMoreInThanItsCapHoweverManyComeAtOnce() throws Exception {
        Account account = new Account(() -> new Caps(10, 0, 0), 0);
        CountDownLatch start = new CountDownLatch(1);
        List<Future<Account.Open>> all;
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            all = IntStream.range(0, 200)
                    .mapToObj(i -> threads.submit(() -> {
                        start.await();
                        return account.open();
                    }))
                    .toList();
            start.countDown();
        }
        assertThat(all).filteredOn(it -> it.state() == Future.State.SUCCESS).hasSize(10);
    }

    @Test
    void refusesBytesBeyondTheCapOfAllTime() throws Exception {
        Account account = new Account(() -> new Caps(0, 1000, 0), 400);
        account.pass(600);
        refused(() -> account.pass(1), Reason.CAP_BYTES);
        refused(account::open, Reason.CAP_BYTES);
    }

    @Test
    void followsCapsThatChange() throws Exception {
        AtomicReference<Caps> caps = new AtomicReference<>(new Caps(0, 10, 0));
        Account account = new Account(caps::get, 0);
        refused(() -> account.pass(11), Reason.CAP_BYTES);
        caps.set(new Caps(0, 1000, 0));
        account.pass(11);
    }

    @Test
    void slowsDownToTheAllowedSpeed() throws Exception {
        Account account = new Account(() -> new Caps(0, 0, 100_000), 0);
        long start = System.nanoTime();
        for (int passed = 0; passed < 160_000; passed += account.atOnce(1 << 20)) {
            account.pass(account.atOnce(1 << 20));
        }
        // A second's worth at once, and the rest at its speed.
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThan(Duration.ofMillis(500));
    }

    @Test
    void passesAllAtOnceIfThereIsNoSpeedToHold() {
        assertThat(new Account(() -> Caps.DEFAULT, 0).atOnce(4096)).isEqualTo(4096);
        assertThat(new Account(() -> new Caps(0, 0, 1024), 0).atOnce(4096)).isEqualTo(128);
    }

    private static void refused(ThrowingCallable action, Reason reason) {
        assertThatThrownBy(action)
                .isInstanceOfSatisfying(
                        Refusal.class, refusal -> assertThat(refusal.reason()).isEqualTo(reason));
    }
}
