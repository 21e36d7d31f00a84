package dev.berth.cli;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.Option;
import dev.berth.cli.args.Syntax;
import dev.berth.cli.args.Syntax.Operands;
import dev.berth.cli.doctor.Finding;
import dev.berth.cli.doctor.Machine;
import dev.berth.cli.doctor.Report;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.LocalConfig;
import dev.berth.sandbox.local.template.Template;
import dev.berth.sandbox.local.template.TemplateStore;
import java.util.List;
import java.util.Locale;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;

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
                List.of(JSON, LocalOptions.RUNTIME, LocalOptions.DATA),
                List.of(
                        "Ends with 0 if 'berth run' can work here, else with 1.",
                        "",
                        "Examples:",
                        "  berth doctor",
                        "  berth doctor --json --runtime runsc"));
    }

    @Override
    public int run(Arguments arguments, Console console) {
        LocalConfig config = LocalOptions.config(arguments, console.env());
        String runtime = config.runtime().name().toLowerCase(Locale.ROOT);
        Report report = Report.of(Machine.here(Wiring.isRoot(), config.data(), runtime, builtTemplates(config)));
        if (arguments.has(JSON)) {
            console.out().println(json(report));
        } else {
            print(report, console);
        }
        return report.ready() ? 0 : 1;
    }

    static void print(Report report, Console console) {
        Table table = new Table("", "WHAT", "FOUND", "FIX");
        for (Finding finding : report.findings()) {
            table.add(mark(finding, console.showsColours()), finding.name(), finding.found(), finding.fix());
        }
        table.print(console.out());
        console.out().println();
        console.out()
                .println(
                        report.ready()
                                ? "Sandboxes can run here."
                                : "Sandboxes cannot run here before what is marked ✗ is fixed.");
    }

    static String json(Report report) {
        JsonMapper mapper =
                JsonMapper.builder().enable(SerializationFeature.INDENT_OUTPUT).build();
        List<JsonCheck> findings = report.findings().stream()
                .map(finding -> new JsonCheck(
                        finding.name(),
                        finding.status().name().toLowerCase(Locale.ROOT),
                        finding.found(),
                        finding.fix()))
                .toList();
        return mapper.writeValueAsString(new Json(report.ready(), findings));
    }

    /** What {@code --json} prints. */
    record Json(boolean ready, List<JsonCheck> checks) {}

    record JsonCheck(String name, String status, String found, String fix) {}

    /** Only looks: a list would make {@code host} on the way. */
    private static List<String> builtTemplates(LocalConfig config) {
        try {
            return new TemplateStore(config.templates())
                    .find("base").map(Template::id).stream().toList();
        } catch (SandboxException e) {
            return List.of(); // not for us to read
        }
    }

    private static String mark(Finding finding, boolean colours) {
        String mark = switch (finding.status()) {
            case GOOD -> "✓";
            case LACKING -> "!";
            case BAD -> "✗";
        };
        int colour = switch (finding.status()) {
            case GOOD -> 32;
            case LACKING -> 33;
            case BAD -> 31;
        };
        return colours ? "\033[" + colour + "m" + mark + "\033[0m" : mark;
    }
}
