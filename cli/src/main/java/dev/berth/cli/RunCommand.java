package dev.berth.cli;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.Durations;
import dev.berth.cli.args.Option;
import dev.berth.cli.args.Sizes;
import dev.berth.cli.args.Syntax;
import dev.berth.cli.args.Syntax.Operands;
import dev.berth.cli.args.UsageException;
import dev.berth.sandbox.Capability;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxId;
import dev.berth.sandbox.SandboxProvider;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.local.LocalConfig;
import dev.berth.sandbox.local.LocalProvider;
import java.time.Duration;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;

/** {@code berth run}: makes or finds the sandbox; {@link ForegroundRun} does the rest. */
final class RunCommand implements Subcommand {
    private static final Option<String> TEMPLATE =
            Option.of("--template", "NAME", "What the sandbox starts from (default: base if it is built, else host).");
    private static final Option<Long> MEMORY =
            Option.of("--memory", "SIZE", "Memory of all its processes, such as 1g (default 512m).", Sizes::parse);
    private static final Option<Integer> PIDS =
            Option.of("--pids", "N", "Processes and threads at a time (default 256).", Option.atLeast(1));
    private static final Option<Double> CPUS = Option.of(
            "--cpus", "N", "Processors' worth of time, such as 0.5 (default: no ceiling).", RunCommand::number);
    private static final Option<Long> DISK =
            Option.of("--disk", "SIZE", "What it may write, such as 5g (default 10g).", Sizes::parse);
    private static final Option<Duration> TIMEOUT = Option.of(
            "--timeout", "TIME", "Kill it after this, such as 30s, 5m, 1h (default: never).", Durations::parse);
    private static final Option<Map.Entry<String, String>> ENV =
            Option.of("-e, --env", "K=V", "An environment variable; may be given often.", RunCommand::variable);
    private static final Option<String> USER =
            Option.of("-u, --user", "USER", "Name, uid or uid:gid inside (default: the template's).");
    private static final Option<String> CWD =
            Option.of("-w, --cwd", "DIR", "Directory inside to run in (default: the user's home).");
    private static final Option<Boolean> INPUT = Option.flag("-i", "Pass standard input on.");
    private static final Option<Boolean> TERMINAL =
            Option.flag("-t", "Run on a terminal, for programs such as vim and top; implies -i.");
    private static final Option<Boolean> KEEP = Option.flag("--keep", "Keep the sandbox and print its id.");
    private static final Option<String> EXISTING = Option.of("--sandbox", "ID", "Run in this sandbox, which was kept.");

    @Override
    public Syntax syntax() {
        return new Syntax(
                "run",
                "Run a command in a sandbox: a fresh one that is destroyed afterwards, or one that was kept.",
                List.of("[OPTION…] 'LINE FOR BASH'", "[OPTION…] -- PROGRAM [ARGUMENT…]"),
                new Operands(0, Integer.MAX_VALUE, true),
                List.of(
                        TEMPLATE,
                        MEMORY,
                        PIDS,
                        CPUS,
                        DISK,
                        TIMEOUT,
                        ENV,
                        USER,
                        CWD,
                        INPUT,
                        TERMINAL,
                        KEEP,
                        EXISTING,
                        LocalOptions.RUNTIME,
                        LocalOptions.DATA),
                List.of(
                        "Streams and exit code are the command's: 128+n if signal n ended it, 124 after --timeout, 127 if",
                        "there is no such program, 126 if it cannot be executed. Ctrl-C is passed on, a second one kills.",
                        "",
                        "Examples:",
                        "  berth run 'echo hello from a sandbox'",
                        "  berth run --memory 1g --timeout 30s -- python3 -c 'print(6 * 7)'",
                        "  echo 6 7 | berth run -i 'read a b; echo $((a * b))'",
                        "  berth run -it bash",
                        "  berth run --keep 'date > ~/started'",
                        "  berth run --sandbox run-3f9c1a20 'cat ~/started'"));
    }

