package dev.berth.gateway.terminal;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.CommandInfo;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.TerminalSize;
import dev.berth.session.Session;
import dev.berth.session.SessionEvent;
import dev.berth.session.SessionInfo;
import dev.berth.session.SessionKey;
import dev.berth.session.SessionState;
import dev.berth.session.Sessions;
import dev.berth.tool.Workspace;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The terminals that are open in this server. Those that a server before this one opened are found again in the sandbox,
 * by their tag.
 */
public final class Terminals implements AutoCloseable {
    private static final int MOST = 16;
    private static final String TAG = "terminal:";
    private static final TerminalSize USUAL = new TerminalSize(24, 80);
    private static final Duration TO_TELL = Duration.ofSeconds(5);

    /** Where a terminal is. */
    private record Place(SessionKey session, String name) {}

    /**
     * A terminal.
     *
     * @param size empty if nobody attached to it since the server started
     */
    public record OpenTerminal(String name, Optional<TerminalSize> size, int watchers) {}

    private final Sessions sessions;
    /** Of those that are just being opened too, so that one who comes meanwhile waits for the same. */
    private final Map<Place, CompletableFuture<Terminal>> open = new ConcurrentHashMap<>();

    private volatile boolean closing;

    public Terminals(Sessions sessions) {
        this.sessions = sessions;
    }

    /**
     * Attaches to a terminal of a session, which is brought up. If there is none of this name, it is opened.
     *
     * @param size the size it gets; empty to leave it as it is
     * @param types whether the watcher is going to type
     */
    public Watcher attach(SessionKey key, String name, Optional<TerminalSize> size, boolean types, String actor) {
        try {
            return attachOnce(key, name, size, types, actor);
        } catch (SandboxException e) {
            // Somebody put it to sleep between being brought up and being used: it is brought up once more.
            if (e.code() != ErrorCode.CONFLICT) {
                throw e;
            }
            return attachOnce(key, name, size, types, actor);
        }
    }

    private Watcher attachOnce(SessionKey key, String name, Optional<TerminalSize> size, boolean types, String actor) {
        TerminalSize wanted = types ? size.orElse(USUAL) : USUAL;
        Session session = sessions.resolve(key);
        try {
            if (types) {
                session.beforeWrite();
            }
            while (true) {
                Terminal terminal = openOnce(new Place(key, name), session, wanted, actor);
                Watcher watcher = new Watcher(sessions, terminal, session);
                if (terminal.join(watcher)) {
                    if (types) {
                        size.ifPresent(terminal::resize);
                    }
                    return watcher;
                }
            }
        } catch (RuntimeException e) {
            session.close();
            throw e;
        }
    }

    /** The terminals of a session. One that sleeps is not woken for this: then only those are told that are known here. */
    public List<OpenTerminal> list(SessionInfo info) {
        Map<String, OpenTerminal> found = new TreeMap<>();
        if (info.state() == SessionState.ACTIVE) {
            try (Session session = sessions.resolve(info.key())) {
                running(session.sandbox())
                        .forEach(command ->
                                found.put(name(command), new OpenTerminal(name(command), Optional.empty(), 0)));
            }
        }
        open.forEach((place, opening) -> {
            if (place.session().equals(info.key()) && opening.isDone() && !opening.isCompletedExceptionally()) {
                Terminal terminal = opening.join();
                found.put(
                        place.name(),
                        new OpenTerminal(place.name(), Optional.of(terminal.size()), terminal.watchers()));
            }
        });
        return List.copyOf(found.values());
    }

    /** Ends a terminal and whatever runs in it; false if there is none of this name. */
    public boolean end(SessionInfo info, String name, String actor) {
        if (info.state() == SessionState.STOPPED || info.state() == SessionState.ARCHIVED) {
            return false; // and so are its processes
        }
        try (Session session = sessions.resolve(info.key())) {
            Optional<Terminal> terminal = find(session, name);
            terminal.ifPresent(it -> it.hangUp(actor));
            return terminal.isPresent();
        }
    }

    // ---- opening -------------------------------------------------------------------------------------------------

    /** One that is open here or in the sandbox. */
    private Optional<Terminal> find(Session session, String name) {
        Place place = new Place(session.key(), name);
        if (open.containsKey(place) || running(session.sandbox()).stream().anyMatch(it -> name(it).equals(name))) {
            return Optional.of(openOnce(place, session, USUAL, SessionEvent.BERTH));
        }
        return Optional.empty();
    }

