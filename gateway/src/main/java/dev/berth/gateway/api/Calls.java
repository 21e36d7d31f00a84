package dev.berth.gateway.api;

import dev.berth.gateway.approval.ApprovalNeeded;
import dev.berth.gateway.approval.Approvals;
import dev.berth.gateway.auth.Scope;
import dev.berth.gateway.egress.RunningCalls;
import dev.berth.gateway.http.Exchange;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.IdlePolicy;
import dev.berth.session.Loss;
import dev.berth.session.PermissionMode;
import dev.berth.session.Session;
import dev.berth.session.SessionKey;
import dev.berth.session.SessionSpec;
import dev.berth.session.Sessions;
import dev.berth.session.artifact.Artifacts;
import dev.berth.session.artifact.Collected;
import dev.berth.tool.ToolSettings;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.UUID;
import java.util.function.Function;
import java.util.function.ToIntFunction;

/** Runs calls in the session of a conversation, brought up for it, and writes down that they were made. */
public final class Calls {
    /** So that a computer for one call goes even if this server dies in it. */
    private static final Duration SURELY_OVER = Duration.ofHours(2);

    private final Sessions sessions;
    private final Approvals approvals;
    private final Artifacts artifacts;
    private final ToolSettings settings;
    private final RunningCalls running;

    /** @param settings of the server; a read-only one lets no call write, whichever way it came */
    public Calls(
            Sessions sessions, Approvals approvals, Artifacts artifacts, ToolSettings settings, RunningCalls running) {
        this.sessions = sessions;
        this.approvals = approvals;
        this.artifacts = artifacts;
        this.settings = settings;
        this.running = running;
    }

    /** What a session is made like that nobody says more about. */
    SessionSpec defaults() {
        return sessions.spec();
    }

    /** What a call does to the computer. If it may write, the files are kept first, if the session wants that. */
    enum Access {
        READ,
        /** Writes what the tenant keeps here anyway, so that nobody has to be asked. */
        STAGE,
        WRITE,
        RUN
    }

    /**
     * A call.
     *
     * @param what the tool
     * @param mode whether a person has to allow it, whatever the session says
     */
    record Call(Exchange exchange, String what, Optional<String> text, Access access, PermissionMode mode) {
        Call(Exchange exchange, String what, Optional<String> text, Access access) {
            this(exchange, what, text, access, PermissionMode.BYPASS);
        }

        String who() {
            return exchange.caller().name();
        }

        boolean mustBeAllowed(PermissionMode session) {
            PermissionMode strictest = mode.stricter(session);
            return !exchange.allowed()
                    && switch (access) {
                        case READ, STAGE -> false;
                        case WRITE -> strictest.asksToWrite();
                        case RUN -> strictest.asksToRun();
                    };
        }
    }

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
        if (call.access() != Access.READ) {
            settings.requireWritable();
        }
        try (Session session = sessions.resolve(key, spec)) {
            if (call.exchange().events().heard()) {
                String state = session.info().state().toString();
                call.exchange().events().event("state", Map.of("session_id", key.id(), "state", state));
            }
            permit(call, session);
            if (call.access() != Access.READ) {
                session.beforeWrite();
            }
            long began = System.nanoTime();
            OptionalInt code = OptionalInt.empty();
            try (RunningCalls.Running _ =
                    running.begin(session.key(), call.exchange().id())) {
                T value = work.apply(session);
                code = OptionalInt.of(exit.applyAsInt(value));
                Optional<String> loss = session.loss().map(Loss::sentence);
                if (loss.isPresent()) {
                    session.lossTold();
                }
                return new Outcome<>(
                        value, call.access() == Access.READ ? Collected.NOTHING : collect(session, call), loss);
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

    private void permit(Call call, Session session) {
        if (call.mustBeAllowed(session.info().permissionMode()) && !approvals.granted(session.key(), call.what())) {
            if (!call.exchange().isJson()) {
                if (call.exchange().caller().may(Scope.APPROVALS)) {
                    return; // whoever could allow it need not wait for himself
                }
                throw SandboxException.denied("'" + call.what() + "' has to be allowed by a person in this session, and"
                        + " what is streamed cannot wait for that; use a call with a JSON body");
            }
            throw new ApprovalNeeded(Optional.of(session.key()), call.what());
        }
    }

    private Collected collect(Session session, Call call) {
        Collected collected = artifacts.collect(
                session, call.who(), Optional.of(call.exchange().id()));
        collected.made().forEach(artifact -> call.exchange().events().event("artifact", ArtifactApi.show(artifact)));
        return collected;
    }

    /** The session, up until it is closed, for something that goes on after the call. */
    Session open(SessionKey key, Call call) {
        Session session = sessions.resolve(key);
        session.record(new Session.Run(call.who(), call.what(), call.text(), OptionalInt.empty(), Duration.ZERO));
        return session;
    }

    /** In a computer that is made for this call and gone afterwards. */
    <T> Outcome<T> alone(String tenant, SessionSpec spec, Call call, Function<Session, T> work, ToIntFunction<T> exit) {
        if (call.mustBeAllowed(PermissionMode.BYPASS)) {
            throw new ApprovalNeeded(Optional.empty(), call.what());
        }
        Call allowed = new Call(call.exchange(), call.what(), call.text(), call.access());
        SessionKey key = SessionKey.of(tenant, "once:" + UUID.randomUUID());
        SessionSpec brief = spec.withIdle(IdlePolicy.NEVER.lifetime(SURELY_OVER));
        try {
            return once(key, brief, allowed, work, exit);
        } finally {
            if (sessions.find(key).isPresent()) {
                sessions.delete(key);
            }
        }
    }
}
