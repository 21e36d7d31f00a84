package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.sandbox.SandboxException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CopyCommandTest {
    @ParameterizedTest
    @CsvSource({
        "demo:a.txt, demo, a.txt",
        "demo:, demo, ''",
        "slack:C123:1712.0001:out/a, slack:C123:1712.0001, out/a",
        "slack:C1:./a:b, slack:C1, a:b",
        "demo:.hidden, demo, .hidden"
    })
    void aPlaceInASessionIsBehindTheLastColon(String operand, String session, String path) {
        assertThat(CopyCommand.Place.parse(operand)).contains(new CopyCommand.Place(session, path));
    }

    @ParameterizedTest
    @ValueSource(strings = {"a.txt", "./a:b", "/tmp/a:b", "../a:b", "-", ":a"})
    void everythingElseIsAFileHere(String operand) {
        assertThat(CopyCommand.Place.parse(operand)).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"../a", "a/../../b", "/etc/passwd", "..", ".", ""})
    void nothingIsSavedOutsideOfTheDirectory(String name) {
        assertThatThrownBy(() -> CopyCommand.inside(Path.of("out"), name)).isInstanceOf(SandboxException.class);
    }

    @Test
    void whatIsInsideIsSavedThere() {
        assertThat(CopyCommand.inside(Path.of("out"), "a/..b/c")).isEqualTo(Path.of("out/a/..b/c"));
    }
}
