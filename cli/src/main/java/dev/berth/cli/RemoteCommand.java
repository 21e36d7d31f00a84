package dev.berth.cli;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.Option;
import dev.berth.cli.args.Syntax;
import dev.berth.cli.args.Syntax.Operands;
import dev.berth.client.BerthClient;
import java.util.ArrayList;
import java.util.List;

/** A command that calls a server, here or elsewhere. */
record RemoteCommand(Syntax syntax, Work work) implements Subcommand {
    /** Does it and returns the exit code. */
    interface Work {
        int run(Remote remote);
    }

    static final Operands ONE = new Operands(1, 1, false);
    static final Operands MANY = new Operands(1, Integer.MAX_VALUE, false);

    /** @param examples what comes behind {@code berth}, one a line */
    static RemoteCommand of(
            String name,
            String summary,
            String synopsis,
            Operands operands,
            List<Option<?>> options,
            List<String> examples,
            Work work) {
        List<String> footer = new ArrayList<>(List.of("Examples:"));
        examples.forEach(example -> footer.add("  berth " + example));
        return new RemoteCommand(
                new Syntax(
                        name,
                        summary,
                        List.of(("[OPTION…] " + synopsis).strip()),
                        operands,
                        RemoteOptions.with(options),
                        footer),
                work);
    }

    @Override
    public int run(Arguments arguments, Console console) {
        try (BerthClient berth = RemoteOptions.connect(arguments, console.env())) {
            return work.run(new Remote(berth, arguments, console, arguments.has(RemoteOptions.JSON)));
        }
    }
}
