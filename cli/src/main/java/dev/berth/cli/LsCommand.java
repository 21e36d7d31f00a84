package dev.berth.cli;

import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxInfo;
import dev.berth.sandbox.SandboxProvider;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code berth ls}. */
@Command(
        name = "ls",
        description = "List the sandboxes on this machine.",
        mixinStandardHelpOptions = true,
        footer = {"", "Examples:", "  berth ls", "  berth rm $(berth ls -q)"})
final class LsCommand implements Runnable {
    @Mixin
    LocalOptions local = new LocalOptions();

    @Option(
            names = {"-q", "--quiet"},
            description = "Print the ids alone.")
    boolean quiet;

    @Spec
    @SuppressWarnings("NullAway.Init") // picocli sets it
    CommandSpec spec;

    @Override
    public void run() {
        try (SandboxProvider provider = Wiring.provider(local.config())) {
            List<SandboxInfo> infos = provider.list().stream()
                    .map(Sandbox::info)
                    .sorted(Comparator.comparing(SandboxInfo::createdAt))
                    .toList();
            if (quiet) {
                infos.forEach(info -> spec.commandLine().getOut().println(info.id()));
            } else {
                table(infos, Instant.now()).print(spec.commandLine().getOut());
            }
        }
    }

    static Table table(List<SandboxInfo> infos, Instant now) {
        Table table = new Table("ID", "STATE", "TEMPLATE", "RUNTIME", "MEMORY", "AGE");
        for (SandboxInfo info : infos) {
            table.add(
                    info.id().value(),
                    info.state().name().toLowerCase(Locale.ROOT),
                    info.template(),
                    info.runtime(),
                    SizeConverter.format(info.limits().memoryBytes()),
                    DurationConverter.format(Duration.between(info.createdAt(), now)));
        }
        return table;
    }
}
