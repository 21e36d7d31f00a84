package dev.berth.session;

import dev.berth.sandbox.Checkpoint;
import dev.berth.sandbox.CheckpointId;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxId;
import dev.berth.session.CheckpointTable.Entry;
import java.time.Duration;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.slf4j.event.Level;

/**
 * Compares the rows with what is really there, and settles the difference: sandboxes, checkpoints and archives that no
 * row owns are removed, rows whose sandbox is gone say so, and what a dead server left half-done is finished or undone.
 *
 * <p>Whatever is looked at first may change before the other side is looked at. So nothing is done on the first look: each
 * difference is looked at again in custody of its session, and only then settled. A row is always written before its
 * sandbox is made, so a sandbox seen without a row, while nobody has custody, is an orphan.
 */
final class Settlement {
    private static final int MOST = 1_000_000;
    /** Conversations go on one day, so their rows stay. What programs make here has a new random id each time. */
    private static final String PASSING_CHANNEL = "e2b";
    /** Long enough for somebody to see what became of one, short enough that those of a busy month are not all there. */
    private static final Duration FORGOTTEN_AFTER = Duration.ofDays(1);

    /** An archive is stored before the row says so, in custody of a session whose name it does not tell. */
    private final Set<String> strangeArchives = new HashSet<>();

    private final Parts parts;
    private final Removal removal;
    private final Packing packing;
    private final Checkpoints kept;

    Settlement(Parts parts, Removal removal, Packing packing, Checkpoints kept) {
        this.parts = parts;
        this.kept = kept;
        this.removal = removal;
        this.packing = packing;
    }

    void settle() {
        packing.sweep();
        Map<SandboxId, Sandbox> sandboxes = ownSandboxes();
        Map<SessionKey, SessionInfo> rows = new HashMap<>();
        Set<SessionState> all = EnumSet.complementOf(EnumSet.of(SessionState.DESTROYED));
        parts.database().query(handle -> SessionTable.list(handle, Optional.empty(), all, MOST)).stream()
                .filter(row -> row.location().equals(parts.provider().location()))
                .forEach(row -> rows.put(row.key(), row));
        rows.values().stream()
                .filter(row -> SessionState.PASSING.contains(row.state())
                        || (needsSandbox(row) && !sandboxes.containsKey(row.sandboxId())))
                .forEach(row -> inCustody(row.key(), this::settleRow));
        for (Sandbox sandbox : sandboxes.values()) {
            SessionKey key = keyOf(sandbox);
            SessionInfo row = rows.get(key);
            if (row == null || row.state() == SessionState.ARCHIVED) {
                inCustody(key, custody -> settleSandbox(custody, sandbox));
            }
        }
        kept.settle(this);
        settleCheckpoints(rows);
        settleArchives();
        parts.database().query(handle -> SessionTable.forget(handle, PASSING_CHANNEL, FORGOTTEN_AFTER));
    }

    interface Settling {
        void settle(Custody custody);
    }

    /** Of a session that somebody else is busy with, that one knows better. */
    void inCustody(SessionKey key, Settling settling) {
        attempt(key, () -> {
            try (Custody custody = parts.tryCustody(key).orElse(null)) {
                if (custody != null) {
                    settling.settle(custody);
                }
            }
        });
    }

    /** What fails for one session must not keep the others from being settled. */
    void attempt(SessionKey key, Runnable settling) {
        try {
            settling.run();
        } catch (SandboxException e) {
            // A conflict is another server's sandbox, and that one will see to it.
            if (e.code() != ErrorCode.CONFLICT) {
                parts.journal().trouble(key, SessionEvent.of("settlement.failed"), e);
            }
        }
    }

    private void settleRow(Custody custody) {
        SessionInfo row = custody.row().orElse(null);
        if (row == null || row.state() == SessionState.DESTROYED) {
            return;
        }
        if (row.state() == SessionState.DELETING) {
            removal.remove(custody, row, row.loss());
            return;
        }
        Optional<Sandbox> sandbox = parts.provider().find(row.sandboxId());
        if (sandbox.isEmpty()) {
            settleWithout(custody, row);
        } else if (SessionState.PASSING.contains(row.state())) {
            settlePassing(custody, row, sandbox.get());
        }
    }

    private void settleWithout(Custody custody, SessionInfo row) {
        if (row.archive().isPresent()) {
            if (row.state() != SessionState.ARCHIVED) {
                PutToSleep.undone(custody, row);
            }
        } else if (row.state() == SessionState.CREATING
                && row.times().resumedAt().isEmpty()) {
            custody.query(handle -> SandboxTable.end(handle, row.key(), "never made"));
            custody.become(
                    row,
                    SessionState.DESTROYED,
                    RowChange.none().now("destroyed_at"),
                    SessionEvent.of("sandbox.undone"));
        } else if (row.state() != SessionState.ERROR) {
            parts.close(row.key());
            PutToSleep.gone(custody, row);
        }
    }

    private static void settlePassing(Custody custody, SessionInfo row, Sandbox sandbox) {
        SessionEvent settled = SessionEvent.of("sandbox.settled").with("was", row.state());
        switch (sandbox.state()) {
            case RUNNING ->
                custody.become(row, SessionState.ACTIVE, RowChange.none().now("resumed_at"), settled);
            case PAUSED -> {
                if (row.state() == SessionState.CREATING) {
                    sandbox.wake();
                    custody.become(row, SessionState.ACTIVE, RowChange.none().now("resumed_at"), settled);
                } else {
                    custody.become(row, SessionState.PAUSED, RowChange.none().now("paused_at"), settled);
                }
            }
            case STOPPED -> {
                if (row.state() == SessionState.CREATING) {
                    custody.become(
                            row,
                            SessionState.ERROR,
                            RowChange.none().now("resumed_at").set("last_error", "stopped: it was not up yet"),
                            settled);
                } else {
                    custody.become(row, SessionState.STOPPED, RowChange.none().now("stopped_at"), settled);
                }
            }
            case DESTROYED -> PutToSleep.gone(custody, row);
        }
    }

