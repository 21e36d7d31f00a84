package dev.berth.cli;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.Option;
import dev.berth.cli.args.Syntax;
import dev.berth.cli.args.Syntax.Operands;
import java.util.List;

/** {@code berth doctor}. */
final class DoctorCommand implements Subcommand {
    private static final Option<Boolean> JSON = Option.flag("--json", "Print JSON.");

    @Override
    public Syntax syntax() {
        return new Syntax(
                "doctor",
                "Tell what this machine has and lacks, and how to fix it.",
                List.of("[OPTION…]"),
                Operands.NONE,
                List.of(JSON, LocalOptions.DATA),
                List.of("Ends with 0 if 'berth run' can work here, else with 1.", "", "Examples:", "  berth doctor"));
    }

    @Override
    public int run(Arguments arguments, Console console) {
        return 0;
    }
}
