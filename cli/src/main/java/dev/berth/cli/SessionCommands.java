package dev.berth.cli;

import static dev.berth.cli.RemoteCommand.MANY;
import static dev.berth.cli.RemoteCommand.ONE;

import dev.berth.cli.args.Arguments;
import dev.berth.cli.args.Option;
import dev.berth.cli.args.Sizes;
import dev.berth.cli.args.Syntax.Operands;
import dev.berth.cli.args.UsageException;
import dev.berth.client.Checkpoint;
import dev.berth.client.Json;
import dev.berth.client.NewSession;
import dev.berth.client.SessionClient;
import dev.berth.client.SessionInfo;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** {@code berth session …}. */
final class SessionCommands {
    static final Option<Boolean> QUIET = Option.flag("-q, --quiet", "Print the names alone.");
    private static final Option<String> STATE =
            Option.of("--state", "STATE", "Those that are so only, such as paused.");
    private static final Option<Integer> LIMIT =
            Option.of("--limit", "N", "How many at most, the last used first.", Option.atLeast(1));

    private static final Option<String> TEMPLATE = Option.of("--template", "NAME", "What its computer starts from.");
    private static final Option<Long> MEMORY =
            Option.of("--memory", "SIZE", "Memory of all its processes, such as 1g.", Sizes::parse);
    private static final Option<Long> DISK =
            Option.of("--disk", "SIZE", "What it may write, such as 5g.", Sizes::parse);
    private static final Option<Double> CPUS =
            Option.of("--cpus", "N", "Processors' worth of time, such as 0.5.", RunCommand::number);
    private static final Option<Integer> PIDS =
            Option.of("--pids", "N", "Processes and threads at a time.", Option.atLeast(4));
    private static final Option<Map.Entry<String, String>> ENV =
            Option.of("-e, --env", "K=V", "An environment variable; may be given often.", RunCommand::variable);
    private static final Option<Boolean> PIN = Option.flag("--pin", "Leave it up when nobody uses it.");
    private static final Option<String> MODE = Option.of(
            "--permission-mode", "MODE", "Which calls a person has to allow: ask, edit or bypass (default bypass).");
    private static final Option<Integer> KEEP = Option.of(
            "--keep-checkpoints", "N", "Keep its files as before each of the last N turns.", Option.atLeast(1));

    private static final Option<Integer> TURN =
            Option.of("--turn", "N", "As its files were before that turn (default: now).", Option.atLeast(0));

    private SessionCommands() {}

