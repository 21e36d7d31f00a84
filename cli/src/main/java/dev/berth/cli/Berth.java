package dev.berth.cli;

import dev.berth.cli.args.Nearest;
import dev.berth.cli.args.Syntax;
import dev.berth.cli.args.UsageException;
import dev.berth.client.BerthException;
import dev.berth.sandbox.SandboxException;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** The {@code berth} command. */
public final class Berth {
    private static final List<Subcommand> COMMANDS = Stream.<List<Subcommand>>of(
                    List.of(new UpCommand()),
                    SessionCommands.all(),
                    List.of(
                            ExecCommand.command(),
                            ShellCommand.command(),
                            CopyCommand.command(),
                            LogsCommand.command(),
                            TopCommand.command()),
                    List.of(PromptCommand.command()),
                    AgentCommands.all(),
                    JobCommands.all(),
                    ApprovalCommands.all(),
                    List.of(ArtifactCommand.command()),
                    KeyCommands.all(),
                    SecretCommands.all(),
                    List.of(
                            new RunCommand(),
                            new LsCommand(),
                            new RmCommand(),
                            new TemplateBuildCommand(),
                            new TemplateLsCommand(),
                            new TemplateRmCommand(),
                            new DoctorCommand(),
                            new BenchCommand(),
                            new CompletionCommand(Berth::commands),
                            new RehearseCommand()))
            .flatMap(List::stream)
            .toList();

    private static final String FOOTER = """
              build                Build now, whether or not sources changed.
              test                 Build and run every test.

            Examples:
              berth up
              berth exec demo 'echo hello from a session'
              berth shell demo
              berth prompt demo 'what can you do for me here?'
              berth run 'echo hello from a sandbox'
              berth run -it --memory 1g bash
              berth doctor

            Environment, where no option says otherwise:
              BERTH_URL        the server to call (--url); the one on this machine
              BERTH_API_KEY    the key to call it with (--key)
              BERTH_DATA       where sandboxes live (--data); /var/lib/berth
              BERTH_TEMPLATES  where templates live; <data>/templates
              BERTH_RUNTIME    crun, runc or runsc (--runtime); crun
            The server's settings are in docs/configuration.md.

            Exit codes, besides those of the command that was run:
              0 done         2 invalid    66 not found     67 gone            69 unavailable
              70 our fault   73 conflict  75 limit         77 denied          78 unsupported
              124 timeout    126 not executable            127 no such command
              128+n ended by signal n
            """;

    private Berth() {}

    public static void main(String[] args) {
        int code = run(Arrays.asList(args), Console.ofThisProcess());
        // System.exit waits 300 ms for daemon threads that sit in a system call, as those under virtual threads do;
        // returning does not, but would wait for ever for a thread that is no daemon.
        if (code != 0 || otherThreadsHoldUs()) {
            System.exit(code);
        }
    }

    private static boolean otherThreadsHoldUs() {
        Thread[] threads = new Thread[Thread.activeCount() + 16];
        int count = Thread.enumerate(threads);
        return Arrays.stream(threads, 0, count).anyMatch(it -> !it.isDaemon() && !it.equals(Thread.currentThread()));
    }

    static int run(List<String> words, Console console) {
        Optional<Subcommand> found = find(words);
        if (found.isEmpty()) {
            return withoutCommand(words, console);
        }
        Subcommand command = found.get();
        Syntax syntax = command.syntax();
        try {
            var arguments = syntax.parse(words.subList(nameOf(command).size(), words.size()));
            if (arguments.has(Syntax.HELP)) {
                console.out().print(syntax.help());
                console.out().flush();
                return 0;
            }
            return command.run(arguments, console);
        } catch (UsageException e) {
            console.say(e.getMessage() + "; see 'berth " + syntax.name() + " --help'");
            return ExitCodes.INVALID;
        } catch (BerthException e) {
            console.say(Remote.plain(e.getMessage()));
            return ExitCodes.of(e);
        } catch (SandboxException e) {
            console.say(String.valueOf(e.getMessage()));
            return ExitCodes.of(e.code());
        } catch (RuntimeException e) {
            console.say("this should not have happened; please report it with these lines:");
            e.printStackTrace(console.err());
            return ExitCodes.FAULT;
        }
    }

    private static Optional<Subcommand> find(List<String> words) {
        return COMMANDS.stream()
                .filter(command -> startsWith(words, nameOf(command)))
                .findFirst();
    }

    private static int withoutCommand(List<String> words, Console console) {
        String first = words.isEmpty() ? "--help" : words.getFirst();
        switch (first) {
            case "-V", "--version" -> console.out().println("berth " + version());
            case "-h", "--help", "help" -> help("", console);
            default -> {
                boolean asked = words.size() == 1 || Set.of("-h", "--help").contains(words.get(1));
                if (asked && isGroup(first)) {
                    help(first + " ", console);
                    return 0;
                }
                unknown(words, console);
                return ExitCodes.INVALID;
            }
        }
        return 0;
    }

    static List<Subcommand> commands() {
        return COMMANDS;
    }

    private static boolean isGroup(String word) {
        return COMMANDS.stream().anyMatch(it -> it.syntax().name().startsWith(word + " "));
    }

    private static void unknown(List<String> words, Console console) {
        String first = words.getFirst();
        boolean group = words.size() > 1 && isGroup(first);
        String name = group ? first + " " + words.get(1) : first;
        List<String> known = COMMANDS.stream()
                .filter(it -> !it.syntax().summary().isEmpty())
                .map(it -> it.syntax().name())
                .toList();
        String what = first.startsWith("-") ? "option" : "command";
        console.say("there is no " + what + " '" + name + "'"
                + Nearest.to(name, known)
                        .map(near -> " (did you mean '" + near + "'?)")
                        .orElse("") + "; see 'berth "
                + (group ? first : "--help") + "'");
    }

    private static void help(String group, Console console) {
        StringBuilder help = new StringBuilder("Usage: berth " + group + "COMMAND [OPTION…]\n\n");
        if (group.isEmpty()) {
            help.append("A persistent Linux computer for every conversation of an AI agent.\n\n");
        }
        help.append("Commands; each has --help:\n");
        for (Subcommand command : COMMANDS) {
            Syntax syntax = command.syntax();
            if (syntax.name().startsWith(group) && !syntax.summary().isEmpty()) {
                help.append("  ")
                        .append(syntax.name())
                        .repeat(' ', 21 - syntax.name().length());
                help.append(syntax.summary()).append('\n');
            }
        }
        console.out().print(group.isEmpty() ? help + FOOTER : help);
        console.out().flush();
    }

    private static List<String> nameOf(Subcommand command) {
        return Arrays.asList(command.syntax().name().split(" "));
    }

    private static boolean startsWith(List<String> words, List<String> name) {
        return words.size() >= name.size() && words.subList(0, name.size()).equals(name);
    }

    /** The version that the build wrote into the jar. */
    private static String version() {
        return Optional.ofNullable(Berth.class.getPackage().getImplementationVersion())
                .orElse("(not packaged)");
    }
}
