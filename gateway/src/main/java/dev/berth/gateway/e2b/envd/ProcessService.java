package dev.berth.gateway.e2b.envd;

import dev.berth.gateway.e2b.Call;
import dev.berth.sandbox.Account;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Exit;
import dev.berth.sandbox.FileInfo;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.Signal;
import dev.berth.sandbox.TerminalSize;
import dev.berth.session.Session;
import dev.berth.session.process.Event;
import dev.berth.session.process.Follower;
import dev.berth.session.process.Processes;
import dev.berth.session.process.SessionProcess;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.BiConsumer;

/** {@code process.Process}: commands and terminals. A process belongs to the sandbox, not to who started it. */
final class ProcessService {
    /** In which pieces E2B's daemon reads what a process prints. */
    private static final int MOST_OUTPUT = 32 << 10;

    private static final int MOST_TERMINAL_OUTPUT = 16 << 10;
    private static final TerminalSize USUAL_SIZE = new TerminalSize(24, 80);

    /** With a process that does not read, where the client does not say: a client that is gone would not say it either. */
    private static final Duration INPUT_PATIENCE = Duration.ofMinutes(1);

    private final Processes processes;
    private final Downfalls downfalls;

    ProcessService(Processes processes, Downfalls downfalls) {
        this.processes = processes;
        this.downfalls = downfalls;
    }

    void methods(BiConsumer<String, Connect.Method> add) {
        add.accept("/process.Process/Start", (Connect.Method.Streaming) this::start);
        add.accept("/process.Process/Connect", (Connect.Method.Streaming) this::connect);
        add.accept("/process.Process/List", (Connect.Method.Unary) this::list);
        add.accept("/process.Process/SendInput", (Connect.Method.Unary) this::sendInput);
        add.accept("/process.Process/CloseStdin", (Connect.Method.Unary) this::closeStdin);
        add.accept("/process.Process/SendSignal", (Connect.Method.Unary) this::sendSignal);
        add.accept("/process.Process/Update", (Connect.Method.Unary) this::update);
        add.accept("/process.Process/StreamInput", (Connect.Method.Streaming) (_, _, _) -> {
            throw new ConnectError(ConnectCode.UNIMPLEMENTED, "StreamInput is not served; use SendInput");
        });
    }

    private void start(Visit visit, Message request, EventStream out) {
        Terms terms = Terms.of(visit.call());
        Account account = visit.account();
        Command command = command(visit, account, request, terms);
        visit.beforeRun();
        SessionProcess process;
        try {
            process = processes.start(visit.session(), command);
        } catch (SandboxException e) {
            throw switch (e.code()) {
                case NOT_FOUND, DENIED, INVALID -> ConnectError.invalid(e.getMessage());
                default -> e;
            };
        }
        long began = System.nanoTime();
        try {
            follow(visit, process, terms, out);
        } finally {
            OptionalInt code =
                    process.exit().map(exit -> OptionalInt.of(exit.code())).orElse(OptionalInt.empty());
            visit.record(
                    process.terminal() ? "terminal" : "command",
                    Optional.of(String.join(" ", command.argv())),
                    code,
                    Duration.ofNanos(System.nanoTime() - began));
        }
    }

    private static Command command(Visit visit, Account account, Message request, Terms terms) {
        Message process = request.message("process").orElseThrow(() -> ConnectError.invalid("'process' is required"));
        List<String> argv = new ArrayList<>();
        argv.add(process.text("cmd").orElse(""));
        argv.addAll(process.texts("args"));
        Command command = Command.of(argv)
                .withEnv(process.textMap("envs"))
                .withUser(account.name())
                .withTag(request.text("tag").orElse(""))
                .withTimeout(terms.timeout().orElse(Duration.ZERO));
        // Without one it is where the template says, which the sandbox knows.
        Optional<String> cwd = process.text("cwd").filter(path -> !path.isEmpty());
        if (cwd.isPresent()) {
            command = command.withCwd(directory(visit, account, cwd.get()));
        }
        Optional<Message> terminal = request.message("pty");
        if (terminal.isPresent()) {
            return command.withTerminal(
                    terminal.get().message("size").map(ProcessService::size).orElse(USUAL_SIZE));
        }
        return request.flag("stdin", true) ? command.withStdin() : command;
    }

