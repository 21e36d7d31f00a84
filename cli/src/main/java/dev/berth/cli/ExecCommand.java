package dev.berth.cli;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.Durations;
import dev.berth.cli.args.Option;
import dev.berth.cli.args.Syntax;
import dev.berth.cli.args.Syntax.Operands;
import dev.berth.client.BashCall;
import dev.berth.client.CallStream;
import dev.berth.client.RunResult;
import dev.berth.client.StartedJob;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** {@code berth exec}: a command in a session as if it ran right here. */
final class ExecCommand {
    private static final Option<Duration> TIMEOUT = Option.of(
            "--timeout", "TIME", "End it after this, such as 30s, 5m (default: the server's).", Durations::parse);
    private static final Option<String> CWD =
            Option.of("-w, --cwd", "DIR", "Directory to run in, below the workspace (default: that itself).");
    private static final Option<Map.Entry<String, String>> ENV =
            Option.of("-e, --env", "K=V", "An environment variable; may be given often.", RunCommand::variable);
    private static final Option<Boolean> BACKGROUND =
            Option.flag("-b, --background", "Do not wait; print the id of the job.");

    /** Where nothing ran that could have an exit code of its own. */
    private static final int NOT_DONE = 1;

    private ExecCommand() {}

    static Subcommand command() {
        return new RemoteCommand(
                new Syntax(
                        "exec",
                        "Run a command in a session, which is made if it is not there.",
                        List.of("[OPTION…] KEY 'LINE FOR BASH'", "[OPTION…] KEY -- PROGRAM [ARGUMENT…]"),
                        new Operands(2, Integer.MAX_VALUE, true),
                        RemoteOptions.with(List.of(TIMEOUT, CWD, ENV, BACKGROUND)),
                        List.of(
                                "Output comes as it is printed, and the exit code is the command's; 124 after --timeout.",
                                "",
                                "Examples:",
                                "  berth exec demo 'echo hello > greeting; ls -l'",
                                "  berth exec --timeout 30s demo -- python3 -c 'print(6 * 7)'",
                                "  berth exec --background demo 'make test'",
                                "  berth logs -f JOB")),
                ExecCommand::run);
    }

    private static int run(Remote remote) {
        BashCall call = call(remote.arguments());
        if (remote.arguments().has(BACKGROUND)) {
            return background(remote, call);
        } else if (remote.json()) {
            RunResult result = remote.session().bash(call);
            remote.print(result.json());
            return exitCode(result);
        }
        return new ExecCommand.Output(
                        new FileOutputStream(FileDescriptor.out), new FileOutputStream(FileDescriptor.err))
                .of(remote, call);
    }

    private static int background(Remote remote, BashCall call) {
        StartedJob started = remote.session().background(call);
        if (remote.json()) {
            remote.print(started.json());
        } else {
            started.id().ifPresent(remote.console().out()::println);
        }
        started.approvalId().ifPresent(id -> sayThatItWaits(id, remote.console()));
        return started.id().isPresent() ? 0 : NOT_DONE;
    }

    static BashCall call(Arguments arguments) {
        List<String> words =
                arguments.operands().subList(1, arguments.operands().size());
        boolean program = words.getFirst().equals("--");
        words = program ? words.subList(1, words.size()) : words;
        BashCall call = BashCall.of(words.size() == 1 && !program ? words.getFirst() : quoted(words));
        Map<String, String> env = new LinkedHashMap<>();
        arguments.all(ENV).forEach(variable -> env.put(variable.getKey(), variable.getValue()));
        call = env.isEmpty() ? call : call.withEnv(env);
        call = arguments.get(CWD).map(call::withCwd).orElse(call);
        return arguments.get(TIMEOUT).map(call::withTimeout).orElse(call);
    }

    /** A program and its arguments as a line for the shell at the other end, where each word stays what it is. */
    private static String quoted(List<String> words) {
        if (words.isEmpty()) {
            throw new dev.berth.cli.args.UsageException("there is no command to run");
        }
        return words.stream()
                .map(word -> "'" + word.replace("'", "'\\''") + "'")
                .collect(Collectors.joining(" "));
    }

    static int exitCode(RunResult result) {
        return result.timedOut() ? ExitCodes.TIMEOUT : result.exitCode().orElse(result.success() ? 0 : NOT_DONE);
    }

    private static void sayThatItWaits(String approval, Console console) {
        console.say("this waits to be allowed; 'berth approve " + Remote.plain(approval) + "' does that");
    }

    /** Passes output on as it comes. */
    record Output(OutputStream out, OutputStream err) {
        int of(Remote remote, BashCall call) {
            try (CallStream stream = remote.session().stream(call)) {
                for (var event = stream.next(); event.isPresent(); event = stream.next()) {
                    Optional<Integer> code = pass(event.get(), remote.console());
                    if (code.isPresent()) {
                        return code.get();
                    }
                }
                throw new IllegalStateException("a call ended without a result");
            } catch (IOException e) {
                return ExitCodes.BROKEN_PIPE; // whoever read our output has left
            }
        }

        private Optional<Integer> pass(CallStream.Event event, Console console) throws IOException {
            switch (event) {
                case CallStream.Event.Output output -> {
                    if (output.skipped() > 0) {
                        console.say(output.skipped() + " characters were left out here; this reads too slowly");
                    }
                    write(output.stream(), output.bytes());
                }
                case CallStream.Event.Other other -> {
                    if (other.name().equals("approval")) {
                        sayThatItWaits(other.data().get("approval_id").text(), console);
                    }
                }
                case CallStream.Event.Done(RunResult result, boolean streamed) -> {
                    if (!streamed) {
                        write("stdout", result.stdout().getBytes(StandardCharsets.UTF_8));
                        write("stderr", result.stderr().getBytes(StandardCharsets.UTF_8));
                        result.outputId()
                                .filter(_ -> result.truncated())
                                .ifPresent(id -> console.say("some of the output is left out here; all of it is at"
                                        + " /v1/sandbox/outputs/" + id));
                    }
                    result.approvalId().ifPresent(id -> sayThatItWaits(id, console));
                    result.loss().ifPresent(loss -> console.say(Remote.plain(loss)));
                    result.error().ifPresent(error -> console.say(Remote.plain(error)));
                    return Optional.of(exitCode(result));
                }
            }
            return Optional.empty();
        }

        private void write(String stream, byte[] bytes) throws IOException {
            OutputStream to = stream.equals("stderr") ? err : out;
            to.write(bytes);
            to.flush();
        }
    }
}