    private Terminal openOnce(Place place, Session session, TerminalSize size, String actor) {
        if (closing) {
            throw SandboxException.unavailable("the server stops; connect again");
        }
        CompletableFuture<Terminal> mine = new CompletableFuture<>();
        CompletableFuture<Terminal> there = open.putIfAbsent(place, mine);
        if (there != null) {
            try {
                return there.join();
            } catch (CompletionException e) {
                throw e.getCause() instanceof SandboxException known
                        ? new SandboxException(known.code(), known.getMessage(), known)
                        : e;
            }
        }
        try {
            Terminal terminal = open(place, session, size, actor);
            mine.complete(terminal);
            terminal.run((how, who) -> {
                open.remove(place, mine);
                if (!closing) {
                    tell(place, closed(place, how).by(who));
                }
            });
            return terminal;
        } catch (RuntimeException e) {
            open.remove(place, mine);
            mine.completeExceptionally(e);
            throw e;
        }
    }

    private Terminal open(Place place, Session session, TerminalSize size, String actor) {
        Sandbox sandbox = session.sandbox();
        Optional<CommandInfo> earlier = Optional.empty();
        int others = 0;
        for (CommandInfo command : sandbox.commands()) {
            if (!isTerminal(command)) {
                continue;
            }
            boolean same = name(command).equals(place.name());
            if (same && command.exit().isPresent()) {
                release(sandbox, command);
            } else if (same) {
                earlier = Optional.of(command);
            } else if (command.exit().isEmpty()) {
                others++;
            }
        }
        if (earlier.isPresent()) {
            CommandInfo found = earlier.get();
            RunningCommand command = sandbox.attach(found.id(), found.stdoutOldest(), found.stderrOldest());
            Terminal terminal = new Terminal(place.name(), command, size, SessionEvent.BERTH);
            terminal.catchUp(found.stdoutEnd() - found.stdoutOldest());
            terminal.resize(size); // nobody remembers the one that it had
            return terminal;
        }
        long here = open.keySet().stream()
                .filter(it -> it.session().equals(place.session()))
                .count();
        if (others >= MOST || here > MOST) {
            throw SandboxException.limit("the session has " + MOST + " terminals open; end one of them")
                    .with(SandboxException.LIMIT, "terminals")
                    .with(SandboxException.ALLOWED, MOST);
        }
        RunningCommand command = sandbox.start(Command.of("bash", "-l")
                .withTerminal(size)
                .withEnv(Map.of("TERM", "xterm-256color"))
                .withCwd(Workspace.of(sandbox).directory())
                .withTag(TAG + place.name())
                .whenFull(Command.WhenFull.DROP_OLDEST)); // so that one that nobody reads goes on
        tell(place, SessionEvent.of("terminal.opened").by(actor).with("terminal", place.name()));
        return new Terminal(place.name(), command, size, SessionEvent.BERTH);
    }

    /** One that ended while no server was there to see it. */
    private static void release(Sandbox sandbox, CommandInfo ended) {
        try (RunningCommand command = sandbox.attach(ended.id(), ended.stdoutEnd(), ended.stderrEnd())) {
            command.await(TO_TELL);
        }
    }

    private static List<CommandInfo> running(Sandbox sandbox) {
        return sandbox.commands().stream()
                .filter(command -> isTerminal(command) && command.exit().isEmpty())
                .toList();
    }

    private static boolean isTerminal(CommandInfo command) {
        return command.terminal() && command.tag().startsWith(TAG);
    }

    private static String name(CommandInfo command) {
        return command.tag().substring(TAG.length());
    }

    private static SessionEvent closed(Place place, End how) {
        SessionEvent event = SessionEvent.of("terminal.closed").with("terminal", place.name());
        return switch (how) {
            case End.Exited(int code) -> event.with("exit_code", code);
            case End.Lost(SandboxException why) -> event.with("lost", why.code().wireName());
        };
    }

    private void tell(Place place, SessionEvent event) {
        sessions.events().append(place.session(), event);
    }

    /** Lets go of all of them; they go on in their sandboxes. */
    @Override
    public void close() {
        closing = true;
        open.values().forEach(opening -> {
            if (opening.isDone() && !opening.isCompletedExceptionally()) {
                opening.join().leave();
            }
        });
    }
}
