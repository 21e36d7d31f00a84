package dev.berth.cli;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.Syntax;
import dev.berth.cli.args.Syntax.Operands;
import java.util.List;

/** {@code berth template rm}. */
final class TemplateRmCommand implements Subcommand {
    @Override
    public Syntax syntax() {
        return new Syntax(
                "template rm",
                "Remove templates that no sandbox uses.",
                List.of("[OPTION…] NAME…"),
                new Operands(1, Integer.MAX_VALUE, false),
                List.of(LocalOptions.DATA),
                List.of("Examples:", "  berth template rm base:1"));
    }

    @Override
    public int run(Arguments arguments, Console console) {
        Templates templates = Wiring.templates(LocalOptions.config(arguments, console.env()));
        arguments.operands().forEach(templates::remove);
        return 0;
    }
}
