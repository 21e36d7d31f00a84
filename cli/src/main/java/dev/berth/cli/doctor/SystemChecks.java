package dev.berth.cli.doctor;

import java.util.stream.Stream;

/** Who and what we run as and on. */
final class SystemChecks {
    private SystemChecks() {}

    static Stream<Finding> all(Machine machine) {
        return Stream.of(system(machine), java(machine), root(machine));
    }

    private static Finding system(Machine machine) {
        String name = machine.read("/etc/os-release")
                .flatMap(text -> text.lines()
                        .filter(line -> line.startsWith("PRETTY_NAME="))
                        .findFirst())
                .map(line -> line.substring("PRETTY_NAME=".length()).replace("\"", ""))
                .orElse("unknown");
        return Finding.good("system", name);
    }

    /** That we run at all says that it is new enough. */
    private static Finding java(Machine machine) {
        return Finding.good("java", machine.java());
    }

    private static Finding root(Machine machine) {
        return machine.isRoot()
                ? Finding.good("root", "yes")
                : Finding.bad("root", "no", "run berth with sudo: mounts, cgroups and user ids need it");
    }
}
