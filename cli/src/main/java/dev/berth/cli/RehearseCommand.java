package dev.berth.cli;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.Syntax;
import dev.berth.cli.args.Syntax.Operands;
import dev.berth.cli.config.ServerSettings;
import dev.berth.cli.config.Values;
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
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.jar.JarFile;
import java.util.stream.Stream;

/**
 * The launcher's training run for the JDK's ahead-of-time caches. The one for commands that call a server only makes
 * {@linkplain RehearsedCalls calls}. That for all others loads Berth's own classes, reads command lines, and,
 * where that is possible, runs a command in a sandbox and starts the server. The cache is of what was used here, so this is a play of what
 * users do; nothing of it stays.
 */
final class RehearseCommand implements Subcommand {
    private static final List<List<String>> LINES = List.of(
            List.of("--version"),
            List.of("--help"),
            List.of("run", "--help"),
            List.of("doctor", "--json"),
            List.of("session", "ls", "--help"));

    @Override
    public Syntax syntax() {
        return new Syntax("rehearse", "", List.of("[calls]"), new Operands(0, 1, false), List.of(), List.of());
    }

    @Override
    public int run(Arguments arguments, Console console) {
        if (!arguments.operands().isEmpty()) {
            new RehearsedCalls().play();
            return 0;
        }
        Stream.of(System.getProperty("java.class.path").split(":"))
                .filter(entry -> entry.endsWith(".jar"))
                .forEach(RehearseCommand::loadAll);
        LINES.forEach(line -> Berth.run(line, Console.silent()));
        if (Wiring.isRoot()) {
            runInASandbox(console);
            serve(console);
        }
        return 0;
    }

    /** Starts the server twice, since making a database is not what most starts do, and asks it something. */
    private static void serve(Console console) {
        try {
            Path data = Files.createTempDirectory(Path.of("/var/tmp"), "berth");
            Files.setPosixFilePermissions(data, PosixFilePermissions.fromString("rwx--x--x"));
            ServerSettings settings = new ServerSettings(
                    Values.of(Map.of("data", data.toString(), "port", "0", "template", "host", "store", "plain")));
            try {
                for (int i = 0; i < 2; i++) {
                    Server server = Server.start(settings, new FirstStart(console), console);
                    ask(server, "session", "ls");
                    ask(server, "session", "ls", "--json");
                    ask(server, "top", "--once");
                    ask(server, "logs", "nothing");
                    ask(server, "keys", "ls");
                    server.stop().forEach(console::say);
                }
            } finally {
                remove(data);
            }
        } catch (IOException | SandboxException e) {
            console.say("no server for the rehearsal: " + e.getMessage());
        }
    }

    private static void ask(Server server, String... words) {
        List<String> line = new ArrayList<>(List.of(words));
        line.addAll(List.of("--url", server.url(), "--key", server.shownKey()));
        Berth.run(line, Console.silent());
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
