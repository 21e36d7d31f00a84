package dev.berth.session;

import dev.berth.sandbox.Checkpoint;
import dev.berth.sandbox.CheckpointId;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.CheckpointTable.Entry;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * The turns of a conversation, and going back to before one of them. The checkpoint of a turn has the files as they were
 * before that turn wrote anything; a turn that wrote nothing has none, and is the same as the next one that did.
 */
public final class Turns {
    private final Parts parts;

    Turns(Parts parts) {
        this.parts = parts;
    }

    SessionInfo begin(SessionKey key, String actor) {
        SessionInfo begun = parts.database().transaction(handle -> {
            handle.createUpdate("UPDATE sessions SET turn = turn + 1 WHERE tenant = :tenant AND id = :id")
                    .bind("tenant", key.tenant())
                    .bind("id", key.id())
                    .execute();
            EventLog.append(handle, key, SessionEvent.of("turn.begin").by(actor));
            return SessionTable.find(handle, key).orElseThrow(() -> Sessions.unknown(key));
        });
        parts.signals().tell(EventLog.topic(key));
        return begun;
    }

    void beforeWrite(Live live) {
        SessionInfo info = live.info();
        if (info.autoCheckpoint()) {
            live.checkpointOnce(info.turn(), () -> take(live, info.turn(), Optional.empty()));
        }
    }

    /** Keeps the files as they are now, as those before the current turn. */
    public void checkpoint(Session session) {
        take(session.live(), session.info().turn(), Optional.empty());
    }

    /** Begins a turn and keeps the files as they are now. */
    public Kept checkpoint(Session session, Optional<String> name, String actor) {
        int turn = session.beginTurn(actor);
        take(session.live(), turn, name);
        return kept(session.key()).stream()
                .filter(kept -> kept.turn() == turn)
                .findFirst()
                .orElseThrow(() -> SandboxException.conflict("the checkpoint was removed again by another request"));
    }

    private void take(Live live, int turn, Optional<String> label) {
        SessionKey key = live.info().key();
        try (Custody custody = parts.custody(key)) {
            requireUp(custody);
            List<Entry> known = custody.query(handle -> CheckpointTable.list(handle, key));
            Optional<Entry> same =
                    known.stream().filter(entry -> entry.turn() == turn).findFirst();
            if (same.isPresent() && same.get().id().isPresent()) {
                return; // the first write of a turn is the one that counts
            }
            String name = label.orElse("turn-" + turn);
            custody.transaction(handle -> {
                CheckpointTable.begin(handle, key, turn, name);
                return EventLog.append(
                        handle, key, SessionEvent.of("checkpoint.take").with("turn", turn));
            });
            Checkpoint taken;
            try {
                taken = live.sandbox().checkpoint("turn-" + turn);
            } catch (SandboxException e) {
                custody.query(handle -> {
                    CheckpointTable.remove(handle, key, turn);
                    return turn;
                });
                throw e;
            }
            custody.query(handle -> {
                CheckpointTable.taken(handle, key, turn, taken.id());
                return turn;
            });
            prune(custody, known, live.info().keepCheckpoints() - 1);
        }
    }

    private void prune(Custody custody, List<Entry> others, int keep) {
        others.stream()
                .filter(entry -> entry.turn() >= 0)
                .sorted(Comparator.comparingInt(Entry::turn).reversed())
                .skip(keep)
                .forEach(old -> {
                    try {
                        // The row first: a checkpoint without one is removed by the next settlement.
                        custody.query(handle -> {
                            CheckpointTable.remove(handle, custody.key(), old.turn());
                            return old;
                        });
                        old.id().ifPresent(parts.provider()::deleteCheckpoint);
                    } catch (SandboxException e) {
                        parts.journal().trouble(custody.key(), SessionEvent.of("checkpoint.delete.failed"), e);
                    }
                });
    }

    /** A turn that can be gone back to. */
    public record Kept(int turn, String name, Instant createdAt) {}

    /** The turns that can be gone back to, the newest first. */
    public List<Kept> kept(SessionKey key) {
        return parts.database().query(handle -> CheckpointTable.list(handle, key)).stream()
                .filter(entry -> entry.id().isPresent() && entry.turn() >= 0)
                .map(entry -> new Kept(entry.turn(), entry.name(), entry.createdAt()))
                .toList();
    }

    /** A checkpoint to start from or to compare with, until it is closed, which never fails. */
    public interface Point extends AutoCloseable {
        CheckpointId id();

        @Override
        default void close() {}
    }

