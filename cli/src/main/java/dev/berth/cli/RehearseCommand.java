package dev.berth.cli;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.Syntax;
import dev.berth.cli.args.Syntax.Operands;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.local.LocalConfig;
import dev.berth.sandbox.local.LocalProvider;
import dev.berth.sandbox.local.store.StoreKind;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.jar.JarFile;
import java.util.stream.Stream;

/**
 * The launcher's training run for the JDK's ahead-of-time cache: loads Berth's own classes, reads command lines, and,
 * where that is possible, runs a command in a sandbox. The cache is of what was used here, so this is a play of what
 * users do; nothing of it stays.
 */
final class RehearseCommand implements Subcommand {
    private static final List<List<String>> LINES =
            List.of(List.of("--version"), List.of("--help"), List.of("run", "--help"), List.of("doctor", "--json"));

    @Override
    public Syntax syntax() {
        return new Syntax("rehearse", "", List.of(""), Operands.NONE, List.of(), List.of());
    }

    @Override
    public int run(Arguments arguments, Console console) {
        Stream.of(System.getProperty("java.class.path").split(":"))
                .filter(entry -> entry.endsWith(".jar"))
                .forEach(RehearseCommand::loadAll);
        LINES.forEach(line -> Berth.run(line, Console.silent()));
        if (Wiring.isRoot()) {
            runInASandbox(console);
        }
        return 0;
    }

    private static void runInASandbox(Console console) {
        try {
            Path data = Files.createTempDirectory("berth");
            try (LocalProvider provider =
                    LocalProvider.open(LocalConfig.of(data).withStore(StoreKind.PLAIN))) {
                Sandbox sandbox = provider.createEphemeral(
                        SandboxSpec.of("rehearsal", "host").withLimits(Limits.DEFAULT.withDisk(0)));
                new ForegroundRun(Command.shell("true"), false, console).in(sandbox, Interrupts.install());
                sandbox.destroy();
            } finally {
                remove(data);
            }
        } catch (IOException | SandboxException e) {
            console.say("no sandbox for the rehearsal: " + e.getMessage()); // the cache is only smaller then
        }
    }

    private static void remove(Path directory) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    private static void loadAll(String jar) {
        try (JarFile file = new JarFile(jar)) {
            file.stream()
                    .map(entry -> entry.getName().replace('/', '.'))
                    .filter(name -> name.startsWith("dev.berth.") && name.endsWith(".class"))
                    .map(name -> name.substring(0, name.length() - ".class".length()))
                    .filter(name -> !name.endsWith("package-info"))
                    .forEach(RehearseCommand::load);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void load(String name) {
        try {
            Class.forName(name, false, RehearseCommand.class.getClassLoader());
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException("the jar lists a class that it has not: " + name, e);
        }
    }
}
