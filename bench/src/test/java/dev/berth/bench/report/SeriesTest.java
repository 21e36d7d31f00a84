package dev.berth.bench.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class SeriesTest {
    private static final long MILLI = 1_000_000;

    @Test
    void theMedianIsTheMiddleOfAnOddCount() {
        assertThat(new Series(List.of(9 * MILLI, MILLI, 5 * MILLI)).median()).isEqualTo(Quantity.millis(5));
    }

    @Test
    void theMedianIsBetweenTheMiddleTwoOfAnEvenCount() {
        assertThat(new Series(List.of(4 * MILLI, MILLI, 2 * MILLI, 9 * MILLI)).median())
                .isEqualTo(Quantity.millis(3));
    }

    @Test
    void ninetyNineOfAHundredDoNotExceedTheP99() {
        Series series = new Series(
                LongStream.rangeClosed(1, 200).map(n -> n * MILLI).boxed().toList());
        assertThat(series.p99()).isEqualTo(Quantity.millis(198));
    }

    @Test
    void theP99OfFewSamplesIsTheSlowest() {
        assertThat(new Series(List.of(MILLI, 7 * MILLI)).p99()).isEqualTo(Quantity.millis(7));
    }

    @Test
    void nothingMeasuredIsNoSeries() {
        assertThatThrownBy(() -> new Series(List.of())).isInstanceOf(IllegalArgumentException.class);
    }
}
