package dev.berth.cli.doctor;

import dev.berth.cli.doctor.Finding.Status;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;

/** All findings about a machine. */
public record Report(List<Finding> findings) {
    private static final List<Function<Machine, Stream<Finding>>> CHECKS =
            List.of(SystemChecks::all, KernelChecks::all, CgroupChecks::all, ProgramChecks::all, ResourceChecks::all);

    public Report {
        findings = List.copyOf(findings);
    }

    public static Report of(Machine machine) {
        return new Report(CHECKS.stream().flatMap(check -> check.apply(machine)).toList());
    }

    /** Whether a sandbox can run here. */
    public boolean ready() {
        return findings.stream().noneMatch(finding -> finding.status() == Status.BAD);
    }
}