    static List<Subcommand> all() {
        return List.of(
                RemoteCommand.of(
                        "session ls",
                        "List sessions.",
                        "",
                        Operands.NONE,
                        List.of(QUIET, STATE, LIMIT),
                        List.of("session ls", "session ls --state paused", "session rm $(berth session ls -q)"),
                        SessionCommands::list),
                RemoteCommand.of(
                        "session new",
                        "Make a session and its computer, and print its name.",
                        "[KEY]",
                        new Operands(0, 1, false),
                        List.of(
                                TEMPLATE,
                                MEMORY,
                                DISK,
                                CPUS,
                                PIDS,
                                ENV,
                                NetworkCommand.NETWORK,
                                NetworkCommand.ALLOW,
                                NetworkCommand.SECRET,
                                PIN,
                                MODE,
                                KEEP),
                        List.of(
                                "session new demo",
                                "session new slack:C123:1712.0001 --memory 1g --pin",
                                "session new demo --allow pypi.org --allow '*.pythonhosted.org' --secret OPENAI"),
                        SessionCommands::make),
                RemoteCommand.of(
                        "session show",
                        "Show a session with what it uses.",
                        "KEY",
                        ONE,
                        List.of(),
                        List.of("session show demo", "session show demo --json"),
                        remote -> show(remote, remote.session().infoWithUsage())),
                NetworkCommand.command(),
                RemoteCommand.of(
                        "session rm",
                        "Remove sessions, their computers and everything on them.",
                        "KEY…",
                        MANY,
                        List.of(),
                        List.of("session rm demo"),
                        remote -> remote.each("removed", key -> {
                            remote.berth().session(key).delete();
                            return Json.object().with("session_id", key);
                        })),
                action("pause", "Freeze the processes of sessions; memory is kept.", SessionClient::pause),
                action("resume", "Bring sessions up.", SessionClient::resume),
                action("stop", "End the processes of sessions; files are kept.", SessionClient::stop),
                action("archive", "Pack the files of sessions away until they are used again.", SessionClient::archive),
                action("pin", "Leave sessions up when nobody uses them.", session -> session.pin(true)),
                action("unpin", "Let sessions sleep when nobody uses them.", session -> session.pin(false)),
                RemoteCommand.of(
                        "session checkpoint",
                        "Keep a session's files as they are now, and print the turn to go back to.",
                        "KEY [NAME]",
                        new Operands(1, 2, false),
                        List.of(),
                        List.of("session checkpoint demo", "session checkpoint demo before-the-upgrade"),
                        SessionCommands::checkpoint),
                RemoteCommand.of(
                        "session checkpoints",
                        "List what a session's files can be put back to.",
                        "KEY",
                        ONE,
                        List.of(),
                        List.of("session checkpoints demo"),
                        SessionCommands::checkpoints),
                RemoteCommand.of(
                        "session fork",
                        "Start another session with the files of one, and print its name.",
                        "KEY [NEW]",
                        new Operands(1, 2, false),
                        List.of(TURN),
                        List.of("session fork demo", "session fork demo demo-2 --turn 3"),
                        SessionCommands::fork),
                RemoteCommand.of(
                        "session rollback",
                        "Put a session's files back to how they were before a turn; its processes end.",
                        "KEY TURN",
                        new Operands(2, 2, false),
                        List.of(),
                        List.of("session rollback demo 3"),
                        SessionCommands::rollback));
    }

    private static Subcommand action(String verb, String summary, Function<SessionClient, SessionInfo> work) {
        return RemoteCommand.of(
                "session " + verb,
                summary,
                "KEY…",
                MANY,
                List.of(),
                List.of("session " + verb + " demo"),
                remote -> remote.each(
                        "sessions",
                        key -> work.apply(remote.berth().session(key)).json()));
    }

    private static int list(Remote remote) {
        Arguments arguments = remote.arguments();
        List<SessionInfo> sessions = remote.berth().sessions(arguments.get(STATE), arguments.get(LIMIT), false);
        if (arguments.has(QUIET)) {
            sessions.forEach(session -> remote.console().out().println(session.id()));
            return 0;
        }
        boolean tenants = sessions.stream().map(SessionInfo::tenant).distinct().count() > 1;
        Table table = tenants
                ? new Table("TENANT", "SESSION", "STATE", "TEMPLATE", "DISK", "AGE", "USED")
                : new Table("SESSION", "STATE", "TEMPLATE", "DISK", "AGE", "USED");
        Instant now = Instant.now();
        for (SessionInfo session : sessions) {
            String[] cells = {
                session.tenant(),
                session.id(),
                session.state() + (session.pinned() ? " (pinned)" : ""),
                session.template(),
                Sizes.format(session.diskBytes()),
                Remote.age(session.createdAt(), now),
                Remote.age(session.lastUsedAt(), now) + " ago"
            };
            table.add(tenants ? cells : java.util.Arrays.copyOfRange(cells, 1, cells.length));
        }
        remote.show("sessions", sessions.stream().map(SessionInfo::json).toList(), table);
        return 0;
    }

