package dev.berth.cli;

import dev.berth.cli.args.Option;
import dev.berth.cli.args.Sizes;
import dev.berth.cli.args.Syntax.Operands;
import dev.berth.client.SessionInfo;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** {@code berth top}. */
final class TopCommand {
    private static final Option<Boolean> ONCE = Option.flag("--once", "Show it once and end.");
    private static final Option<Integer> LIMIT = Option.of(
            "--limit", "N", "How many sessions at most, the last used first (default 100).", Option.atLeast(1));

    private static final Duration EVERY = Duration.ofSeconds(1);
    private static final String HOME = "\033[H";
    private static final String TO_END_OF_LINE = "\033[K";
    private static final String TO_END_OF_SCREEN = "\033[J";
    private static final String OTHER_SCREEN = "\033[?1049h\033[?25l";
    private static final String OWN_SCREEN = "\033[?25h\033[?1049l";

    private TopCommand() {}

    static Subcommand command() {
        return RemoteCommand.of(
                "top",
                "Show what sessions use, again every second.",
                "",
                Operands.NONE,
                List.of(ONCE, LIMIT),
                List.of("top", "top --once", "top --json"),
                TopCommand::run);
    }

    private static int run(Remote remote) {
        int limit = remote.arguments().get(LIMIT).orElse(100);
        Processors processors = new Processors();
        boolean once = remote.json()
                || remote.arguments().has(ONCE)
                || !remote.console().onTerminal().getAsBoolean();
        if (!once) {
            return live(remote, limit, processors);
        }
        List<SessionInfo> sessions = sessions(remote, limit);
        remote.show(
                "sessions",
                sessions.stream().map(SessionInfo::json).toList(),
                table(sessions, processors, System.nanoTime()));
        return 0;
    }

    private static List<SessionInfo> sessions(Remote remote, int limit) {
        return remote.berth().sessions(Optional.empty(), Optional.of(limit), true);
    }

    /** On the terminal's other screen, which is left however this ends. */
    private static int live(Remote remote, int limit, Processors processors) {
        PrintWriter out = remote.console().out();
        Thread atExit = new Thread(() -> leave(out), "screen");
        Runtime.getRuntime().addShutdownHook(atExit);
        out.print(OTHER_SCREEN);
        try {
            while (!out.checkError()) {
                List<SessionInfo> sessions = sessions(remote, limit);
                out.print(HOME + screen(remote.console(), sessions, processors));
                out.flush();
                Thread.sleep(EVERY);
            }
            return ExitCodes.BROKEN_PIPE;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return ExitCodes.INTERRUPTED;
        } finally {
            leave(out);
        }
    }

    private static void leave(PrintWriter out) {
        out.print(OWN_SCREEN);
        out.flush();
    }

    private static String screen(Console console, List<SessionInfo> sessions, Processors processors) {
        StringWriter text = new StringWriter();
        PrintWriter lines = new PrintWriter(text);
        long up = sessions.stream().filter(it -> it.usage().isPresent()).count();
        lines.println(sessions.size() + " sessions, " + up + " up");
        table(sessions, processors, System.nanoTime()).print(lines, console.width());
        lines.flush();
        return text.toString().replace("\n", TO_END_OF_LINE + "\n") + TO_END_OF_SCREEN;
    }

    static Table table(List<SessionInfo> sessions, Processors processors, long nanos) {
        Table table = new Table("SESSION", "STATE", "CPU", "MEMORY", "OF", "PIDS", "DISK", "USED");
        Instant now = Instant.now();
        record Line(SessionInfo session, Optional<Double> cpu) {}
        sessions.stream()
                .map(session -> new Line(session, processors.percent(session, nanos)))
                .sorted(Comparator.comparingDouble((Line line) -> -line.cpu().orElse(-1.0))
                        .thenComparingLong(line -> -line.session()
                                .usage()
                                .map(SessionInfo.Usage::memoryBytes)
                                .orElse(-1L)))
                .forEach(line -> {
                    SessionInfo session = line.session();
                    Optional<SessionInfo.Usage> usage = session.usage();
                    table.add(
                            session.id(),
                            session.state(),
                            line.cpu()
                                    .map(cpu -> String.format(Locale.ROOT, "%.0f%%", cpu))
                                    .orElse("-"),
                            usage.map(it -> Sizes.format(it.memoryBytes())).orElse("-"),
                            Sizes.format(
                                    session.json().get("limits").get("memory").whole()),
                            usage.map(it -> Long.toString(it.pids())).orElse("-"),
                            Sizes.format(usage.map(SessionInfo.Usage::diskBytes).orElse(session.diskBytes())),
                            Remote.age(session.lastUsedAt(), now) + " ago");
                });
        return table;
    }

    /** How much of a processor each session used since it was last asked. */
    static final class Processors {
        private record Sample(double seconds, long nanos) {}

        private final Map<String, Sample> last = new HashMap<>();

        /** 100 is one processor. Empty the first time, and when the session was started again in between. */
        Optional<Double> percent(SessionInfo session, long nanos) {
            String key = session.tenant() + "/" + session.id();
            if (session.usage().isEmpty()) {
                last.remove(key);
                return Optional.empty();
            }
            Sample now = new Sample(session.usage().get().cpuSeconds(), nanos);
            Sample before = last.put(key, now);
            if (before == null || now.nanos() <= before.nanos() || now.seconds() < before.seconds()) {
                return Optional.empty();
            }
            return Optional.of((now.seconds() - before.seconds()) * 1e11 / (now.nanos() - before.nanos()));
        }
    }
}
