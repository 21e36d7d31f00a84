package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class BerthTest {
    private final TestConsole console = new TestConsole();

    @Test
    void saysWhatThereIsWhenAskedForNothing() {
        assertThat(berth()).isZero();
        assertThat(console.out())
                .contains("Usage: berth COMMAND")
                .contains("  run ")
                .doesNotContain("rehearse");
    }

    static Stream<String> names() {
        return Berth.commands().stream()
                .filter(command -> !command.syntax().summary().isEmpty())
                .map(command -> command.syntax().name())
                .filter(name -> !name.equals("up") && !name.equals("bench")); // their options need longer lines
    }

    @ParameterizedTest
    @MethodSource("names")
    void hasHelpWithExamplesForEveryCommand(String name) {
        assertThat(berth((name + " --help").split(" "))).isZero();
        assertThat(console.out()).contains("Usage: berth " + name).contains("Examples:");
        assertThat(console.out().lines()).allMatch(line -> line.length() <= 120);
    }

    @Test
    void saysWhatAGroupOfCommandsHas() {
        assertThat(berth("session")).isZero();
        assertThat(console.out()).contains("  session fork ").doesNotContain("  run ");
        assertThat(berth("session", "--help")).isZero();
        assertThat(berth("session", "frok")).isEqualTo(2);
        assertThat(console.err()).contains("did you mean 'session fork'?");
    }

    @Test
    void guessesWhatOptionWasMeant() {
        assertThat(berth("exec", "--tiemout", "3s", "demo", "true")).isEqualTo(2);
        assertThat(console.err())
                .isEqualTo("berth: there is no option --tiemout (did you mean --timeout?); see 'berth exec --help'\n");
    }

    @Test
    void tellsItsVersion() {
        assertThat(berth("--version")).isZero();
        assertThat(console.out()).startsWith("berth ");
    }

    @Test
    void refusesAnUnknownCommandInOneLine() {
        assertThat(berth("rnu")).isEqualTo(2);
        assertThat(console.err())
                .isEqualTo("berth: there is no command 'rnu' (did you mean 'run'?); see 'berth --help'\n");
    }

    @Test
    void refusesBadValuesBeforeItDoesAnything() {
        assertThat(berth("run", "--memory", "lots", "true")).isEqualTo(2);
        assertThat(berth("run", "--timeout", "30", "true")).isEqualTo(2);
        assertThat(berth("run", "--pids", "few", "true")).isEqualTo(2);
        assertThat(berth("run", "--cpus", "two", "true")).isEqualTo(2);
        assertThat(berth("run", "--env", "NOVALUE", "true")).isEqualTo(2);
        assertThat(berth("run", "--runtime", "podman", "true")).isEqualTo(2);
        assertThat(berth("run")).isEqualTo(2);
        assertThat(console.err().lines()).hasSize(7).allMatch(line -> line.startsWith("berth: "));
    }

    @Test
    void refusesLimitsThatMakeNoSense() {
        assertThat(berth("run", "--memory", "1k", "true")).isEqualTo(2);
        assertThat(console.err()).isEqualTo("berth: memory has to be at least 16m\n");
    }

    @Test
    void refusesAnIdThatCannotBe() {
        assertThat(berth("run", "--sandbox", "../etc", "true")).isEqualTo(2);
        assertThat(console.err()).contains("a sandbox id has");
    }

    private int berth(String... words) {
        return Berth.run(List.of(words), console.console());
    }
}
