package dev.berth.cli.doctor;

import dev.berth.session.postgres.EmbeddedPostgres;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** The programs that Berth runs, and the Debian packages they come from. */
final class ProgramChecks {
    /** @param without what cannot be done without it */
    private record Program(String name, String packaged, String without) {}

    private static final List<String> RUNTIMES = List.of("crun", "runc", "runsc");

    private static final List<Program> PROGRAMS = List.of(
            new Program("mkfs.btrfs", "btrfs-progs", "no btrfs pool: checkpoints are copies, no hard disk limit"),
            new Program("mmdebstrap", "mmdebstrap", "no 'berth template build'"),
            new Program("rg", "ripgrep", "no fast search in sandboxes of the 'host' template"),
            new Program("gcc", "gcc", "no building from source"),
            new Program("make", "make", "no building from source"),
            new Program("mvn", "maven", "no building from source"),
            new Program("bwrap", "bubblewrap", "'berth bench' compares with less"));

    private ProgramChecks() {}

    static Stream<Finding> all(Machine machine) {
        return Stream.of(
                        RUNTIMES.stream().map(name -> runtime(machine, name)),
                        PROGRAMS.stream().map(program -> program(machine, program)),
                        Stream.of(postgres(machine)))
                .flatMap(it -> it);
    }

    /** The server's own, which comes with it and is started by setpriv(1). */
    private static Finding postgres(Machine machine) {
        if (!EmbeddedPostgres.isPacked()) {
            return Finding.lacking(
                    "PostgreSQL", "this build has none for this processor", "set DATABASE_URL to one of your own");
        }
        return machine.program("setpriv")
                .map(path -> Finding.good("PostgreSQL", "comes with it"))
                .orElseGet(() -> Finding.lacking(
                        "PostgreSQL",
                        "no setpriv: 'berth up' cannot start its own",
                        "apt-get install -y util-linux, or set DATABASE_URL"));
    }

    private static Finding runtime(Machine machine, String name) {
        Optional<Path> program = machine.program(name);
        String install = "apt-get install -y " + name;
        if (program.isEmpty()) {
            return name.equals(machine.runtime())
                    ? Finding.bad(name, "missing", install)
                    : Finding.lacking(name, "missing: no --runtime " + name, install);
        }
        return machine.output()
                .apply(List.of(program.get().toString(), "--version"))
                .map(line -> Finding.good(name, line.replace(name + " version ", "")))
                .orElseGet(() -> new Finding(
                        name,
                        name.equals(machine.runtime()) ? Finding.Status.BAD : Finding.Status.LACKING,
                        "does not run",
                        "apt-get install -y --reinstall " + name));
    }

    private static Finding program(Machine machine, Program program) {
        return machine.program(program.name)
                .map(path -> Finding.good(program.name, "yes"))
                .orElseGet(() -> Finding.lacking(
                        program.name, "missing: " + program.without, "apt-get install -y " + program.packaged));
    }
}
