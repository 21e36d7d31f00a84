package dev.berth.cli;

import static dev.berth.cli.RemoteCommand.ONE;

import dev.berth.cli.args.Option;
import dev.berth.cli.args.Syntax;
import dev.berth.client.TerminalConnection;
import dev.berth.client.TerminalConnection.Message;
import dev.berth.sandbox.TerminalSize;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/** {@code berth shell}: a terminal of a session on this one. */
final class ShellCommand {
    private static final Option<String> TERMINAL =
            Option.of("-t, --terminal", "NAME", "Which of the session's terminals (default main).");
    private static final Option<Boolean> WATCH = Option.flag("--watch", "Look on; nothing typed is passed on.");

    private ShellCommand() {}

    static Subcommand command() {
        return new RemoteCommand(
                new Syntax(
                        "shell",
                        "Work on a terminal of a session; vim, tmux, resizing and Ctrl-C are as they are here.",
                        List.of("[OPTION…] KEY"),
                        ONE,
                        RemoteOptions.with(List.of(TERMINAL, WATCH)),
                        List.of(
                                "Ctrl-] and then q leaves; what runs on the terminal goes on, and the same command comes back",
                                "to it. Ctrl-] twice sends one. Others who use the same name see and type on the same terminal.",
                                "",
                                "Examples:",
                                "  berth shell demo",
                                "  berth shell demo --terminal build",
                                "  berth shell demo --watch")),
                ShellCommand::run);
    }

    private static int run(Remote remote) {
        String name = remote.arguments().get(TERMINAL).orElse("main");
        boolean watch = remote.arguments().has(WATCH);
        End end;
        try (Terminal terminal =
                Terminal.open("berth shell needs a terminal on standard input; for a script there is 'berth exec'")) {
            TerminalSize size = terminal.size();
            try (TerminalConnection connection =
                    watch ? remote.session().watch(name) : remote.session().terminal(name, size.cols(), size.rows())) {
                if (!watch) {
                    Signals.on("WINCH", _ -> resize(terminal, connection));
                }
                terminal.raw();
                end = new Attached(
                                connection,
                                new FileInputStream(FileDescriptor.in),
                                new FileOutputStream(FileDescriptor.out),
                                watch)
                        .run();
            }
        }
        String again = "'berth shell " + remote.operand(0) + (name.equals("main") ? "" : " --terminal " + name) + "'";
        return switch (end) {
            case End.Exited(int code) -> code;
            case End.Left _ -> {
                remote.console().say("left; what runs there goes on, and " + again + " comes back to it");
                yield 0;
            }
            case End.Lost(String why) -> {
                remote.console().say("the connection is lost (" + Remote.plain(why) + "); " + again + " comes back");
                yield ExitCodes.of(dev.berth.sandbox.ErrorCode.UNAVAILABLE);
            }
        };
    }

    private static void resize(Terminal terminal, TerminalConnection connection) {
        TerminalSize size = terminal.size();
        try {
            connection.resize(size.cols(), size.rows());
        } catch (IOException e) {
            // It is over, which whoever receives finds out.
        }
    }

    /** How it ended. */
    sealed interface End {
        record Exited(int code) implements End {}

        record Left() implements End {}

        record Lost(String why) implements End {}
    }

    /** Ties a terminal at the other end to streams. */
    record Attached(TerminalConnection connection, InputStream in, OutputStream out, boolean watch) {
        End run() {
            AtomicBoolean left = new AtomicBoolean();
            // A platform thread: reading a terminal blocks the thread under a virtual one.
            Thread.ofPlatform().daemon().name("stdin").start(() -> feed(left));
            try {
                while (true) {
                    switch (connection.receive()) {
                        case Message.Output output -> {
                            out.write(output.bytes());
                            out.flush();
                        }
                        case Message.Exit exit -> {
                            return new End.Exited(exit.exitCode());
                        }
                        case Message.Closed closed -> {
                            return left.get() ? new End.Left() : new End.Lost(closed.reason());
                        }
                        case Message.Skipped skipped ->
                            out.write(("\r\n[" + skipped.bytes() + " bytes passed over]\r\n")
                                    .getBytes(java.nio.charset.StandardCharsets.UTF_8));
                        case Message.Attached _ -> {}
                    }
                    if (left.get()) {
                        return new End.Left();
                    }
                }
            } catch (IOException e) {
                return new End.Lost("nobody reads what is shown");
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return new End.Left();
            }
        }

        private void feed(AtomicBoolean left) {
            DetachKeys keys = new DetachKeys();
            byte[] buffer = new byte[16 << 10];
            try {
                for (int n = in.read(buffer); n >= 0 && !keys.left(); n = keys.left() ? -1 : in.read(buffer)) {
                    byte[] typed = keys.pass(buffer, n);
                    if (!watch && typed.length > 0) {
                        connection.send(typed, 0, typed.length);
                    }
                }
            } catch (IOException e) {
                // The connection is lost, which whoever receives finds out.
                return;
            }
            left.set(true);
            connection.leave();
        }
    }
}
