package dev.berth.cli.args;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DurationsTest {
    @ParameterizedTest
    @CsvSource({"250ms, PT0.25S", "30s, PT30S", "5m, PT5M", "1h, PT1H", "2d, PT48H"})
    void readsNumbersWithAUnit(String text, Duration duration) {
        assertThat(Durations.parse(text)).isEqualTo(duration);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "30", "s", "-5s", "1.5h", "5 m", "5M", "10000000000s"})
    void saysHowToWriteADuration(String text) {
        assertThatThrownBy(() -> Durations.parse(text))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("is not a duration")
                .hasMessageContaining("30s");
    }

    @Test
    void refusesNoTimeAtAll() {
        assertThatThrownBy(() -> Durations.parse("0s")).hasMessageContaining("no time at all");
    }

    @Test
    void writesThemShort() {
        assertThat(Durations.format(Duration.ofMillis(250))).isEqualTo("250ms");
        assertThat(Durations.format(Duration.ofSeconds(30))).isEqualTo("30s");
        assertThat(Durations.format(Duration.ofMinutes(5))).isEqualTo("5m");
        assertThat(Durations.format(Duration.ofHours(3))).isEqualTo("3h");
        assertThat(Durations.format(Duration.ofDays(3))).isEqualTo("3d");
    }
}
