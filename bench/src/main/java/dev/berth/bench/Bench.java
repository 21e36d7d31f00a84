package dev.berth.bench;

import dev.berth.bench.report.MachineFacts;
import dev.berth.bench.report.Rendering;
import dev.berth.bench.report.Report;
import dev.berth.bench.report.Row;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.template.TemplateStore;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.time.Clock;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Runs the measurements one after the other and reports. */
public final class Bench {
    private static final List<Measurement> USUAL = List.of(
            new ColdCreate(),
            new WarmCreate(),
            new LiveCommand(),
            new HttpCommand(),
            new Throughput(),
            new HttpThroughput(),
            new Resume(),
            new ResolveLive(),
            new ResolvePaused(),
            new Burst(),
            new IdleMemory(),
            new Copies(),
            new SandboxTransfer(),
            new HttpFiles(),
            new EgressTransfer(),
            new EgressLatency(),
            new EgressSecret(),
            new ProviderOpen());

    /** Only measured when asked for, as they need a template that not every machine has. */
    private static final List<Measurement> AGENTS =
            List.of(new AgentCold(), new AgentWarm(), new AgentResume(), new AgentMemory());

    /** Only measured when asked for, as it needs npm and its registry. */
    private static final Measurement E2B = new E2bBurst();

    private static final List<Measurement> ALL =
            Stream.of(USUAL, AGENTS, List.of(E2B)).flatMap(List::stream).toList();

    private Bench() {}

    /** What {@link BenchOptions#only} may name, in the order in which they are run. */
    public static List<String> names() {
        return ALL.stream().map(Measurement::name).toList();
    }

    /** Those of them that are about agents, which are measured only if they are named. */
    public static List<String> agentNames() {
        return AGENTS.stream().map(Measurement::name).toList();
    }

    /** The one with E2B's SDK, which is measured only if it is named. */
    public static String e2bName() {
        return E2B.name();
    }

    /** Prints the report and returns the exit code: 0 if everything could be measured, whatever came out. */
    public static int run(BenchOptions options, PrintWriter out, PrintWriter progress) {
        Report report = measure(options, progress);
        options.rendering().print(report, out);
        options.json().ifPresent(file -> {
            try {
                Files.writeString(file, Rendering.json(report));
            } catch (IOException e) {
                throw SandboxException.unavailable("could not write " + file + ": " + e.getMessage(), e);
            }
        });
        return report.failures().isEmpty() ? 0 : 1;
    }

    private static Report measure(BenchOptions given, PrintWriter out) {
        List<Measurement> wanted = wanted(given.only());
        BenchOptions options = prepared(given, wanted);
        List<Row> rows = new ArrayList<>();
        List<Report.Failure> failures = new ArrayList<>();
        try (Rig rig = new Rig(options, new Progress(out))) {
            MachineFacts machine =
                    MachineFacts.here(Clock.systemUTC(), rig.template().id(), programs(options));
            for (Measurement measurement : wanted) {
                try {
                    rows.addAll(measurement.measure(rig));
                } catch (Exception e) {
                    failures.add(new Report.Failure(measurement.name(), String.valueOf(e.getMessage())));
                    e.printStackTrace(out);
                }
            }
            return new Report(machine, rows, failures);
        } catch (IOException e) {
            throw SandboxException.unavailable("could not set up or clean up the benchmark: " + e.getMessage(), e);
        }
    }

    /** Agents have a template of their own, which the report names if there is nothing else in it. */
    private static BenchOptions prepared(BenchOptions options, List<Measurement> wanted) {
        if (wanted.stream().noneMatch(AGENTS::contains)) {
            return options;
        }
        if (new TemplateStore(options.templates()).find(AgentSite.TEMPLATE).isEmpty()) {
            throw SandboxException.notFound("agents are measured in sandboxes from the template '" + AgentSite.TEMPLATE
                    + "', which is not built; build it with 'berth template build agent'");
        }
        return AGENTS.containsAll(wanted) ? options.withTemplate(AgentSite.TEMPLATE) : options;
    }

    private static List<Measurement> wanted(Set<String> only) {
        Set<String> unknown =
                only.stream().filter(name -> !names().contains(name)).collect(Collectors.toSet());
        if (!unknown.isEmpty()) {
            throw SandboxException.invalid(
                    "there is no measurement " + unknown + "; there are " + String.join(", ", names()));
        }
        return only.isEmpty()
                ? USUAL
                : ALL.stream()
                        .filter(measurement -> only.contains(measurement.name()))
                        .toList();
    }

    private static List<String> programs(BenchOptions options) {
        List<String> programs = new ArrayList<>(List.of("crun", "bwrap"));
        String runtime = options.runtime().name().toLowerCase(Locale.ROOT);
        if (!programs.contains(runtime)) {
            programs.add(runtime);
        }
        if (options.docker()) {
            programs.add("dockerd");
        }
        return programs;
    }
}
