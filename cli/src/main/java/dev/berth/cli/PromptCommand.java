package dev.berth.cli;

import dev.berth.cli.args.Option;
import dev.berth.cli.args.Syntax;
import dev.berth.cli.args.Syntax.Operands;
import dev.berth.cli.args.UsageException;
import dev.berth.client.AgentRun;
import dev.berth.client.Json;
import dev.berth.client.RunStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** {@code berth prompt}: something said to a session's agent, and its answer as it comes. */
final class PromptCommand {
    private static final Option<Path> FILE =
            Option.of("-f, --file", "FILE", "A file to give along with it; may be given often.", Path::of);

    /** Of a run that did not come to its end by itself. */
    private static final int NOT_DONE = 1;

    private static final int MOST_BYTES = 8 << 20;

    private PromptCommand() {}

    static Subcommand command() {
        return new RemoteCommand(
                new Syntax(
                        "prompt",
                        "Say something to the agent of a session, which is made if it is not there.",
                        List.of("[OPTION…] KEY TEXT", "[OPTION…] KEY -"),
                        new Operands(2, Integer.MAX_VALUE, false),
                        RemoteOptions.with(List.of(FILE)),
                        List.of(
                                "The answer comes as it is written; what the agent does is told on stderr. With - the text",
                                "is read from stdin. While the agent works, what is said steers it. Leaving does not stop it.",
                                "",
                                "Examples:",
                                "  berth prompt demo 'draw the sales of last year as a chart' --file sales.csv",
                                "  git diff | berth prompt review -",
                                "  berth prompt demo --json 'which files are there?'",
                                "  berth agent abort demo")),
                PromptCommand::run);
    }

    private static int run(Remote remote) {
        List<String> words = remote.arguments().operands();
        List<String> text = words.subList(1, words.size());
        String said = text.equals(List.of("-")) ? standardInput() : String.join(" ", text);
        List<Path> files = remote.arguments().all(FILE);
        for (Path file : files) {
            if (!Files.isReadable(file) || Files.isDirectory(file)) {
                throw new UsageException("there is no file " + file + " that could be read");
            }
        }
        try (RunStream stream = remote.session().prompt(said, files)) {
            return new Shown(remote).all(stream);
        }
    }

    private static String standardInput() {
        try {
            byte[] bytes = System.in.readNBytes(MOST_BYTES + 1);
            if (bytes.length > MOST_BYTES) {
                throw new UsageException("this is too long to be said; give it as a file with --file");
            }
            return new String(bytes, StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UsageException("could not read what is to be said: " + e.getMessage());
        }
    }

    /** A run on our own streams. */
    private static final class Shown {
        private final Remote remote;
        private final PrintWriter out;
        private boolean inLine;

        Shown(Remote remote) {
            this.remote = remote;
            this.out = remote.console().out();
        }

        int all(RunStream stream) {
            for (var event = stream.next(); event.isPresent(); event = stream.next()) {
                switch (event.get()) {
                    case RunStream.Event.Text(String text) -> text(text);
                    case RunStream.Event.Other(String name, Json data) -> step(name, data);
                    case RunStream.Event.Done(AgentRun run) -> {
                        return end(run);
                    }
                }
                if (out.checkError()) {
                    return ExitCodes.BROKEN_PIPE; // whoever read our output has left; the run goes on
                }
            }
            throw new IllegalStateException("a run ended without its end");
        }

        private void text(String text) {
            if (!remote.json() && !text.isEmpty()) {
                String plain = plain(text);
                out.print(plain);
                out.flush();
                inLine = !plain.endsWith("\n");
            }
        }

        /** Steps stand between pieces of the answer, not within a line of it. */
        private void step(String name, Json data) {
            Optional<String> line = switch (name) {
                case "status" -> data.get("text").optionalText().filter(text -> !text.isEmpty());
                case "tool_start" ->
                    Optional.of("[" + data.get("tool").text() + "] "
                            + data.get("title").text());
                case "tool_end" ->
                    data.get("ok").truth()
                            ? Optional.empty()
                            : Optional.of("that failed: " + data.get("output").text());
                case "artifact" ->
                    Optional.of("file " + data.get("name").text() + ", to be had with 'berth artifact "
                            + data.get("artifact_id").text() + "'");
                case "approval" -> approval(data);
                default -> Optional.empty();
            };
            line.ifPresent(text -> {
                lineEnd();
                remote.console().say(Remote.plain(text));
            });
        }

        private static Optional<String> approval(Json data) {
            String what = data.get("tool").text() + ": " + data.get("title").text();
            return Optional.of(
                    switch (data.get("state").text()) {
                        case "requested" ->
                            "this waits to be allowed: " + what + "; 'berth approve "
                                    + data.get("approval_id").text() + "' does that";
                        case "expired" -> "nobody allowed in time: " + what;
                        default ->
                            data.get("state").text() + " by "
                                    + data.get("decided_by").text() + ": " + what;
                    });
        }

        private int end(AgentRun run) {
            lineEnd();
            if (remote.json()) {
                remote.print(run.json());
            }
            return switch (run.state()) {
                case "done" -> 0;
                case "aborted" -> {
                    remote.console().say("the run was stopped");
                    yield NOT_DONE;
                }
                default -> {
                    remote.console().say(Remote.plain(run.error().orElse("the run failed")));
                    yield NOT_DONE;
                }
            };
        }

        private void lineEnd() {
            if (inLine) {
                out.println();
                inLine = false;
            }
        }

        /** Without what a terminal acts on, but for the ends of lines: a model wrote it, who may have read anything. */
        private static String plain(String text) {
            StringBuilder plain = new StringBuilder();
            text.codePoints()
                    .filter(c -> c == '\n' || c == '\t' || !Character.isISOControl(c))
                    .forEach(plain::appendCodePoint);
            return plain.toString();
        }
    }
}
