package dev.berth.cli;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.Syntax;
import dev.berth.cli.args.Syntax.Operands;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.jar.JarFile;
import java.util.stream.Stream;

/**
 * The launcher's training run for the JDK's ahead-of-time cache: loads Berth's own classes and reads command lines,
 * without touching the machine.
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
        return 0;
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
