package dev.berth.cli;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.Exit;
import dev.berth.sandbox.Limit;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Origin;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.SandboxProvider;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.local.LocalConfig;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code berth run}. */
@picocli.CommandLine.Command(
        name = "run",
        description = "Run a command in a sandbox: a fresh one that is destroyed afterwards, or one that was kept.",
        customSynopsis = {
            "berth run [OPTION…] 'COMMAND LINE'        for bash -c",
            "       berth run [OPTION…] -- PROGRAM ARGUMENT…  as it is, without a shell",
        },
        mixinStandardHelpOptions = true,
        sortOptions = false,
        footer = {
            "",
            "Streams and the exit code are the command's: 128+n if signal n ended it, 124 after --timeout, 127",
            "if there is no such program, 126 if it is not executable. Ctrl-C is passed on; a second one kills.",
            "",
            "Examples:",
            "  berth run 'echo hello from a sandbox'",
            "  berth run --memory 1g --timeout 30s -- python3 -c 'print(6 * 7)'",
            "  echo 6 7 | berth run -i \"awk '{print \\$1 * \\$2}'\"",
            "  berth run -it bash",
            "  berth run --keep 'echo 1 > ~/count'",
            "  berth run --sandbox run-3f9c1a20 'cat ~/count'",
        })
final class RunCommand implements Callable<Integer> {
    @Mixin
    LocalOptions local = new LocalOptions();

    @Option(
            names = "--template",
            paramLabel = "NAME",
            description = "What the sandbox starts from (default: base if it is built, else host).")
    Optional<String> template = Optional.empty();

    @Option(
            names = "--memory",
            paramLabel = "SIZE",
            converter = SizeConverter.class,
            description = "Memory of all its processes, such as 1g (default 512m).")
    @Nullable
    Long memory;

    @Option(names = "--pids", paramLabel = "N", description = "Processes and threads at a time (default 256).")
    @Nullable
    Integer pids;

    @Option(names = "--cpus", paramLabel = "N", description = "Processors' worth of time, such as 0.5 (default: all).")
    @Nullable
    Double cpus;

    @Option(
            names = "--disk",
            paramLabel = "SIZE",
            converter = SizeConverter.class,
            description = "What it may write, such as 5g (default 10g).")
    @Nullable
    Long disk;

    @Option(
            names = "--timeout",
            paramLabel = "TIME",
            converter = DurationConverter.class,
            description = "Kill the command after this time, such as 30s, 5m or 1h (default: never).")
    @Nullable
    Duration timeout;

    @Option(
            names = {"-e", "--env"},
            paramLabel = "K=V",
            description = "Set an environment variable; may be given often.")
    Map<String, String> env = new LinkedHashMap<>();

    @Option(
            names = {"-u", "--user"},
            paramLabel = "USER",
            description = "Name, uid or uid:gid inside (default: the template's).")
    Optional<String> user = Optional.empty();

    @Option(
            names = {"-w", "--cwd"},
            paramLabel = "DIR",
            description = "Directory inside to run in (default: the user's home).")
    Optional<String> cwd = Optional.empty();

    @Option(names = "-i", description = "Pass standard input on.")
    boolean input;

    @Option(names = "-t", description = "Run on a terminal, for programs such as vim and top. Implies -i.")
    boolean onTerminal;

    @Option(names = "--keep", description = "Keep the sandbox and print its id.")
    boolean keep;

    @Option(names = "--sandbox", paramLabel = "ID", description = "Run in this sandbox, which was kept.")
    Optional<String> existing = Optional.empty();

    @Parameters(paramLabel = "COMMAND", arity = "0..*", hidden = true)
    List<String> words = List.of();

    @Spec
    @SuppressWarnings("NullAway.Init") // picocli sets it
    CommandSpec spec;

    @Override
    public Integer call() {
        LocalConfig config = local.config();
        Command command = command();
        Limits limits = limits();
        checkOptions();
        Interrupts interrupts = Interrupts.install();
        try (SandboxProvider provider = Wiring.provider(config)) {
            if (existing.isPresent()) {
                Sandbox sandbox = find(provider, new SandboxId(existing.get()));
                sandbox.wake();
                return runIn(sandbox, command, interrupts);
            }
            Supplier<String> preferred = () -> Wiring.templates(config).preferred();
            Sandbox sandbox = provider.create(fresh(template.orElseGet(preferred), limits));
            try {
                return runIn(sandbox, command, interrupts);
            } finally {
                leave(sandbox);
            }
        }
    }

    /** One word is a line for the shell, unless it came after {@code --}; several are a program and its arguments. */
    Command command() {
        if (words.isEmpty() && !onTerminal) {
            throw new ParameterException(spec.commandLine(), "there is no command to run");
        }
        boolean isLine = words.size() == 1 && !afterDashes();
        Command command =
                words.isEmpty() ? Command.of("bash") : isLine ? Command.shell(words.getFirst()) : Command.of(words);
        command = input ? command.withStdin() : command;
        command = user.map(command::withUser).orElse(command);
        command = cwd.map(command::withCwd).orElse(command);
        command = timeout == null ? command : command.withTimeout(timeout);
        return command.withEnv(env);
    }

