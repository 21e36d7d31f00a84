package dev.berth.gateway.api;

import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.IdlePolicy;
import dev.berth.session.Loss;
import dev.berth.session.Session;
import dev.berth.session.SessionKey;
import dev.berth.session.SessionSpec;
import dev.berth.session.Sessions;
import dev.berth.session.artifact.Artifacts;
import dev.berth.session.artifact.Collected;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.UUID;
import java.util.function.Function;
import java.util.function.ToIntFunction;
import org.slf4j.MDC;

/** Runs calls in the session of a conversation, brought up for it, and writes down that they were made. */
public final class Calls {
    /** So that a computer for one call goes even if this server dies in it. */
    private static final Duration SURELY_OVER = Duration.ofHours(2);

    private final Sessions sessions;
    private final Artifacts artifacts;

    public Calls(Sessions sessions, Artifacts artifacts) {
        this.sessions = sessions;
        this.artifacts = artifacts;
    }

    /** What a session is made like that nobody says more about. */
    SessionSpec defaults() {
        return sessions.spec();
    }

    /**
     * A call.
     *
     * @param who for the session's log
     * @param what the tool
     * @param writes whether it may write: then the files are kept first, if the session wants that
     */
    record Call(String who, String what, Optional<String> text, boolean writes) {}

    /** What came of it, what it left to see, and what the computer lost before, which the model has to know. */
    record Outcome<T>(T value, Collected artifacts, Optional<String> loss) {}

    <T> Outcome<T> in(SessionKey key, SessionSpec spec, Call call, Function<Session, T> work, ToIntFunction<T> exit) {
        try {
            return once(key, spec, call, work, exit);
        } catch (SandboxException e) {
            // Somebody paused or stopped it between being brought up and being used: it is brought up once more.
            if (e.code() != ErrorCode.CONFLICT || !asleep(key)) {
                throw e;
            }
            return once(key, spec, call, work, exit);
        }
    }

    private boolean asleep(SessionKey key) {
        return sessions.find(key)
                .filter(info -> switch (info.state()) {
                    case PAUSED, PAUSING, STOPPED, ARCHIVED -> true;
                    default -> false;
                })
                .isPresent();
    }

    private <T> Outcome<T> once(
            SessionKey key, SessionSpec spec, Call call, Function<Session, T> work, ToIntFunction<T> exit) {
        try (Session session = sessions.resolve(key, spec)) {
            if (call.writes()) {
                session.beforeWrite();
            }
            long began = System.nanoTime();
            OptionalInt code = OptionalInt.empty();
            try {
                T value = work.apply(session);
                code = OptionalInt.of(exit.applyAsInt(value));
                Optional<String> loss = session.loss().map(Loss::sentence);
                if (loss.isPresent()) {
                    session.lossTold();
                }
                return new Outcome<>(value, call.writes() ? collect(session, call) : Collected.NOTHING, loss);
            } catch (SandboxException e) {
                if (e.code() == ErrorCode.UNAVAILABLE || e.code() == ErrorCode.TIMEOUT) {
                    session.suspect();
                }
                throw e;
            } finally {
                session.record(new Session.Run(
                        call.who(), call.what(), call.text(), code, Duration.ofNanos(System.nanoTime() - began)));
            }
        }
    }

    private Collected collect(Session session, Call call) {
        return artifacts.collect(session, call.who(), Optional.ofNullable(MDC.get("correlation")));
    }

    /** The session, up until it is closed, for something that goes on after the call. */
    Session open(SessionKey key, Call call) {
        Session session = sessions.resolve(key);
        session.record(new Session.Run(call.who(), call.what(), call.text(), OptionalInt.empty(), Duration.ZERO));
        return session;
    }

    /** In a computer that is made for this call and gone afterwards. */
    <T> Outcome<T> alone(String tenant, SessionSpec spec, Call call, Function<Session, T> work, ToIntFunction<T> exit) {
        SessionKey key = SessionKey.of(tenant, "once:" + UUID.randomUUID());
        SessionSpec brief = spec.withIdle(IdlePolicy.NEVER.lifetime(SURELY_OVER));
        try {
            return once(key, brief, call, work, exit);
        } finally {
            if (sessions.find(key).isPresent()) {
                sessions.delete(key);
            }
        }
    }
}
