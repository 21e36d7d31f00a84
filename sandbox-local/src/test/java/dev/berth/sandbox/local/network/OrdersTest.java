package dev.berth.sandbox.local.network;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIOException;

import dev.berth.sandbox.local.linux.ProcessLock;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(value = 1, unit = TimeUnit.MINUTES)
class OrdersTest {
    @TempDir
    private Path directory;

    /** Guarded by the lock that orders are carried out under. */
    private final List<List<Integer>> rounds = new ArrayList<>();

    private void note(List<Integer> orders) {
        rounds.add(orders);
    }

    private Path lock() {
        return directory.resolve("lock");
    }

    /** Gives that many orders while nobody can carry them out, and lets go when all of them wait. */
    private List<Future<?>> giveAll(Orders<Integer> orders, int count, ExecutorService threads) {
        List<Future<?>> given = new ArrayList<>();
        try (var _ = ProcessLock.acquire(lock())) {
            for (int i = 0; i < count; i++) {
                int order = i;
                given.add(threads.submit(() -> {
                    orders.give(order);
                    return order;
                }));
            }
            while (orders.waiting() < count) {
                Thread.onSpinWait();
            }
        }
        return given;
    }

    @Test
    void thoseOfAllWhoWaitAreCarriedOutInOneRound() throws Exception {
        Orders<Integer> orders = new Orders<>(lock(), this::note);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (Future<?> one : giveAll(orders, 20, threads)) {
                one.get();
            }
        }
        assertThat(rounds).hasSize(1);
        assertThat(rounds.getFirst())
                .containsExactlyInAnyOrderElementsOf(
                        IntStream.range(0, 20).boxed().toList());
    }

    @Test
    void oneThatCannotBeCarriedOutFailsAlone() throws Exception {
        Orders<Integer> orders = new Orders<>(lock(), round -> {
            if (round.contains(3)) {
                throw new IOException("not this one");
            }
            note(round);
        });
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<?>> given = giveAll(orders, 5, threads);
            for (int i : new int[] {0, 1, 2, 4}) {
                given.get(i).get();
            }
            assertThatExceptionOfType(ExecutionException.class)
                    .isThrownBy(() -> given.get(3).get())
                    .withCauseInstanceOf(IOException.class);
        }
        assertThat(rounds.stream().flatMap(List::stream)).containsExactlyInAnyOrder(0, 1, 2, 4);
    }

    @Test
    void anyTroubleIsToldToWhoeverGaveTheOrder() {
        Orders<Integer> orders = new Orders<>(lock(), _ -> {
            throw new IOException("alas");
        });
        assertThatIOException().isThrownBy(() -> orders.give(1)).withMessage("alas");
        Orders<Integer> broken = new Orders<>(lock(), _ -> {
            throw new IllegalStateException("a mistake");
        });
        assertThatExceptionOfType(IllegalStateException.class).isThrownBy(() -> broken.give(1));
        assertThat(orders.waiting()).isZero();
    }
}
