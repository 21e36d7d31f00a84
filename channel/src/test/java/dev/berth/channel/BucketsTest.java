package dev.berth.channel;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

final class BucketsTest {
    private final AtomicReference<Instant> now = new AtomicReference<>(Instant.EPOCH);
    private final Buckets buckets = new Buckets(now::get);
    private final Rules.Rate rate = new Rules.Rate(2, 6);

    private boolean after(Duration time) {
        now.updateAndGet(at -> at.plus(time));
        return buckets.take("anna", rate);
    }

    @Test
    void aPersonHasABurstAndThenSoManyAMinute() {
        assertThat(after(Duration.ZERO)).isTrue();
        assertThat(after(Duration.ZERO)).isTrue();
        assertThat(after(Duration.ZERO)).isFalse();
        assertThat(after(Duration.ofSeconds(9))).isFalse();
        assertThat(after(Duration.ofSeconds(1))).isTrue();
        assertThat(after(Duration.ZERO)).isFalse();
        assertThat(after(Duration.ofHours(1))).isTrue();
        assertThat(after(Duration.ZERO)).isTrue();
        assertThat(after(Duration.ZERO)).isFalse();
    }

    @Test
    void oneDoesNotTakeFromAnother() {
        assertThat(after(Duration.ZERO)).isTrue();
        assertThat(after(Duration.ZERO)).isTrue();
        assertThat(buckets.take("bert", rate)).isTrue();
    }
}
