package dev.berth.cli;

import static java.time.temporal.ChronoUnit.SECONDS;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.Durations;
import dev.berth.cli.args.Sizes;
import dev.berth.cli.args.Syntax;
import dev.berth.cli.args.Syntax.Operands;
import dev.berth.sandbox.local.template.Template;
import dev.berth.sandbox.local.template.TemplateStore;
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
        TemplateStore templates = Wiring.templates(LocalOptions.config(arguments, console.env()));
        table(templates.list(), Instant.now()).print(console.out());
        return 0;
    }

    static Table table(List<Template> templates, Instant now) {
        Table table = new Table("NAME", "SIZE", "USER", "AGE");
        for (Template template : templates) {
            table.add(
                    template.id(),
                    Sizes.format(template.size()),
                    template.user() + (template.sudo() ? " (sudo)" : ""),
                    Durations.format(Duration.between(template.createdAt(), now).truncatedTo(SECONDS)));
        }
        return table;
    }
}
