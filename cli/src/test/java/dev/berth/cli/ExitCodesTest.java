package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.ErrorCode;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ExitCodesTest {
    @ParameterizedTest
    @CsvSource({
        "INVALID, 2",
        "NOT_FOUND, 66",
        "GONE, 67",
        "UNAVAILABLE, 69",
        "CONFLICT, 73",
        "LIMIT, 75",
        "DENIED, 77",
        "UNSUPPORTED, 78",
        "TIMEOUT, 124"
    })
    void neverChange(ErrorCode code, int exit) {
        assertThat(ExitCodes.of(code)).isEqualTo(exit);
    }

    @Test
    void tellEveryErrorApart() {
        assertThat(Arrays.stream(ErrorCode.values()).map(ExitCodes::of)).doesNotHaveDuplicates();
    }

    @Test
    void areInTheHelp() {
        TestConsole console = new TestConsole();
        Berth.run(List.of("--help"), console.console());
        for (ErrorCode code : ErrorCode.values()) {
            assertThat(console.out())
                    .contains(ExitCodes.of(code) + " " + code.wireName().replace('_', ' '));
        }
    }

    @Test
    void areThoseOfShellsForAProgramThatCouldNotBeStarted() {
        assertThat(ExitCodes.ofStart(ErrorCode.NOT_FOUND)).isEqualTo(127);
        assertThat(ExitCodes.ofStart(ErrorCode.DENIED)).isEqualTo(126);
        assertThat(ExitCodes.ofStart(ErrorCode.INVALID)).isEqualTo(2);
    }
}
