package dev.berth.cli;

import dev.berth.cli.args.Durations;
import dev.berth.cli.args.Sizes;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.Exit;
import dev.berth.sandbox.Limit;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** Runs one command in a sandbox as if it ran right here: with our streams, signals, terminal and exit code. */
final class ForegroundRun {
    private final Command command;
    private final boolean onTerminal;
    private final Console console;

    ForegroundRun(Command command, boolean onTerminal, Console console) {
        this.command = command;
        this.onTerminal = onTerminal;
        this.console = console;
    }

    /** Returns the exit code to end with. */
    int in(Sandbox sandbox, Interrupts interrupts) {
        Optional<Integer> interrupted = interrupts.exitCode();
        if (interrupted.isPresent()) {
            return interrupted.get();
        }
        try {
            return onTerminal ? onTerminal(sandbox, interrupts) : onPipes(sandbox, interrupts);
        } catch (NotStarted e) {
            console.say(e.getMessage());
            return e.exitCode;
        }
    }

    private int onPipes(Sandbox sandbox, Interrupts interrupts) throws NotStarted {
        try (RunningCommand running = start(sandbox, command)) {
            return attach(running, sandbox, interrupts);
        }
    }

    private int onTerminal(Sandbox sandbox, Interrupts interrupts) throws NotStarted {
        try (Terminal terminal = Terminal.open("-t needs a terminal on standard input; leave -t out when piping")) {
            Map<String, String> env = new LinkedHashMap<>();
            env.put("TERM", console.env().getOrDefault("TERM", "xterm"));
            env.putAll(command.env());
            try (RunningCommand running =
                    start(sandbox, command.withTerminal(terminal.size()).withEnv(env))) {
                Signals.on("WINCH", signal -> running.resize(terminal.size()));
                terminal.raw();
                return attach(running, sandbox, interrupts);
            }
        }
    }

    private int attach(RunningCommand running, Sandbox sandbox, Interrupts interrupts) {
        interrupts.aimAt(running);
        try {
            Streams streams = new Streams(
                    new FileInputStream(FileDescriptor.in),
                    new FileOutputStream(FileDescriptor.out),
                    new FileOutputStream(FileDescriptor.err));
            Streams.End end = streams.tieTo(running, command.stdinOpen() || onTerminal);
            return end.brokenPipe() ? ExitCodes.BROKEN_PIPE : exitCode(end.exit(), sandbox.limits());
        } finally {
            interrupts.aimAtNothing();
        }
    }

    private static RunningCommand start(Sandbox sandbox, Command command) throws NotStarted {
        try {
            return sandbox.start(command);
        } catch (SandboxException e) {
            throw new NotStarted(e);
        }
    }

    private int exitCode(Exit exit, Limits limits) {
        if (exit.timedOut()) {
            console.say("killed after its timeout of " + Durations.format(command.timeout()));
            return ExitCodes.TIMEOUT;
        }
        if (!exit.limitsHit().isEmpty()) {
            console.say("it ran into its limit of " + describe(exit, limits));
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
            case MEMORY -> " (--memory " + Sizes.format(limits.memoryBytes()) + ")";
            case PIDS -> " (--pids " + limits.pids() + ")";
            case DISK -> " (--disk " + Sizes.format(limits.diskBytes()) + ")";
            case OUTPUT -> "";
        };
    }

    /** The program could not be executed: told apart because shells have exit codes of their own for that. */
    private static final class NotStarted extends Exception {
        private final int exitCode;

        NotStarted(SandboxException cause) {
            super(cause.getMessage(), cause);
            this.exitCode = ExitCodes.ofStart(cause.code());
        }

        @Override
        public String getMessage() {
            return String.valueOf(super.getMessage());
        }
    }
}