    private static int make(Remote remote) {
        Arguments arguments = remote.arguments();
        NewSession wanted = arguments.operands().isEmpty() ? NewSession.unnamed() : NewSession.named(remote.operand(0));
        wanted = arguments.get(TEMPLATE).map(wanted::withTemplate).orElse(wanted);
        wanted = arguments.get(MEMORY).map(wanted::withMemory).orElse(wanted);
        wanted = arguments.get(DISK).map(wanted::withDisk).orElse(wanted);
        wanted = arguments.get(CPUS).map(wanted::withCpus).orElse(wanted);
        wanted = arguments.get(PIDS).map(wanted::withPids).orElse(wanted);
        wanted = arguments.get(MODE).map(wanted::withPermissionMode).orElse(wanted);
        wanted = arguments.get(KEEP).map(wanted::keepingCheckpoints).orElse(wanted);
        wanted = arguments.has(PIN) ? wanted.pinned() : wanted;
        wanted = NetworkCommand.wanted(arguments).map(wanted::withNetwork).orElse(wanted);
        Map<String, String> env = new LinkedHashMap<>();
        arguments.all(ENV).forEach(variable -> env.put(variable.getKey(), variable.getValue()));
        return named(remote, remote.berth().make(env.isEmpty() ? wanted : wanted.withEnv(env)));
    }

    private static int named(Remote remote, SessionInfo session) {
        if (remote.json()) {
            remote.print(session.json());
        } else {
            remote.console().out().println(session.id());
        }
        return 0;
    }

    private static int show(Remote remote, SessionInfo session) {
        Json limits = session.json().get("limits");
        Table table = new Table("session", session.id());
        table.add("tenant", session.tenant());
        table.add("state", session.state() + (session.pinned() ? " (pinned)" : ""));
        table.add("template", session.template());
        table.add("permission", session.json().get("permission_mode").text());
        table.add("network", NetworkCommand.brief(session.json().get("network")));
        table.add("turn", Long.toString(session.turn()));
        session.usage().ifPresent(usage -> {
            table.add(
                    "memory",
                    Sizes.format(usage.memoryBytes()) + " of "
                            + Sizes.format(limits.get("memory").whole()));
            table.add("processes", usage.pids() + " of " + limits.get("pids").whole());
            table.add("cpu time", String.format(java.util.Locale.ROOT, "%.1fs", usage.cpuSeconds()));
        });
        long most = limits.get("disk").whole();
        table.add("disk", Sizes.format(session.diskBytes()) + (most > 0 ? " of " + Sizes.format(most) : ""));
        table.add("made", session.createdAt().toString());
        table.add("used", session.lastUsedAt().toString());
        session.loss().ifPresent(loss -> table.add("lost", Remote.plain(loss)));
        session.lastError().ifPresent(error -> table.add("error", Remote.plain(error)));
        remote.show(session.json(), table);
        return 0;
    }

    private static int checkpoint(Remote remote) {
        List<String> operands = remote.arguments().operands();
        Checkpoint made =
                remote.session().checkpoint(operands.size() > 1 ? Optional.of(operands.get(1)) : Optional.empty());
        if (remote.json()) {
            remote.print(made.json());
        } else {
            remote.console().out().println(made.turn());
        }
        return 0;
    }

    private static int checkpoints(Remote remote) {
        List<Checkpoint> checkpoints = remote.session().checkpoints();
        Table table = new Table("TURN", "NAME", "MADE");
        for (Checkpoint checkpoint : checkpoints) {
            table.add(
                    Long.toString(checkpoint.turn()),
                    checkpoint.name(),
                    checkpoint.createdAt().toString());
        }
        remote.show("checkpoints", checkpoints.stream().map(Checkpoint::json).toList(), table);
        return 0;
    }

    private static int fork(Remote remote) {
        List<String> operands = remote.arguments().operands();
        return named(
                remote,
                remote.session()
                        .fork(
                                operands.size() > 1 ? Optional.of(operands.get(1)) : Optional.empty(),
                                remote.arguments().get(TURN).map(Integer::longValue)));
    }

    private static int rollback(Remote remote) {
        int turn;
        try {
            turn = Option.atLeast(0).apply(remote.operand(1));
        } catch (UsageException e) {
            throw new UsageException("TURN: " + e.getMessage() + "; 'berth session checkpoints' lists them");
        }
        return named(remote, remote.session().rollback(turn));
    }
}