    @Override
    public int run(Arguments arguments, Console console) {
        LocalConfig config = LocalOptions.config(arguments, console.env());
        ForegroundRun foreground = new ForegroundRun(command(arguments), arguments.has(TERMINAL), console);
        Limits limits = limits(arguments);
        Optional<SandboxId> existing = arguments.get(EXISTING).map(SandboxId::new);
        if (existing.isPresent()) {
            refuseWhatOnlyANewOneTakes(arguments);
        }
        Interrupts interrupts = Interrupts.install();
        try (LocalProvider provider = Wiring.provider(config)) {
            if (existing.isPresent()) {
                Sandbox sandbox = find(provider, existing.get());
                sandbox.wake();
                return foreground.in(sandbox, interrupts);
            }
            boolean keep = arguments.has(KEEP);
            SandboxSpec spec = fresh(arguments, provider, limits);
            Sandbox sandbox = keep ? provider.create(spec) : provider.createEphemeral(spec);
            try {
                return foreground.in(sandbox, interrupts);
            } finally {
                leave(sandbox, keep, console);
            }
        }
    }

    /** One word is a line for the shell, unless it came after {@code --}; several are a program and its arguments. */
    static Command command(Arguments arguments) {
        List<String> words = arguments.operands();
        Command command;
        if (words.size() == 1 && !arguments.afterDashes()) {
            command = Command.shell(words.getFirst());
        } else if (!words.isEmpty()) {
            command = Command.of(words);
        } else if (arguments.has(TERMINAL)) {
            command = Command.of("bash");
        } else {
            throw new UsageException("there is no command to run");
        }
        Map<String, String> env = new LinkedHashMap<>();
        arguments.all(ENV).forEach(variable -> env.put(variable.getKey(), variable.getValue()));
        command = command.withEnv(env);
        command = arguments.has(INPUT) ? command.withStdin() : command;
        command = arguments.get(USER).map(command::withUser).orElse(command);
        command = arguments.get(CWD).map(command::withCwd).orElse(command);
        return arguments.get(TIMEOUT).map(command::withTimeout).orElse(command);
    }

    static Limits limits(Arguments arguments) {
        Limits limits = Limits.DEFAULT;
        limits = arguments.get(MEMORY).map(limits::withMemory).orElse(limits);
        limits = arguments.get(PIDS).map(limits::withPids).orElse(limits);
        limits = arguments.get(CPUS).map(limits::withCpus).orElse(limits);
        return arguments.get(DISK).map(limits::withDisk).orElse(limits);
    }

    static void refuseWhatOnlyANewOneTakes(Arguments arguments) {
        for (Option<?> option : List.of(TEMPLATE, MEMORY, PIDS, CPUS, DISK, KEEP)) {
            if (!arguments.all(option).isEmpty()) {
                throw new UsageException(
                        option.names().getLast() + " is for a new sandbox; --sandbox takes one as it is");
            }
        }
    }

    private static SandboxSpec fresh(Arguments arguments, LocalProvider provider, Limits limits) {
        String id =
                "run-" + HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextInt());
        String template = arguments
                .get(TEMPLATE)
                .orElseGet(() -> provider.templateStore().defaultTemplate().id());
        // A limit that was asked for is enforced or refused; one that is only our default may have to be left out.
        boolean unlimited =
                arguments.get(DISK).isEmpty() && !provider.capabilities().contains(Capability.DISK_LIMIT);
        return SandboxSpec.of(id, template).withLimits(unlimited ? limits.withDisk(0) : limits);
    }

    private static Sandbox find(SandboxProvider provider, SandboxId id) {
        return provider.find(id)
                .orElseThrow(() -> SandboxException.notFound(
                        "there is no sandbox '" + id + "'; 'berth ls' lists those there are"));
    }

    private static void leave(Sandbox sandbox, boolean keep, Console console) {
        if (keep) {
            console.say("kept as " + sandbox.id() + "; go on with 'berth run --sandbox " + sandbox.id()
                    + " …', end with 'berth rm " + sandbox.id() + "'");
        } else {
            sandbox.destroy();
        }
    }

    static double number(String text) {
        try {
            return Double.parseDouble(text);
        } catch (NumberFormatException e) {
            throw new UsageException("'" + text + "' is not a number");
        }
    }

    static Map.Entry<String, String> variable(String text) {
        int equals = text.indexOf('=');
        if (equals < 1) {
            throw new UsageException("'" + text + "' is not NAME=VALUE");
        }
        return Map.entry(text.substring(0, equals), text.substring(equals + 1));
    }
}
