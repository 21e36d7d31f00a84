package dev.berth.session.process;

import dev.berth.sandbox.Command;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.Session;
import dev.berth.session.SessionKey;
import dev.berth.session.Sessions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Processes of sessions that any number may follow.
 *
 * <p>They carry a mark in the sandbox. So when a session comes up in a server that did not start them, since the one before
 * was stopped or killed, they are found, and read on from then. Nothing here holds a session up: that is for who uses it.
 */
public final class Processes implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Processes.class);

    private final Sessions sessions;
    private final Times times;
    private final Map<SessionKey, SessionProcesses> bySession = new ConcurrentHashMap<>();
    private volatile boolean closed;

    /**
     * @param patience how long one who follows may take nothing while there is something
     * @param kept how long a process is found after it ended
     */
    record Times(Duration patience, Duration kept) {
        static final Times DEFAULT = new Times(Duration.ofSeconds(30), Duration.ofSeconds(30));

        void afterKept(Runnable work) {
            CompletableFuture.delayedExecutor(
                            kept.toMillis(),
                            TimeUnit.MILLISECONDS,
                            task -> Thread.ofVirtual().start(task))
                    .execute(work);
        }
    }

    private Processes(Sessions sessions, Times times) {
        this.sessions = sessions;
        this.times = times;
    }

    /** From now on, processes of every session that comes up are looked after. */
    public static Processes open(Sessions sessions) {
        return open(sessions, Times.DEFAULT);
    }

    static Processes open(Sessions sessions, Times times) {
        Processes processes = new Processes(sessions, times);
        sessions.whenUp(key -> Thread.ofVirtual().name("processes of " + key).start(() -> processes.cameUp(key)));
        return processes;
    }

    private void cameUp(SessionKey key) {
        try {
            sessions.ifUp(key).ifPresent(session -> {
                try (session) {
                    list(session);
                }
            });
        } catch (RuntimeException e) {
            if (closed) {
                return;
            }
            // Whoever asks for a process of this session tries again.
            LOG.atWarn().addKeyValue("error", e.getMessage()).setCause(e).log("process.adoption.failed");
        }
    }

    /**
     * Starts a process. What it prints waits for the first who {@linkplain SessionProcess#follow follows}.
     *
     * @throws SandboxException if it could not be started
     */
    public SessionProcess start(Session session, Command command) {
        return of(session, processes -> processes.start(session.sandbox(), command));
    }

    /** The process of this id, if it runs or ended less than half a minute ago. */
    public Optional<SessionProcess> find(Session session, int pid) {
        return of(session, processes -> processes.find(pid));
    }

    /** The process of this tag; the newest if there are several, one that ended only if none runs. */
    public Optional<SessionProcess> find(Session session, String tag) {
        return of(session, processes -> processes.find(tag));
    }

    /** Those that run, in the order in which they were started. */
    public List<SessionProcess> list(Session session) {
        return of(session, SessionProcesses::list);
    }

    private <T> T of(Session session, Function<SessionProcesses, T> work) {
        Optional<T> result = Optional.empty();
        while (result.isEmpty()) {
            if (closed) {
                throw SandboxException.unavailable("the server is shutting down; try again in a moment");
            }
            SessionProcesses processes = bySession.computeIfAbsent(
                    session.key(), key -> new SessionProcesses(times, dropped -> bySession.remove(key, dropped)));
            try {
                result = processes.knowing(session.sandbox(), () -> work.apply(processes));
            } finally {
                processes.dropIfEmpty();
            }
        }
        return result.get();
    }

    /** Lets go of the processes. They run on, and the next server takes them up. */
    @Override
    public void close() {
        closed = true;
        bySession.values().forEach(SessionProcesses::leave);
    }
}
