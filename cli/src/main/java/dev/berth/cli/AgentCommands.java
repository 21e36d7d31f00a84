package dev.berth.cli;

import static dev.berth.cli.RemoteCommand.MANY;
import static dev.berth.cli.RemoteCommand.ONE;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.Option;
import dev.berth.cli.args.UsageException;
import dev.berth.client.AgentRun;
import dev.berth.client.BerthException;
import dev.berth.client.Json;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** {@code berth agent …}: the agents of sessions. */
final class AgentCommands {
    private static final Option<Integer> LIMIT =
            Option.of("-n, --limit", "N", "How many messages at most (default 50).", Option.atLeast(1));
    private static final Option<String> RUNTIME = Option.of("--runtime", "NAME", "The kind of agent, such as pi.");
    private static final Option<String> PROVIDER =
            Option.of("--provider", "NAME", "Whoever serves the model, such as anthropic.");
    private static final Option<String> MODEL = Option.of("--model", "NAME", "The model.");
    private static final Option<String> MODEL_URL =
            Option.of("--model-url", "URL", "Where it is served, if agents do not know the provider.");
    private static final Option<String> PROTOCOL =
            Option.of("--protocol", "NAME", "How it is spoken to there (default openai-completions).");
    private static final Option<String> SECRET = Option.of("--secret", "NAME", "The secret that has its key.");
    private static final Option<Path> INSTRUCTIONS =
            Option.of("--instructions", "FILE", "What it is told before the conversation.", Path::of);
    private static final Option<Boolean> USUAL = Option.flag("--usual", "What the tenant and the server are set to.");

    private AgentCommands() {}

    static List<Subcommand> all() {
        return List.of(
                RemoteCommand.of(
                        "agent status",
                        "Show which agent a session has, and what it does.",
                        "KEY",
                        ONE,
                        List.of(),
                        List.of("agent status demo"),
                        AgentCommands::status),
                RemoteCommand.of(
                        "agent abort",
                        "Stop what a session's agent does.",
                        "KEY",
                        ONE,
                        List.of(),
                        List.of("agent abort demo"),
                        AgentCommands::abort),
                RemoteCommand.of(
                        "agent history",
                        "Show what was said in a session.",
                        "KEY",
                        ONE,
                        List.of(LIMIT),
                        List.of("agent history demo", "agent history demo --limit 2"),
                        AgentCommands::history),
                RemoteCommand.of(
                        "agent reset",
                        "End a session's agent and forget the conversation; files stay.",
                        "KEY…",
                        MANY,
                        List.of(),
                        List.of("agent reset demo"),
                        AgentCommands::reset),
                RemoteCommand.of(
                        "agent use",
                        "Choose which agent a session has, also before there is the session.",
                        "KEY",
                        ONE,
                        List.of(RUNTIME, PROVIDER, MODEL, MODEL_URL, PROTOCOL, SECRET, INSTRUCTIONS, USUAL),
                        List.of(
                                "agent use demo --provider anthropic --model claude-sonnet-4-5 --secret ANTHROPIC_API_KEY",
                                "agent use demo --provider own --model qwen --model-url https://llm.example/v1 --secret LLM_KEY",
                                "agent use demo --instructions reviewer.md",
                                "agent use demo --usual"),
                        AgentCommands::use));
    }

    private static int status(Remote remote) {
        Json agent = remote.session().agent();
        Optional<AgentRun> last = lastRun(remote);
        if (remote.json()) {
            remote.print(last.map(run -> agent.with("last_run", run.json())).orElse(agent));
            return 0;
        }
        Json effective = agent.get("effective");
        Json model = effective.get("model");
        Table table = new Table("RUNTIME", "MODEL", "RUN", "STATE", "PROMPT");
        table.add(
                effective.get("runtime").text(),
                model.exists()
                        ? Remote.plain(model.get("provider").text() + "/"
                                + model.get("name").text())
                        : "none",
                last.map(AgentRun::id).orElse("-"),
                last.map(AgentRun::state).orElse("-"),
                Remote.plain(last.map(AgentRun::prompt).orElse("-")));
        remote.print(table);
        return 0;
    }

    /** Of a session that is not there, which may have a choice all the same, there is none. */
    private static Optional<AgentRun> lastRun(Remote remote) {
        try {
            return remote.session().runs(1).stream().findFirst();
        } catch (BerthException e) {
            if (e.is(BerthException.NOT_FOUND)) {
                return Optional.empty();
            }
            throw e;
        }
    }

    private static int abort(Remote remote) {
        boolean aborted = remote.session().abort();
        if (remote.json()) {
            remote.print(Json.object().with("aborted", aborted));
        } else if (!aborted) {
            remote.console().say("nothing runs there");
        }
        return 0;
    }

    private static int history(Remote remote) {
        List<Json> said = remote.session().history(remote.arguments().get(LIMIT).orElse(50));
        if (remote.json()) {
            remote.print(Json.object().with("messages", said));
            return 0;
        }
        for (Json message : said) {
            remote.console().out().println(message.get("by").text() + ":");
            message.get("text")
                    .text()
                    .lines()
                    .forEach(line -> remote.console().out().println("  " + Remote.plain(line)));
        }
        return 0;
    }

    private static int reset(Remote remote) {
        return remote.each("reset", id -> {
            remote.berth().session(id).resetAgent();
            return Json.object().with("session_id", id);
        });
    }

    private static int use(Remote remote) {
        Json chosen = remote.session().agent(choice(remote));
        if (remote.json()) {
            remote.print(chosen);
        } else {
            remote.console().out().println(remote.operand(0));
        }
        return 0;
    }

    /** What was chosen before stays, but for what is said now; a model is chosen as a whole. */
    private static Json choice(Remote remote) {
        Arguments arguments = remote.arguments();
        boolean model =
                arguments.get(PROVIDER).isPresent() && arguments.get(MODEL).isPresent();
        if (!model
                && List.of(PROVIDER, MODEL, MODEL_URL, PROTOCOL, SECRET).stream()
                        .anyMatch(option -> arguments.get(option).isPresent())) {
            throw new UsageException("a model is chosen by --provider and --model, with all that belongs to it");
        }
        boolean any = model
                || arguments.get(RUNTIME).isPresent()
                || arguments.get(INSTRUCTIONS).isPresent();
        if (any == arguments.has(USUAL)) {
            throw new UsageException("say what to use, or --usual for what the tenant and the server are set to");
        }
        if (arguments.has(USUAL)) {
            return Json.object();
        }
        Json choice = remote.session().agent().get("own");
        choice = arguments.get(RUNTIME).isPresent()
                ? choice.with("runtime", arguments.get(RUNTIME).get())
                : choice;
        choice = arguments.get(INSTRUCTIONS).isPresent()
                ? choice.with(
                        "instructions", content(arguments.get(INSTRUCTIONS).get()))
                : choice;
        return model
                ? choice.with(
                        "model",
                        Json.object()
                                .with("provider", arguments.get(PROVIDER).get())
                                .with("name", arguments.get(MODEL).get())
                                .with("url", arguments.get(MODEL_URL))
                                .with("protocol", arguments.get(PROTOCOL))
                                .with("secret", arguments.get(SECRET)))
                : choice;
    }

    private static String content(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UsageException("could not read " + file + "; is it there, and text, and readable for this user?");
        }
    }
}
