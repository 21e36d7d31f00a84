package dev.berth.session.process;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.ErrorCode;
import dev.berth.session.process.Event.Lost;
import dev.berth.session.process.Event.Output;
import dev.berth.session.process.Event.Stream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What waits for one who follows a process, and for how long the process waits for that one. */
@Timeout(60)
class FollowerTest {
    private static final Duration PATIENCE = Duration.ofMinutes(10);

    private final List<Follower> left = new ArrayList<>();
    private final AtomicLong nanoTime = new AtomicLong(42);

    @Test
    void whatWaitsIsBoundedByItsBytesHoweverLargeTheChunksAre() {
        assertThat(roomFor(Pump.CHUNK) * (long) Pump.CHUNK).isLessThanOrEqualTo(Follower.MOST);
        // A thousand small ones do not take a thousand times what a large one takes.
        assertThat(roomFor(1)).isBetween(1000, Follower.MOST / 64);
    }

    /** How many chunks one takes before the process would have to wait. */
    private int roomFor(int bytes) {
        left.clear();
        Follower follower = new Follower(left::add, Duration.ZERO, nanoTime::get);
        int taken = 0;
        for (follower.put(chunk(bytes)); left.isEmpty(); follower.put(chunk(bytes))) {
            taken++;
        }
        return taken;
    }

    @Test
    void theProcessWaitsForAllWhoTakeNothingOnceAndNotForOneAfterTheOther() {
        Follower dead = full();
        Follower dead2 = full();
        nanoTime.addAndGet(PATIENCE.toNanos());
        dead.put(chunk(1));
        dead2.put(chunk(1));
        assertThat(left).containsExactly(dead, dead2);
        assertThat(dead.next(Duration.ZERO))
                .isInstanceOfSatisfying(
                        Lost.class, lost -> assertThat(lost.why().code()).isEqualTo(ErrorCode.LIMIT));
    }

    @Test
    void oneWhoTakesSomethingNowAndThenIsWaitedFor() {
        Follower slow = full();
        for (int i = 0; i < 5; i++) {
            nanoTime.addAndGet(PATIENCE.toNanos() - 1);
            assertThat(slow.next(Duration.ZERO)).isInstanceOf(Output.class);
            slow.put(chunk(Pump.CHUNK));
        }
        assertThat(left).isEmpty();
    }

    private Follower full() {
        Follower follower = new Follower(left::add, PATIENCE, nanoTime::get);
        for (int size = 0; size < Follower.MOST; size += Pump.CHUNK) {
            follower.put(chunk(Pump.CHUNK));
        }
        return follower;
    }

    private static Output chunk(int bytes) {
        return new Output(Stream.STDOUT, new byte[bytes]);
    }
}
