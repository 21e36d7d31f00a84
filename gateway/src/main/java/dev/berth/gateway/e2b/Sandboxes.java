package dev.berth.gateway.e2b;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.Expiry;
import dev.berth.session.Session;
import dev.berth.session.SessionInfo;
import dev.berth.session.SessionKey;
import dev.berth.session.SessionState;
import dev.berth.session.Sessions;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;

/** The sandboxes that E2B's clients made: sessions of the channel {@code e2b}, known by their ids alone. */
public final class Sandboxes {
    public static final String CHANNEL = "e2b";

    /** E2B's clients know two states. Its processes run in these, or are about to. */
    public static final Set<SessionState> RUNNING =
            Set.of(SessionState.CREATING, SessionState.ACTIVE, SessionState.RESUMING);

    /** In these it has its files, and perhaps its processes; one that failed comes back as one that sleeps does. */
    static final Set<SessionState> PAUSED = Set.of(
            SessionState.PAUSING, SessionState.PAUSED, SessionState.STOPPED, SessionState.ARCHIVED, SessionState.ERROR);

    /** What a sandbox that was woken by traffic has at least, whatever it was made with. */
    private static final Duration LEAST_AFTER_WAKING = Duration.ofMinutes(5);

    private final Sessions sessions;

    public Sandboxes(Sessions sessions) {
        this.sessions = sessions;
    }

    /** One of a tenant, in any state but gone. */
    public SessionInfo get(String tenant, String id) {
        return Place.id(id)
                .flatMap(plain -> sessions.find(SessionKey.of(tenant, plain)))
                .filter(Sandboxes::exists)
                .orElseThrow(() -> unknown(id));
    }

    /** As {@link #get}, for who wants to use it: one that is just being killed is not unknown, but cannot be had. */
    SessionInfo wanted(String tenant, String id) {
        Place.id(id)
                .flatMap(plain -> sessions.find(SessionKey.of(tenant, plain)))
                .filter(info -> info.channel().filter(CHANNEL::equals).isPresent()
                        && info.state() != SessionState.DESTROYED
                        && !exists(info))
                .ifPresent(_ -> {
                    throw new E2bError(409, "Sandbox \"" + id + "\" is being killed");
                });
        return get(tenant, id);
    }

    static E2bError unknown(String id) {
        return new E2bError(404, "Sandbox \"" + id + "\" doesn't exist or you don't have access to it");
    }

    static boolean exists(SessionInfo info) {
        return info.channel().filter(CHANNEL::equals).isPresent()
                && !info.deleteRequested()
                && (running(info) || PAUSED.contains(info.state()));
    }

    /** Whether its processes run, or are about to. */
    public static boolean running(SessionInfo info) {
        return RUNNING.contains(info.state());
    }

    /**
     * Opens the sandbox that traffic is for, whoever's it is. One that sleeps is woken if it was made so.
     *
     * @param gate throws if the caller may not enter; asked before anything is woken
     * @throws E2bError 502 if it does not run, as E2B's own proxy says it
     */
    public Session enter(String id, Consumer<SessionInfo> gate) {
        SessionKey key = key(id).orElseThrow(() -> notRunning(id));
        Optional<Session> up = sessions.ifUp(key);
        if (up.isPresent()) {
            return entered(up.get(), gate);
        }
        SessionInfo info = sessions.find(key).filter(Sandboxes::exists).orElseThrow(() -> notRunning(id));
        if (running(info)) {
            return entered(resolve(key, Sandboxes::running), gate);
        }
        // What has lost its memory does not run on by itself: whatever the traffic is for would not be there.
        boolean wakes = info.expiry().filter(Expiry::wakesOnTraffic).isPresent()
                && (info.state() == SessionState.PAUSED || info.state() == SessionState.PAUSING);
        if (!wakes) {
            throw notRunning(id);
        }
        gate.accept(info);
        return woken(resolve(key, Sandboxes::exists));
    }

    /** Gives one that traffic woke its time, unless it was put to sleep or killed just after. */
    private Session woken(Session session) {
        try {
            sessions.extend(session.key(), LEAST_AFTER_WAKING);
            return session;
        } catch (RuntimeException e) {
            session.close();
            boolean down = e instanceof SandboxException known
                    && (known.code() == ErrorCode.NOT_FOUND || known.code() == ErrorCode.CONFLICT);
            throw down ? notRunning(session.key().id()) : e;
        }
    }

    /** Traffic wakes nothing that was put to sleep or killed since it was looked at. */
    private Session resolve(SessionKey key, Predicate<SessionInfo> such) {
        try {
            return sessions.resolve(key, such);
        } catch (SandboxException e) {
            if (e.code() == ErrorCode.GONE) {
                throw notRunning(key.id());
            }
            throw e;
        }
    }

    private static Session entered(Session session, Consumer<SessionInfo> gate) {
        try {
            gate.accept(session.info());
            return session;
        } catch (RuntimeException e) {
            session.close();
            throw e;
        }
    }

    /** The session that an id is of, without regard to its state. */
    public Optional<SessionKey> key(String id) {
        return sessions.findById(id, CHANNEL).filter(Sandboxes::exists).map(SessionInfo::key);
    }

    public static E2bError notRunning(String id) {
        return new E2bError(502, "The sandbox was not found").with("sandboxId", id);
    }

    /** As what a failure of a sandbox that was entered is to be seen: one that has gone meanwhile does not run. */
    public static RuntimeException seen(String id, SandboxException e) {
        return switch (e.code()) {
            case GONE -> notRunning(id);
            default -> e;
        };
    }
}
