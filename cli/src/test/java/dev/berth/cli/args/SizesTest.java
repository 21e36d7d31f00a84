package dev.berth.cli.args;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SizesTest {
    @ParameterizedTest
    @CsvSource({
        "0, 0",
        "4096, 4096",
        "4k, 4096",
        "512m, 536870912",
        "1g, 1073741824",
        "1G, 1073741824",
        "2t, 2199023255552"
    })
    void readsNumbersWithAUnit(String text, long bytes) {
        assertThat(Sizes.parse(text)).isEqualTo(bytes);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "m", "12x", "-1m", "1.5g", "1 g", "0x10", "1gb", "١g"})
    void saysHowToWriteASize(String text) {
        assertThatThrownBy(() -> Sizes.parse(text))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("is not a size")
                .hasMessageContaining("512m");
    }

    @ParameterizedTest
    @ValueSource(strings = {"99999999999999999999", "9223372036854775807k", "9000000t"})
    void refusesWhatDoesNotFit(String text) {
        assertThatThrownBy(() -> Sizes.parse(text)).hasMessageContaining("more than any machine has");
    }

    @Test
    void writesThemShort() {
        assertThat(Sizes.format(512)).isEqualTo("512");
        assertThat(Sizes.format(512L << 20)).isEqualTo("512m");
        assertThat(Sizes.format(3L << 29)).isEqualTo("1.5g");
        assertThat(Sizes.format(10L << 30)).isEqualTo("10g");
    }
}
