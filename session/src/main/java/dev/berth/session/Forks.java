package dev.berth.session;

import dev.berth.sandbox.CheckpointId;
import dev.berth.sandbox.SandboxException;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.Function;

/** Starts sessions with the files that another one has or had. */
final class Forks {
    /** Makes one of them. */
    interface Making {
        Session make(SessionKey source, SessionSpec spec, CheckpointId point, SessionKey target, String actor);
    }

    private final Parts parts;
    private final Turns turns;
    private final Function<SessionKey, Session> bringUp;
    private final Making making;

    Forks(Parts parts, Turns turns, Function<SessionKey, Session> bringUp, Making making) {
        this.parts = parts;
        this.turns = turns;
        this.bringUp = bringUp;
        this.making = making;
    }

    Session fork(SessionKey key, OptionalInt turn, SessionKey target, String actor) {
        try (Session session = bringUp.apply(key);
                Turns.Point point = turns.point(session, turn)) {
            SessionSpec spec = SessionSpec.of(session.info()).withoutChannel();
            return making.make(key, spec, point.id(), target, actor);
        }
    }

    List<Forked> fork(
            SessionKey key,
            List<SessionKey> targets,
            BiFunction<SessionKey, SessionSpec, SessionSpec> as,
            String actor) {
        SessionSpec same = parts.database()
                .query(handle -> SessionTable.find(handle, key))
                .filter(SessionInfo::exists)
                .map(SessionSpec::of)
                .orElseThrow(() -> Sessions.unknown(key));
        try (Turns.Point point = turns.now(key).orElseGet(() -> pointOnceUp(key))) {
            // All of them before the first is made: were one refused later, nobody would be told of those before it.
            List<SessionSpec> specs =
                    targets.stream().map(target -> as.apply(target, same)).toList();
            List<CompletableFuture<Forked>> forks = new ArrayList<>();
            for (int i = 0; i < targets.size(); i++) {
                SessionKey target = targets.get(i);
                SessionSpec spec = specs.get(i);
                CompletableFuture<Forked> outcome = new CompletableFuture<>();
                Thread.ofVirtual()
                        .name("fork " + target)
                        .start(() -> outcome.complete(forked(key, spec, point.id(), target, actor)));
                forks.add(outcome);
            }
            return forks.stream().map(CompletableFuture::join).toList();
        }
    }

    private Turns.Point pointOnceUp(SessionKey key) {
        try (Session session = bringUp.apply(key)) {
            return turns.point(session, OptionalInt.empty());
        }
    }

    private Forked forked(SessionKey source, SessionSpec spec, CheckpointId point, SessionKey target, String actor) {
        try {
            return new Forked.Made(target, making.make(source, spec, point, target, actor));
        } catch (SandboxException e) {
            return new Forked.Failed(target, e);
        } catch (Throwable e) { // or whoever waits for this one would wait for ever
            parts.journal().trouble(target, SessionEvent.of("session.fork.failed"), e);
            return new Forked.Failed(
                    target, SandboxException.unavailable("could not make session " + target + "; try again later", e));
        }
    }
}
