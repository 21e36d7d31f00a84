package dev.berth.cli;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.Syntax;
import dev.berth.cli.args.Syntax.Operands;
import java.nio.file.Path;
import java.util.List;

/** {@code berth template build}. */
final class TemplateBuildCommand implements Subcommand {
    @Override
    public Syntax syntax() {
        return new Syntax(
                "template build",
                "Build what sandboxes start from.",
                List.of("[OPTION…] [FILE]"),
                new Operands(0, 1, false),
                List.of(LocalOptions.DATA),
                List.of(
                        "Steps that were built before are taken as they are. docs/templates.md tells what a FILE is.",
                        "",
                        "Examples:",
                        "  berth template build                       the 'base' that Berth comes with",
                        "  berth template build analytics.template    one of your own"));
    }

    @Override
    public int run(Arguments arguments, Console console) {
        Templates templates = Wiring.templates(LocalOptions.config(arguments, console.env()));
        String name = templates.build(
                arguments.operands().stream().findFirst().map(Path::of),
                line -> console.err().println(line));
        console.out().println(name);
        return 0;
    }
}