    private static String directory(Visit visit, Account account, String cwd) {
        String path = UserPath.of(account, cwd);
        try {
            FileInfo found = visit.sandbox().files().resolved(path);
            if (found.type() != FileInfo.Type.DIRECTORY) {
                throw ConnectError.invalid("cwd '" + path + "' is not a directory");
            }
        } catch (SandboxException e) {
            if (e.code() == ErrorCode.NOT_FOUND) {
                throw ConnectError.invalid("cwd '" + path + "' does not exist");
            }
            throw e;
        }
        return path;
    }

    private static TerminalSize size(Message size) {
        int rows = size.number("rows").orElse(0);
        int cols = size.number("cols").orElse(0);
        return new TerminalSize(rows == 0 ? USUAL_SIZE.rows() : rows, cols == 0 ? USUAL_SIZE.cols() : cols);
    }

    private void connect(Visit visit, Message request, EventStream out) {
        Terms terms = Terms.of(visit.call());
        follow(visit, find(visit, request), terms, out);
    }

    /** Tells what happens to a process until it ends, the client is gone, its time is over or the sandbox goes down. */
    private void follow(Visit visit, SessionProcess process, Terms terms, EventStream out) {
        try (Follower follower = process.follow();
                Downfalls.Watch down = downfalls.watch(visit, follower::close)) {
            tell(out, "start", Map.of("pid", process.pid()));
            while (true) {
                Event event = follower.next(terms.patience());
                down.check();
                switch (event) {
                    case Event.Output output -> {
                        print(out, output);
                        terms.spoke();
                    }
                    case Event.Ended ended -> {
                        if (ended.exit().timedOut()) {
                            throw Terms.expired();
                        }
                        checkStillUp(visit.session(), ended.exit());
                        tell(out, "end", end(ended.exit()));
                        return;
                    }
                    case Event.Lost lost -> throw lost.why();
                    case Event.Nothing _ -> {}
                }
                terms.check();
                if (terms.silent()) {
                    tell(out, "keepalive", Map.of());
                    terms.spoke();
                }
            }
        }
    }

    /** A sandbox that goes down takes its processes with it; then the end is not the process's own. */
    private static void checkStillUp(Session session, Exit exit) {
        if (exit.signal() == Signal.KILL.number() && !session.sandbox().ready()) {
            throw new Call.Broken(SandboxException.gone("the sandbox went down"));
        }
    }

    private static void print(EventStream out, Event.Output output) {
        String stream = switch (output.stream()) {
            case STDOUT -> "stdout";
            case STDERR -> "stderr";
            case TERMINAL -> "pty";
        };
        byte[] bytes = output.bytes();
        int most = output.stream() == Event.Stream.TERMINAL ? MOST_TERMINAL_OUTPUT : MOST_OUTPUT;
        for (int at = 0; at < bytes.length; at += most) {
            tell(out, "data", Map.of(stream, Arrays.copyOfRange(bytes, at, Math.min(bytes.length, at + most))));
        }
    }

    private static void tell(EventStream out, String kind, Map<String, ?> event) {
        out.send(Map.of("event", Map.of(kind, event)));
    }

    /** In the words of Go's os.ProcessState, which E2B's daemon passes on. */
    static Map<String, Object> end(Exit exit) {
        Map<String, Object> end = new LinkedHashMap<>();
        boolean exited = exit.signal() == 0;
        String status = exited ? "exit status " + exit.code() : "signal: " + SignalName.of(exit.signal());
        end.put("exitCode", exited ? exit.code() : -1);
        end.put("exited", exited);
        end.put("status", status);
        if (!exited || exit.code() != 0) {
            end.put("error", status);
        }
        return end;
    }