    private boolean afterDashes() {
        List<String> all = spec.commandLine().getParseResult().originalArgs();
        int before = all.size() - words.size() - 1;
        return before >= 0 && all.get(before).equals("--");
    }

    Limits limits() {
        Limits limits = Limits.DEFAULT;
        limits = memory == null ? limits : limits.withMemory(memory);
        limits = pids == null ? limits : limits.withPids(pids);
        limits = cpus == null ? limits : limits.withCpus(cpus);
        return disk == null ? limits : limits.withDisk(disk);
    }

    private void checkOptions() {
        boolean makesNew =
                template.isPresent() || memory != null || pids != null || cpus != null || disk != null || keep;
        if (existing.isPresent() && makesNew) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--sandbox takes a sandbox as it is; leave out --template, --memory, --pids, --cpus, --disk and --keep");
        }
    }

    private SandboxSpec fresh(String from, Limits limits) {
        String id =
                "run-" + HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextInt());
        return new SandboxSpec(
                new SandboxId(id), Origin.template(from), limits, Map.of(), keep ? Map.of() : RunOwner.labels());
    }

    private static Sandbox find(SandboxProvider provider, SandboxId id) {
        return provider.find(id)
                .orElseThrow(() -> SandboxException.notFound(
                        "there is no sandbox '" + id + "'; 'berth ls' lists those there are"));
    }

    private int runIn(Sandbox sandbox, Command command, Interrupts interrupts) {
        if (interrupts.exitCode().isPresent()) {
            return interrupts.exitCode().get();
        }
        if (!onTerminal) {
            return attach(sandbox, command, interrupts, running -> {});
        }
        try (Terminal terminal = Terminal.open()) {
            Map<String, String> withTerm = new LinkedHashMap<>(Map.of("TERM", localTerm()));
            withTerm.putAll(command.env());
            Command onIt = command.withTerminal(terminal.size()).withEnv(withTerm);
            return attach(sandbox, onIt, interrupts, running -> {
                Signals.on("WINCH", signal -> running.resize(terminal.size()));
                terminal.raw();
            });
        }
    }

    private int attach(Sandbox sandbox, Command command, Interrupts interrupts, Consumer<RunningCommand> whenStarted) {
        RunningCommand started;
        try {
            started = sandbox.start(command);
        } catch (SandboxException e) {
            err().println("berth: " + e.getMessage());
            return ExitCodes.ofStart(e.code());
        }
        try (RunningCommand running = started) {
            interrupts.aimAt(running);
            whenStarted.accept(running);
            Foreground foreground = new Foreground(
                    new FileInputStream(FileDescriptor.in),
                    new FileOutputStream(FileDescriptor.out),
                    new FileOutputStream(FileDescriptor.err));
            Foreground.End end = foreground.attach(running, command.stdinOpen());
            return exitCode(end, command, sandbox.limits());
        } finally {
            interrupts.aimAtNothing();
        }
    }

    private int exitCode(Foreground.End end, Command command, Limits limits) {
        Exit exit = end.exit();
        if (end.brokenPipe()) {
            return ExitCodes.BROKEN_PIPE;
        }
        if (exit.timedOut()) {
            err().println("berth: killed after its timeout of " + DurationConverter.format(command.timeout()));
            return ExitCodes.TIMEOUT;
        }
        if (!exit.limitsHit().isEmpty()) {
            err().println("berth: it ran into its limit of " + describe(exit, limits));
        }
        return exit.code();
    }

    private static String describe(Exit exit, Limits limits) {
        return exit.limitsHit().stream()
                .sorted()
                .map(limit -> limit.name().toLowerCase(Locale.ROOT) + value(limit, limits))
                .collect(Collectors.joining(", "));
    }

    private static String value(Limit limit, Limits limits) {
        return switch (limit) {
            case MEMORY -> " (--memory " + SizeConverter.format(limits.memoryBytes()) + ")";
            case PIDS -> " (--pids " + limits.pids() + ")";
            case DISK -> " (--disk " + SizeConverter.format(limits.diskBytes()) + ")";
            case OUTPUT -> "";
        };
    }

    private void leave(Sandbox sandbox) {
        if (keep) {
            err().println("berth: kept as " + sandbox.id() + "; go on with 'berth run --sandbox " + sandbox.id()
                    + " …', end with 'berth rm " + sandbox.id() + "'");
        } else {
            sandbox.destroy();
        }
    }

    private static String localTerm() {
        return Optional.ofNullable(System.getenv("TERM")).orElse("xterm");
    }

    private PrintWriter err() {
        return spec.commandLine().getErr();
    }
}
