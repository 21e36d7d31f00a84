package dev.berth.cli.args;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.cli.args.Syntax.Operands;
import java.util.List;
import org.junit.jupiter.api.Test;

class SyntaxTest {
    private static final Option<Integer> COUNT = Option.of("-n, --count", "N", "How many.", Option.atLeast(1));
    private static final Option<Boolean> LOUD = Option.flag("-l, --loud", "Loudly.");
    private static final Option<Boolean> TWICE = Option.flag("-t", "Twice.");

    private final Syntax ordinary = syntax(new Operands(0, 2, false));
    private final Syntax runner = syntax(new Operands(0, 99, true));

    @Test
    void readsValuesInBothForms() {
        assertThat(parse("--count", "3").get(COUNT)).contains(3);
        assertThat(parse("--count=3").get(COUNT)).contains(3);
        assertThat(parse("-n", "3").get(COUNT)).contains(3);
    }

    @Test
    void takesTheLastOfAnOptionGivenTwiceAndKeepsAllForThoseWhoAsk() {
        assertThat(parse("-n", "1", "-n", "2").get(COUNT)).contains(2);
        assertThat(parse("-n", "1", "-n", "2").all(COUNT)).containsExactly(1, 2);
    }

    @Test
    void readsFlagsWrittenTogether() {
        Arguments arguments = parse("-lt");
        assertThat(arguments.has(LOUD)).isTrue();
        assertThat(arguments.has(TWICE)).isTrue();
    }

    @Test
    void letsOptionsFollowOperands() {
        assertThat(parse("a", "--loud", "b").operands()).containsExactly("a", "b");
        assertThat(parse("a", "--loud").has(LOUD)).isTrue();
    }

    @Test
    void leavesOptionsAfterTheFirstOperandToTheProgramThatIsRun() {
        Arguments arguments = runner.parse(List.of("-l", "ls", "-t", "--count"));
        assertThat(arguments.operands()).containsExactly("ls", "-t", "--count");
        assertThat(arguments.has(TWICE)).isFalse();
    }

    @Test
    void takesEverythingAfterTwoDashesAsItIs() {
        Arguments arguments = runner.parse(List.of("--", "--", "-l"));
        assertThat(arguments.operands()).containsExactly("--", "-l");
        assertThat(arguments.afterDashes()).isTrue();
        assertThat(runner.parse(List.of("ls", "--", "-l")).afterDashes()).isFalse();
    }

    @Test
    void takesASingleDashForAnOperand() {
        assertThat(parse("-").operands()).containsExactly("-");
    }

    @Test
    void saysWhatIsWrong() {
        refuses("there is no option --colour", "--colour", "red");
        refuses("there is no option -x", "-x");
        refuses("there is no option -x", "-lx");
        refuses("--count needs a value: N", "--count");
        refuses("--loud takes no value", "--loud=yes");
        refuses("--count: 'many' is not a whole number of at least 1", "--count", "many");
        refuses("--count: '0' is not a whole number of at least 1", "-n", "0");
        refuses("'c' is too much", "a", "b", "c");
    }

    @Test
    void showsEveryOptionInItsHelp() {
        assertThat(ordinary.help())
                .startsWith("Usage: berth say [OPTION…]\n")
                .contains("  -n, --count N  How many.\n")
                .contains("  -l, --loud     Loudly.\n")
                .contains("  -h, --help     Show this.\n")
                .endsWith("Examples:\n  berth say\n");
    }

    private void refuses(String why, String... words) {
        assertThatThrownBy(() -> parse(words))
                .isInstanceOf(UsageException.class)
                .hasMessage(why);
    }

    private Arguments parse(String... words) {
        return ordinary.parse(List.of(words));
    }

    private static Syntax syntax(Operands operands) {
        return new Syntax(
                "say",
                "Say it.",
                List.of("[OPTION…]"),
                operands,
                List.of(COUNT, LOUD, TWICE),
                List.of("Examples:", "  berth say"));
    }
}
