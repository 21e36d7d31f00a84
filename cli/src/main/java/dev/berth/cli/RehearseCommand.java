package dev.berth.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.util.List;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/**
 * The launcher's training run for the JDK's ahead-of-time cache: loads Berth's own classes and reads a command line of
 * each kind, without touching the machine.
 */
@Command(name = "rehearse", hidden = true, description = "Used by the launcher when it builds.")
final class RehearseCommand implements Runnable {
    private static final List<List<String>> LINES =
            List.of(List.of("--version"), List.of("--help"), List.of("run", "--help"), List.of("doctor", "--json"));

    @Override
    public void run() {
        Stream.of(System.getProperty("java.class.path").split(":"))
                .filter(entry -> entry.endsWith(".jar"))
                .forEach(RehearseCommand::loadAll);
        PrintWriter nowhere = new PrintWriter(Writer.nullWriter());
        for (List<String> line : LINES) {
            CommandLine cli = Berth.commandLine(nowhere, nowhere);
            cli.execute(line.toArray(String[]::new));
        }
    }

    private static void loadAll(String jar) {
        try (JarFile file = new JarFile(jar)) {
            file.stream()
                    .map(entry -> entry.getName().replace('/', '.'))
                    .filter(name -> name.startsWith("dev.berth.") && name.endsWith(".class"))
                    .map(name -> name.substring(0, name.length() - ".class".length()))
                    .filter(name -> !name.endsWith("package-info"))
                    .forEach(RehearseCommand::loadClass);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void loadClass(String name) {
        try {
            Class.forName(name, false, RehearseCommand.class.getClassLoader());
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException("the jar has a class that it has not: " + name, e);
        }
    }
}
