package dev.berth.cli;

import static java.time.temporal.ChronoUnit.SECONDS;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.Durations;
import dev.berth.cli.args.Option;
import dev.berth.cli.args.Sizes;
import dev.berth.cli.args.Syntax;
import dev.berth.cli.args.Syntax.Operands;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxInfo;
import dev.berth.sandbox.SandboxProvider;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/** {@code berth ls}. */
final class LsCommand implements Subcommand {
    private static final Option<Boolean> QUIET = Option.flag("-q, --quiet", "Print the ids alone.");

    @Override
    public Syntax syntax() {
        return new Syntax(
                "ls",
                "List the sandboxes on this machine.",
                List.of("[OPTION…]"),
                Operands.NONE,
                List.of(QUIET, LocalOptions.DATA),
                List.of("Examples:", "  berth ls", "  berth rm $(berth ls -q)"));
    }

    @Override
    public int run(Arguments arguments, Console console) {
        try (SandboxProvider provider = Wiring.provider(LocalOptions.config(arguments, console.env()))) {
            List<SandboxInfo> infos = provider.list().stream()
                    .map(Sandbox::info)
                    .sorted(Comparator.comparing(SandboxInfo::createdAt))
                    .toList();
            if (arguments.has(QUIET)) {
                infos.forEach(info -> console.out().println(info.id()));
            } else {
                table(infos, Instant.now()).print(console.out());
            }
        }
        return 0;
    }

    static Table table(List<SandboxInfo> infos, Instant now) {
        Table table = new Table("ID", "STATE", "TEMPLATE", "RUNTIME", "MEMORY", "AGE");
        for (SandboxInfo info : infos) {
            table.add(
                    info.id().value(),
                    info.state().name().toLowerCase(Locale.ROOT),
                    info.template(),
                    info.runtime(),
                    Sizes.format(info.limits().memoryBytes()),
                    Durations.format(Duration.between(info.createdAt(), now).truncatedTo(SECONDS)));
        }
        return table;
    }
}
