package dev.berth.cli;

import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code berth template}. */
@Command(
        name = "template",
        description = "Build, list and remove templates: what sandboxes start from.",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {TemplateCommand.Build.class, TemplateCommand.Ls.class, TemplateCommand.Rm.class},
        footer = {"", "Examples:", "  berth template build", "  berth template ls"})
final class TemplateCommand implements Runnable {
    @Spec
    @SuppressWarnings("NullAway.Init") // picocli sets it
    CommandSpec spec;

    @Override
    public void run() {
        spec.commandLine().usage(spec.commandLine().getOut());
    }

    /** {@code berth template build}. */
    @Command(
            name = "build",
            description = "Build a template. Steps that were built before are taken as they are.",
            mixinStandardHelpOptions = true,
            footer = {
                "",
                "Examples:",
                "  berth template build                       the 'base' that Berth comes with",
                "  berth template build analytics.template    one of your own"
            })
    static final class Build implements Runnable {
        @Mixin
        LocalOptions local = new LocalOptions();

        @Parameters(
                paramLabel = "FILE",
                arity = "0..1",
                description = "What to build, see docs/templates.md; without it, 'base'.")
        Optional<Path> file = Optional.empty();

        @Spec
        @SuppressWarnings("NullAway.Init") // picocli sets it
        CommandSpec spec;

        @Override
        public void run() {
            String name = Wiring.templates(local.config())
                    .build(file, line -> spec.commandLine().getErr().println(line));
            spec.commandLine().getOut().println(name);
        }
    }

    /** {@code berth template ls}. */
    @Command(
            name = "ls",
            description = "List the templates.",
            mixinStandardHelpOptions = true,
            footer = {"", "Examples:", "  berth template ls"})
    static final class Ls implements Runnable {
        @Mixin
        LocalOptions local = new LocalOptions();

        @Spec
        @SuppressWarnings("NullAway.Init") // picocli sets it
        CommandSpec spec;

        @Override
        public void run() {
            Instant now = Instant.now();
            Table table = new Table("NAME", "SIZE", "BUILT");
            for (Templates.Entry entry : Wiring.templates(local.config()).list()) {
                table.add(
                        entry.name(),
                        entry.bytes() == 0 ? "-" : SizeConverter.format(entry.bytes()),
                        entry.builtAt()
                                .map(at -> DurationConverter.format(Duration.between(at, now)) + " ago")
                                .orElse("-"));
            }
            table.print(spec.commandLine().getOut());
        }
    }

    /** {@code berth template rm}. */
    @Command(
            name = "rm",
            description = "Remove templates. One that a sandbox was made from is refused.",
            mixinStandardHelpOptions = true,
            footer = {"", "Examples:", "  berth template rm base:1"})
    static final class Rm implements Runnable {
        @Mixin
        LocalOptions local = new LocalOptions();

        @Parameters(paramLabel = "NAME", arity = "1..*", description = "The templates to remove.")
        List<String> names = List.of();

        @Override
        public void run() {
            names.forEach(Wiring.templates(local.config())::remove);
        }
    }
}
