package dev.berth.bench.report;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.bench.report.Row.Verdict;
import org.junit.jupiter.api.Test;

class RowTest {
    private final Row row = Row.compare("a thing", Quantity.millis(3), "another", Quantity.millis(2));

    @Test
    void aRatioIsOfWhatWasMeasuredToWhatItIsComparedWith() {
        assertThat(row.ratio()).hasValue(1.5);
        assertThat(row.verdict()).isEqualTo(Verdict.NONE);
    }

    @Test
    void aBoundOnTheRatioIsInclusive() {
        assertThat(row.must(new Must.AtMostTimes(1.5)).verdict()).isEqualTo(Verdict.MET);
        assertThat(row.must(new Must.AtMostTimes(1.4)).verdict()).isEqualTo(Verdict.NOT_MET);
        assertThat(row.must(new Must.AtLeastTimes(1.5)).verdict()).isEqualTo(Verdict.MET);
        assertThat(row.must(new Must.AtLeastTimes(1.6)).verdict()).isEqualTo(Verdict.NOT_MET);
    }

    @Test
    void fasterMeansThatTheOtherTakesSoManyTimesAsLong() {
        Row fast = Row.compare("a thing", Quantity.millis(2), "docker", Quantity.millis(40));
        assertThat(fast.must(new Must.TimesFaster(20)).verdict()).isEqualTo(Verdict.MET);
        assertThat(fast.must(new Must.TimesFaster(21)).verdict()).isEqualTo(Verdict.NOT_MET);
    }

    @Test
    void aFixedBoundNeedsNothingToCompareWith() {
        Row alone = Row.of("a thing", Quantity.megabytes(3));
        assertThat(alone.must(new Must.AtMost(Quantity.megabytes(3))).verdict()).isEqualTo(Verdict.MET);
        assertThat(alone.must(new Must.AtMost(Quantity.megabytes(2.9))).verdict())
                .isEqualTo(Verdict.NOT_MET);
    }

    @Test
    void numbersShowThreeDigitsThatMeanSomething() {
        assertThat(Quantity.millis(0.12345)).hasToString("0.123 ms");
        assertThat(Quantity.millis(1.2345)).hasToString("1.23 ms");
        assertThat(Quantity.millis(12.345)).hasToString("12.3 ms");
        assertThat(Quantity.millis(1234.5)).hasToString("1235 ms");
        assertThat(Quantity.millis(0)).hasToString("0.00 ms");
    }
}