    /** The files as they were before a turn, or as they are now if that is the same or if no turn is given. */
    public Point point(Session session, OptionalInt turn) {
        SessionKey key = session.key();
        try (Custody custody = parts.custody(key)) {
            SessionInfo row = custody.row().orElseThrow(() -> Sessions.unknown(key));
            Optional<CheckpointId> kept = turn.isEmpty()
                    ? Optional.empty()
                    : before(custody, row, turn.getAsInt()).flatMap(Entry::id);
            return kept.<Point>map(id -> () -> id).orElseGet(() -> passing(custody, row, session.sandbox()));
        }
    }

    /** The files of a session as they are now, whether it is up, paused or stopped; none if it has to be brought up first. */
    Optional<Point> now(SessionKey key) {
        try (Custody custody = parts.custody(key)) {
            Optional<SessionInfo> row = custody.row().filter(it -> Checkpoints.HAVE_FILES.contains(it.state()));
            return row.flatMap(it -> parts.provider().find(it.sandboxId()))
                    .map(sandbox -> passing(custody, row.get(), sandbox));
        }
    }

    /** One that is removed after use. Its row keeps it from being taken for a leftover; a negative turn is none. */
    private Point passing(Custody custody, SessionInfo row, Sandbox sandbox) {
        int number = -1 - (int) (row.lastEvent() % Integer.MAX_VALUE);
        custody.query(handle -> {
            CheckpointTable.begin(handle, row.key(), number, "fork");
            return number;
        });
        CheckpointId id = sandbox.checkpoint("fork").id();
        custody.query(handle -> {
            CheckpointTable.taken(handle, row.key(), number, id);
            return EventLog.append(
                    handle, row.key(), SessionEvent.of("checkpoint.take").with("turn", row.turn()));
        });
        return new Point() {
            @Override
            public CheckpointId id() {
                return id;
            }

            @Override
            public void close() {
                try {
                    Checkpoints.deleteAt(parts, id);
                    parts.database().query(handle -> {
                        CheckpointTable.remove(handle, row.key(), number);
                        return number;
                    });
                } catch (RuntimeException e) {
                    // What was made of it is made. The next settlement finds what is left of this.
                    parts.journal().trouble(row.key(), SessionEvent.of("checkpoint.delete.failed"), e);
                }
            }
        };
    }

    private static Optional<Entry> before(Custody custody, SessionInfo row, int turn) {
        if (turn < 0 || turn > row.turn()) {
            throw SandboxException.invalid(
                    "session " + row.key() + " had " + row.turn() + " turns, there is no turn " + turn);
        }
        List<Entry> known = custody.query(handle -> CheckpointTable.list(handle, row.key())).stream()
                .filter(entry -> entry.turn() >= 0)
                .toList();
        // The first write at or after that turn; what is older than all that are known may have been forgotten.
        Optional<Entry> next =
                known.stream().filter(entry -> entry.turn() >= turn).min(Comparator.comparingInt(Entry::turn));
        boolean exact = next.filter(entry -> entry.turn() == turn).isPresent();
        boolean complete = row.autoCheckpoint()
                && (known.size() < row.keepCheckpoints() || known.stream().anyMatch(entry -> entry.turn() < turn));
        if ((!exact && !complete) || next.filter(entry -> entry.id().isEmpty()).isPresent()) {
            throw SandboxException.notFound("the files before turn " + turn + " of session " + row.key()
                    + " were not kept; there are those before turns "
                    + known.stream()
                            .filter(entry -> entry.id().isPresent())
                            .map(Entry::turn)
                            .toList());
        }
        return next;
    }

    /** Puts the files back to how they were before a turn. Processes are ended. */
    SessionInfo rollback(Live live, int turn, String actor) {
        SessionKey key = live.info().key();
        try (Custody custody = parts.custody(key)) {
            SessionInfo row = requireUp(custody);
            Optional<CheckpointId> point = before(custody, row, turn).flatMap(Entry::id);
            if (point.isEmpty()) {
                return row;
            }
            live.interrupted();
            live.sandbox().rollback(point.get());
            SessionEvent event = SessionEvent.of("session.rollback").by(actor).with("turn", turn);
            custody.query(handle -> EventLog.append(handle, key, event));
            custody.tell(row, event);
            return row;
        }
    }

    /**
     * Until there was custody, somebody may have put it to sleep or removed it. Then a checkpoint would be of nobody, and
     * a rollback would start what its row says is stopped.
     */
    private static SessionInfo requireUp(Custody custody) {
        SessionInfo row = custody.row().orElseThrow(() -> Sessions.unknown(custody.key()));
        if (row.state() != SessionState.ACTIVE) {
            throw SandboxException.conflict(
                    "session " + row.key() + " is " + row.state() + " since a moment ago; try again");
        }
        return row;
    }
}
