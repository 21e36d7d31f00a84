package dev.berth.cli;

import dev.berth.bench.Bench;
import dev.berth.bench.BenchOptions;
import dev.berth.bench.BenchOptions.Size;
import dev.berth.bench.report.Rendering;
import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.Option;
import dev.berth.cli.args.Syntax;
import dev.berth.cli.args.Syntax.Operands;
import dev.berth.cli.args.UsageException;
import dev.berth.sandbox.local.LocalConfig;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** {@code berth bench}. */
final class BenchCommand implements Subcommand {
    private static final Option<Boolean> QUICK =
            Option.flag("--quick", "Take seconds instead of minutes; the numbers mean little.");
    private static final Option<Boolean> FULL = Option.flag("--full", "Take many minutes, with 1,000 sandboxes.");
    private static final Option<Boolean> DOCKER =
            Option.flag("--docker", "Compare with a Docker engine too, started for this and removed again.");
    private static final Option<Boolean> AGENT =
            Option.flag("--agent", "Measure agents instead of the rest; needs the template 'agent'.");
    private static final Option<Boolean> E2B = Option.flag(
            "--e2b", "Measure fifty sandboxes at once, made with E2B's SDK, instead of the rest; needs npm.");
    /** What E2B's SDK makes sandboxes of where nobody says otherwise. */
    private static final String E2B_TEMPLATE = "base";

    private static final Option<String> ONLY =
            Option.of("--only", "NAME", "Measure this only; can be repeated.", BenchCommand::measurement);
    private static final Option<String> TEMPLATE =
            Option.of("-t, --template", "NAME", "What sandboxes start from (default: base if it is built, else host).");
    private static final Option<Path> JSON = Option.of("--json", "FILE", "Write the numbers to a file too.", Path::of);
    private static final Option<Boolean> MARKDOWN = Option.flag("--markdown", "Print a table for Markdown.");

    @Override
    public Syntax syntax() {
        return new Syntax(
                "bench",
                "Measure speed and size, next to what they are compared with.",
                List.of("[OPTION…]"),
                Operands.NONE,
                List.of(
                        QUICK,
                        FULL,
                        DOCKER,
                        AGENT,
                        E2B,
                        ONLY,
                        TEMPLATE,
                        JSON,
                        MARKDOWN,
                        LocalOptions.RUNTIME,
                        LocalOptions.DATA),
                List.of(
                        "NAME is one of: " + String.join(", ", Bench.names()) + ".",
                        "Those of agents are measured only with --agent or --only, in sandboxes from the template 'agent'.",
                        "Sandboxes are made in a directory of their own below /var/tmp; of DIR only its templates are used.",
                        "Ends with 0 if all could be measured, whatever came out, else with 1.",
                        "",
                        "Examples:",
                        "  berth bench --docker --json report.json",
                        "  berth bench --only create --only warm",
                        "  berth bench --agent",
                        "  berth bench --e2b"));
    }

    @Override
    public int run(Arguments arguments, Console console) {
        BenchOptions options = options(arguments, console);
        if (options.only().contains(Bench.e2bName())) {
            new FirstStart(console).require(options.templates(), E2B_TEMPLATE);
        }
        return Bench.run(options, console.out(), console.err());
    }

    static BenchOptions options(Arguments arguments, Console console) {
        if (arguments.has(QUICK) && arguments.has(FULL)) {
            throw new UsageException("--quick and --full exclude each other");
        }
        Set<String> only = new HashSet<>(arguments.all(ONLY));
        if (arguments.has(AGENT)) {
            only.addAll(Bench.agentNames());
        }
        if (arguments.has(E2B)) {
            only.add(Bench.e2bName());
        }
        LocalConfig config = LocalOptions.config(arguments, console.env());
        return new BenchOptions(
                config.templates(),
                config.runtime(),
                arguments.get(TEMPLATE),
                arguments.has(QUICK) ? Size.QUICK : arguments.has(FULL) ? Size.FULL : Size.NORMAL,
                arguments.has(DOCKER),
                only,
                arguments.has(MARKDOWN) ? Rendering.MARKDOWN : Rendering.TABLE,
                arguments.get(JSON));
    }

    private static String measurement(String name) {
        if (!Bench.names().contains(name)) {
            throw new UsageException(
                    "there is no measurement '" + name + "'; there are " + String.join(", ", Bench.names()));
        }
        return name;
    }
}
