package dev.berth.bench;

import dev.berth.bench.report.MachineFacts;
import dev.berth.bench.report.Rendering;
import dev.berth.bench.report.Report;
import dev.berth.bench.report.Row;
import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.time.Clock;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;

/** Runs the measurements one after the other and reports. */
public final class Bench {
    private static final List<Measurement> ALL = List.of(
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

    private Bench() {}

    /** What {@link BenchOptions#only} may name, in the order in which they are run. */
    public static List<String> names() {
        return ALL.stream().map(Measurement::name).toList();
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

    private static Report measure(BenchOptions options, PrintWriter out) {
        List<Measurement> wanted = wanted(options.only());
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

    private static List<Measurement> wanted(Set<String> only) {
        Set<String> unknown =
                only.stream().filter(name -> !names().contains(name)).collect(Collectors.toSet());
        if (!unknown.isEmpty()) {
            throw SandboxException.invalid(
                    "there is no measurement " + unknown + "; there are " + String.join(", ", names()));
        }
        return ALL.stream()
                .filter(measurement -> only.isEmpty() || only.contains(measurement.name()))
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
