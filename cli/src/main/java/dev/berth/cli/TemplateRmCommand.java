package dev.berth.cli;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.Syntax;
import dev.berth.cli.args.Syntax.Operands;
import dev.berth.sandbox.local.LocalProvider;
import java.util.List;
import java.util.Set;

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
        try (LocalProvider provider = Wiring.provider(LocalOptions.config(arguments, console.env()))) {
            Set<String> used = provider.templatesInUse();
            for (String name : arguments.operands()) {
                provider.templateStore()
                        .remove(name, template -> used.contains(template.id()))
                        .forEach(removed -> console.out().println(removed.id()));
            }
        }
        return 0;
    }
}