    private void settleSandbox(Custody custody, Sandbox sandbox) {
        Optional<SessionInfo> row = custody.row();
        boolean owned = row.isPresent()
                && row.get().state() != SessionState.DESTROYED
                && row.get().state() != SessionState.ARCHIVED;
        if (!owned) {
            sandbox.destroy();
            custody.query(handle -> SandboxTable.end(handle, custody.key(), "orphan"));
            parts.journal()
                    .tell(
                            custody.key(),
                            SessionEvent.of("sandbox.orphan.removed").with("sandbox", sandbox.id()),
                            Level.WARN);
        }
    }

    // ---- checkpoints and archives --------------------------------------------------------------------------------

    private void settleCheckpoints(Map<SessionKey, SessionInfo> rows) {
        parts.database().query(CheckpointTable::forgetAbandoned);
        Map<SandboxId, List<Checkpoint>> found =
                parts.provider().checkpoints().stream().collect(Collectors.groupingBy(Checkpoint::sandbox));
        Map<SandboxId, Set<CheckpointId>> keptOf =
                parts
                        .database()
                        .query(handle -> KeptTable.at(handle, parts.provider().location()))
                        .stream()
                        .collect(Collectors.groupingBy(
                                KeptTable.Left::sandbox,
                                Collectors.flatMapping(left -> left.checkpoint().stream(), Collectors.toSet())));
        for (SessionInfo row : rows.values()) {
            Set<CheckpointId> there = found.getOrDefault(row.sandboxId(), List.of()).stream()
                    .map(Checkpoint::id)
                    .collect(Collectors.toSet());
            List<Entry> known = parts.database().query(handle -> CheckpointTable.list(handle, row.key()));
            Set<CheckpointId> wanted =
                    known.stream().flatMap(entry -> entry.id().stream()).collect(Collectors.toSet());
            there.removeAll(keptOf.getOrDefault(row.sandboxId(), Set.of()));
            if (!there.equals(wanted)
                    || known.stream().anyMatch(entry -> entry.id().isEmpty() && !entry.lost())) {
                inCustody(row.key(), custody -> settleCheckpointsOf(custody, row.sandboxId()));
            }
        }
    }

    private void settleCheckpointsOf(Custody custody, SandboxId sandbox) {
        Set<CheckpointId> there = parts.provider().checkpoints().stream()
                .filter(point -> point.sandbox().equals(sandbox))
                .map(Checkpoint::id)
                .collect(Collectors.toSet());
        for (Entry entry : custody.query(handle -> CheckpointTable.list(handle, custody.key()))) {
            boolean gone = entry.id().isPresent() && !there.remove(entry.id().get());
            if ((entry.id().isEmpty() && !entry.lost()) || (gone && entry.turn() < 0)) {
                custody.query(handle -> {
                    CheckpointTable.remove(handle, custody.key(), entry.turn());
                    return entry;
                });
            } else if (gone) {
                custody.query(handle -> {
                    CheckpointTable.lose(handle, custody.key(), entry.turn());
                    return entry;
                });
            }
        }
        there.removeAll(custody.query(handle -> KeptTable.of(handle, sandbox)));
        there.forEach(stranger -> Checkpoints.deleteAt(parts, stranger));
    }

    /** One that no row names, and that none named at the settlement before this either. */
    private void settleArchives() {
        Set<String> strange = new HashSet<>(parts.archives().names());
        strange.removeIf(name -> !packing.isOurs(name));
        strange.removeAll(parts.database()
                .query(handle -> handle.createQuery("SELECT archive_name FROM sessions WHERE archive_name IS NOT NULL")
                        .mapTo(String.class)
                        .set()));
        for (String name : strange) {
            if (strangeArchives.contains(name)) {
                parts.archives().delete(name);
            }
        }
        strangeArchives.retainAll(strange);
        strangeArchives.addAll(strange);
    }

    // ---- what is ours --------------------------------------------------------------------------------------------

    private Map<SandboxId, Sandbox> ownSandboxes() {
        Map<SandboxId, Sandbox> own = new HashMap<>();
        for (Sandbox sandbox : parts.provider().list()) {
            try {
                Map<String, String> labels = sandbox.info().labels();
                if (parts.installation().equals(labels.get(Parts.INSTALLATION_LABEL))) {
                    own.put(sandbox.id(), sandbox);
                }
            } catch (SandboxException e) {
                if (e.code() != ErrorCode.GONE) {
                    throw e;
                }
            }
        }
        return own;
    }

    private static SessionKey keyOf(Sandbox sandbox) {
        Map<String, String> labels = sandbox.info().labels();
        return new SessionKey(
                labels.getOrDefault(Parts.TENANT_LABEL, ""), labels.getOrDefault(Parts.SESSION_LABEL, ""));
    }

    private static boolean needsSandbox(SessionInfo row) {
        return row.state() == SessionState.ACTIVE
                || row.state() == SessionState.PAUSED
                || row.state() == SessionState.STOPPED;
    }
}