    private Object list(Visit visit, Message request) {
        List<Map<String, Object>> found = new ArrayList<>();
        for (SessionProcess process : processes.list(visit.session())) {
            Command command = process.command();
            Map<String, Object> config = new LinkedHashMap<>();
            config.put("cmd", command.argv().getFirst());
            config.put("args", command.argv().subList(1, command.argv().size()));
            config.put("envs", command.env());
            command.cwd().ifPresent(cwd -> config.put("cwd", cwd));
            Map<String, Object> info = new LinkedHashMap<>();
            info.put("config", config);
            info.put("pid", process.pid());
            if (!process.tag().isEmpty()) {
                info.put("tag", process.tag());
            }
            found.add(info);
        }
        return Map.of("processes", found);
    }

    private Object sendInput(Visit visit, Message request) {
        SessionProcess process = alive(visit, request);
        Message input = request.message("input").orElseThrow(() -> ConnectError.invalid("'input' is required"));
        Optional<byte[]> typed = input.bytes("pty");
        byte[] bytes = typed.or(() -> input.bytes("stdin"))
                .orElseThrow(() -> new ConnectError(ConnectCode.UNIMPLEMENTED, "the input is of no known kind"));
        if (typed.isPresent() && !process.terminal()) {
            throw ConnectError.internal("error writing to tty: tty not assigned to process");
        }
        if (typed.isEmpty() && process.terminal()) {
            throw ConnectError.internal(
                    "error writing to stdin: tty assigned to process, input should be written to the pty");
        }
        visit.beforeRun(); // a shell that is open runs what it is given
        try {
            process.input(bytes, Terms.of(visit.call()).timeout().orElse(INPUT_PATIENCE));
        } catch (SandboxException e) {
            throw refused("error writing to stdin", e);
        }
        return Map.of();
    }

    private Object closeStdin(Visit visit, Message request) {
        SessionProcess process = alive(visit, request);
        try {
            process.endInput();
        } catch (SandboxException e) {
            throw refused("error closing stdin", e);
        }
        return Map.of();
    }

    private static RuntimeException refused(String what, SandboxException e) {
        return e.code() == ErrorCode.CONFLICT ? ConnectError.internal(what + ": " + e.getMessage()) : e;
    }

    private Object sendSignal(Visit visit, Message request) {
        SessionProcess process = alive(visit, request);
        String asked = request.constant("signal").orElse("");
        process.signal(
                switch (asked) {
                    case "SIGNAL_SIGTERM", "15" -> Signal.TERM;
                    case "SIGNAL_SIGKILL", "9" -> Signal.KILL;
                    default -> throw new ConnectError(ConnectCode.UNIMPLEMENTED, "invalid signal: '" + asked + "'");
                });
        return Map.of();
    }

    private Object update(Visit visit, Message request) {
        SessionProcess process = alive(visit, request);
        request.message("pty").flatMap(pty -> pty.message("size")).ifPresent(size -> {
            if (!process.terminal()) {
                throw ConnectError.internal("error resizing tty: tty not assigned to process");
            }
            process.resize(size(size));
        });
        return Map.of();
    }

    private SessionProcess alive(Visit visit, Message request) {
        SessionProcess process = find(visit, request);
        if (!process.alive()) {
            throw unknown(selector(request));
        }
        return process;
    }

    private SessionProcess find(Visit visit, Message request) {
        Message selector = selector(request);
        Optional<Integer> pid = selector.number("pid");
        Optional<SessionProcess> found = pid.isPresent()
                ? processes.find(visit.session(), pid.get())
                : selector.text("tag").flatMap(tag -> processes.find(visit.session(), tag));
        return found.orElseThrow(() -> unknown(selector));
    }

    private static Message selector(Message request) {
        return request.message("process")
                .filter(selector -> selector.has("pid") || selector.has("tag"))
                .orElseThrow(() -> ConnectError.invalid("'process' needs a 'pid' or a 'tag'"));
    }

    private static ConnectError unknown(Message selector) {
        return ConnectError.notFound(selector.number("pid")
                .map(pid -> "process with pid " + pid + " not found")
                .orElseGet(() -> "process with tag " + selector.text("tag").orElse("") + " not found"));
    }
}
