package dev.berth.cli;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.Syntax;
import dev.berth.cli.args.Syntax.Operands;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/** {@code berth template ls}. */
final class TemplateLsCommand implements Subcommand {
    @Override
    public Syntax syntax() {
        return new Syntax(
                "template ls",
                "List the templates.",
                List.of("[OPTION…]"),
                Operands.NONE,
                List.of(LocalOptions.DATA),
                List.of("Examples:", "  berth template ls"));
    }

    @Override
    public int run(Arguments arguments, Console console) {
        Templates templates = Wiring.templates(LocalOptions.config(arguments, console.env()));
        table(templates.list(), Instant.now()).print(console.out());
        return 0;
    }

    static Table table(List<Templates.Entry> entries, Instant now) {
        Table table = new Table("NAME", "SIZE", "BUILT");
        for (Templates.Entry entry : entries) {
            table.add(
                    entry.name(),
                    entry.bytes() == 0 ? "-" : Sizes.format(entry.bytes()),
                    entry.builtAt()
                            .map(at -> Durations.format(Duration.between(at, now)) + " ago")
                            .orElse("-"));
        }
        return table;
    }
}
