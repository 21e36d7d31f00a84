package dev.berth.session.process;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.CommandInfo;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.TerminalSize;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The processes of one session, those that run and those that ended a moment ago.
 *
 * <p>Before anything else is done with a sandbox, what earlier servers left in it is taken up. That is exclusive, whereas a
 * process is started under the shared lock: one that is started and not yet noted here must not be taken for one that was
 * left, or it would be read twice. When there are no processes any more this is dropped, and made anew when asked for.
 */
final class SessionProcesses {
    static final String MARK = "process:";
    /** Of a terminal that an earlier server opened the sandbox does not tell the size. */
    private static final TerminalSize UNKNOWN_SIZE = new TerminalSize(24, 80);

    private final Processes.Times times;
    private final Consumer<SessionProcesses> whenDropped;
    private final Map<Integer, Pump> byPid = new ConcurrentHashMap<>();
    private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    /** Guarded by lock, as the next. */
    private @Nullable Sandbox seen;

    private boolean dropped;

    SessionProcesses(Processes.Times times, Consumer<SessionProcesses> whenDropped) {
        this.times = times;
        this.whenDropped = whenDropped;
    }

    /** Does this when what is in the sandbox is known here; empty if this was dropped before. */
    <T> Optional<T> knowing(Sandbox sandbox, Supplier<T> work) {
        while (true) {
            lock.readLock().lock();
            try {
                if (dropped) {
                    return Optional.empty();
                }
                if (sandbox.equals(seen)) {
                    return Optional.of(work.get());
                }
            } finally {
                lock.readLock().unlock();
            }
            takeUp(sandbox);
        }
    }

    private void takeUp(Sandbox sandbox) {
        lock.writeLock().lock();
        try {
            if (!dropped && !sandbox.equals(seen)) {
                for (CommandInfo info : commands(sandbox)) {
                    Pump known = byPid.get(info.pid());
                    boolean ours = info.tag().startsWith(MARK) || isStart(info.tag());
                    if (ours && (known == null || !known.alive() || known.id() != info.id())) {
                        adopt(sandbox, info);
                    }
                }
                seen = sandbox;
            }
        } finally {
            lock.writeLock().unlock();
        }
    }

    /** What the template of the sandbox has started is a process of the session as those that it starts itself. */
    private static boolean isStart(String tag) {
        return tag.equals(CommandInfo.START);
    }

    private static List<CommandInfo> commands(Sandbox sandbox) {
        try {
            return sandbox.commands();
        } catch (SandboxException e) {
            if (e.code() == ErrorCode.UNSUPPORTED) {
                return List.of(); // this provider's commands end with the server
            }
            throw e;
        }
    }

    /** Reads it from now on: what it printed before was for those who followed it then. */
    private void adopt(Sandbox sandbox, CommandInfo info) {
        try {
            RunningCommand running = sandbox.attach(info.id(), info.stdoutEnd(), info.stderrEnd());
            note(new Pump(
                            told(info),
                            running,
                            info.stdoutEnd(),
                            info.stderrEnd(),
                            info.stdinOpen(),
                            sandbox,
                            times.patience(),
                            this::over))
                    .start();
        } catch (SandboxException e) {
            if (e.code() != ErrorCode.NOT_FOUND) {
                throw e;
            }
        }
    }

    private static Command told(CommandInfo info) {
        List<String> words = Arrays.stream(info.commandLine().split(" "))
                .filter(word -> !word.isEmpty())
                .toList();
        Command command = Command.of(words.isEmpty() ? List.of("?") : words)
                .withTag(isStart(info.tag()) ? info.tag() : info.tag().substring(MARK.length()));
        if (info.terminal()) {
            return command.withTerminal(UNKNOWN_SIZE);
        }
        return info.stdinOpen() ? command.withStdin() : command;
    }

    private Pump note(Pump pump) {
        byPid.put(pump.pid(), pump);
        return pump;
    }

    SessionProcess start(Sandbox sandbox, Command command) {
        Command marked = command.withTag(MARK + command.tag()).whenFull(Command.WhenFull.BLOCK);
        RunningCommand running = sandbox.start(marked);
        Pump pump = note(new Pump(command, running, 0, 0, command.stdinOpen(), sandbox, times.patience(), this::over));
        Follower first = pump.follow();
        pump.start();
        return new SessionProcess(pump, first);
    }

    /** One that ended is still found for a while; one that was lost is not there any more. */
    private void over(Pump pump) {
        boolean ended = pump.exit().isPresent();
        Thread.ofVirtual().start(() -> {
            if (!ended || isStart(pump.command().tag())) {
                lookAgain();
            }
            if (!ended) {
                forget(pump);
            }
        });
        if (ended) {
            times.afterKept(() -> forget(pump));
        }
    }

    private void forget(Pump pump) {
        byPid.remove(pump.pid(), pump);
        dropIfEmpty();
    }

    /** If the sandbox went down, what its template starts is another one when it is up again. */
    private void lookAgain() {
        lock.writeLock().lock();
        try {
            seen = null;
        } finally {
            lock.writeLock().unlock();
        }
    }

    void dropIfEmpty() {
        if (!byPid.isEmpty()) {
            return;
        }
        lock.writeLock().lock();
        try {
            if (byPid.isEmpty() && !dropped) {
                dropped = true;
                whenDropped.accept(this);
            }
        } finally {
            lock.writeLock().unlock();
        }
    }

    Optional<SessionProcess> find(int pid) {
        return Optional.ofNullable(byPid.get(pid)).map(pump -> new SessionProcess(pump, null));
    }

    /** The newest that runs, or else the newest. */
    Optional<SessionProcess> find(String tag) {
        return byPid.values().stream()
                .filter(pump -> pump.command().tag().equals(tag))
                .max(Comparator.comparing(Pump::alive).thenComparingInt(Pump::id))
                .map(pump -> new SessionProcess(pump, null));
    }

    List<SessionProcess> list() {
        return byPid.values().stream()
                .filter(Pump::alive)
                .sorted(Comparator.comparingInt(Pump::id))
                .map(pump -> new SessionProcess(pump, null))
                .toList();
    }

    void leave() {
        byPid.values().forEach(Pump::leave);
    }
}
