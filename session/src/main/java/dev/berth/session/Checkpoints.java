package dev.berth.session;

import dev.berth.sandbox.Checkpoint;
import dev.berth.sandbox.CheckpointId;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.KeptTable.Left;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.slf4j.event.Level;

/**
 * Checkpoints that are kept until somebody deletes them, whatever becomes of their session. They are of files alone;
 * sessions that {@linkplain Sessions#create(SessionKey, SessionSpec, KeptCheckpoint) start} from one have a copy of
 * theirs, so one can be deleted while such a session goes on.
 *
 * <p>Its row is there before a checkpoint is taken, and goes after it is gone at the provider. So whatever a server
 * leaves that dies in between has a row that tells of it, by which {@link #settle} removes it.
 */
public final class Checkpoints {
    private static final Pattern NAME = Pattern.compile("[^\\p{Cntrl}]{1,200}");
    private static final int ID = 20;
    private static final String ID_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789";
    private static final int MOST = 1000;

    /** In these a session has a sandbox whose files can be kept as they are. */
    static final Set<SessionState> HAVE_FILES =
            EnumSet.of(SessionState.ACTIVE, SessionState.PAUSED, SessionState.STOPPED);

    private final Parts parts;
    private final Function<SessionKey, Session> bringUp;
    private final RandomGenerator random;

    Checkpoints(Parts parts, Function<SessionKey, Session> bringUp, RandomGenerator random) {
        this.parts = parts;
        this.bringUp = bringUp;
        this.random = random;
    }

    /**
     * Keeps the files of a session as they are now. One that is paused or stopped stays so; one that is archived is brought
     * up for it.
     *
     * @param name unique among those of the tenant
     * @throws SandboxException {@code not_found} if there is no such session, {@code conflict} if there is a checkpoint of
     *     that name
     */
    public KeptCheckpoint keep(SessionKey key, Optional<String> name, String actor) {
        name.ifPresent(Checkpoints::checkName);
        return onceItHasFiles(key, () -> take(key, name, Optional.empty(), actor));
    }

    /**
     * As {@link #keep}, for a name that may be taken: it goes over to the new checkpoint when that is there, and the one that
     * had it is removed then. So there is one of that name at any time, whatever fails.
     */
    public KeptCheckpoint replace(SessionKey key, String name, String actor) {
        checkName(name);
        return onceItHasFiles(key, () -> take(key, Optional.empty(), Optional.of(name), actor));
    }

    private KeptCheckpoint onceItHasFiles(SessionKey key, Supplier<KeptCheckpoint> take) {
        SessionInfo row = there(parts.database().query(handle -> SessionTable.find(handle, key)), key);
        if (HAVE_FILES.contains(row.state())) {
            return take.get();
        }
        try (Session _ = bringUp.apply(key)) {
            return take.get();
        }
    }

    /**
     * @param name that it has from the beginning
     * @param taken the name that it gets in the end, from another if that has it
     */
    private KeptCheckpoint take(SessionKey key, Optional<String> name, Optional<String> taken, String actor) {
        try (Custody custody = parts.custody(key)) {
            SessionInfo row = there(custody.row(), key);
            parts.checkLocation(row);
            if (!HAVE_FILES.contains(row.state())) {
                throw SandboxException.conflict(
                        "session " + key + " is " + row.state() + " since a moment ago; try again");
            }
            Sandbox sandbox = parts.provider()
                    .find(row.sandboxId())
                    .orElseThrow(() -> SandboxException.gone("the sandbox of session " + key + " is gone"));
            String id = newId();
            SessionEvent event = SessionEvent.of("checkpoint.keep").by(actor).with("checkpoint", id);
            custody.transaction(handle -> {
                TenantTable.checkDisk(handle, key);
                KeptTable.begin(handle, id, row, name);
                return EventLog.append(handle, key, event);
            });
            custody.tell(row, event);
            Checkpoint point;
            try {
                point = sandbox.checkpoint(KeptTable.nameAtProvider(id));
            } catch (SandboxException e) {
                custody.query(handle -> KeptTable.remove(handle, id));
                throw e;
            }
            long bytes = sandbox.usage().diskBytes();
            return taken.map(it -> takeName(custody, it, id, point, bytes))
                    .orElseGet(() -> custody.query(handle -> KeptTable.taken(handle, id, point.id(), bytes)));
        }
    }

    private KeptCheckpoint takeName(Custody custody, String name, String id, Checkpoint point, long bytes) {
        List<Left> before = new ArrayList<>();
        KeptCheckpoint kept = custody.transaction(handle -> {
            before.addAll(KeptTable.giveUpName(handle, custody.key().tenant(), name));
            KeptTable.name(handle, id, name);
            return KeptTable.taken(handle, id, point.id(), bytes);
        });
        for (Left old : before) {
            try {
                if (old.location().equals(parts.provider().location())) {
                    remove(old.id(), old.checkpoint());
                }
            } catch (SandboxException e) {
                // It is noted that it is to be removed, so it will be.
                parts.journal()
                        .trouble(
                                old.session(),
                                SessionEvent.of("checkpoint.delete.failed").with("checkpoint", old.id()),
                                e);
            }
        }
        return kept;
    }

    private static SessionInfo there(Optional<SessionInfo> row, SessionKey key) {
        return row.filter(SessionInfo::exists).orElseThrow(() -> Sessions.unknown(key));
    }

    private static void checkName(String name) {
        if (!NAME.matcher(name).matches()) {
            throw SandboxException.invalid(
                    "the name of a checkpoint has 1 to 200 characters, and no control characters");
        }
    }

    private String newId() {
        StringBuilder id = new StringBuilder();
        for (int i = 0; i < ID; i++) {
            id.append(ID_CHARACTERS.charAt(random.nextInt(ID_CHARACTERS.length())));
        }
        return id.toString();
    }

    public Optional<KeptCheckpoint> find(String tenant, String idOrName) {
        return parts.database().query(handle -> KeptTable.find(handle, tenant, idOrName));
    }

    /**
     * Those of a tenant, the newest first.
     *
     * @param session the id of the one they were taken of
     * @param after the time and the id of the last one on the page before
     */
    public List<KeptCheckpoint> list(
            String tenant,
            Optional<String> session,
            Optional<String> name,
            Optional<SessionQuery.Cursor> after,
            int limit) {
        if (limit < 1 || limit > MOST) {
            throw SandboxException.invalid("a page has 1 to " + MOST + " checkpoints, not " + limit);
        }
        return parts.database().query(handle -> KeptTable.list(handle, tenant, session, name, after, limit));
    }

    /** Removes one, by its id. Sessions that were started from it keep their files. False if there is none. */
    public boolean delete(String tenant, String id) {
        Optional<KeptCheckpoint> kept = find(tenant, id).filter(it -> it.id().equals(id));
        if (kept.isEmpty()) {
            return false;
        }
        checkLocation(kept.get());
        if (!parts.database().query(handle -> KeptTable.beginRemoval(handle, id))) {
            return false;
        }
        remove(id, Optional.of(kept.get().checkpoint()));
        return true;
    }

    void checkLocation(KeptCheckpoint kept) {
        if (!kept.location().equals(parts.provider().location())) {
            throw SandboxException.conflict(
                    "checkpoint " + kept.id() + " is at " + kept.location() + ", which this server ("
                            + parts.provider().location() + ") does not serve; ask the server that does");
        }
    }

    private void remove(String id, Optional<CheckpointId> checkpoint) {
        checkpoint.ifPresent(it -> deleteAt(parts, it));
        parts.database().query(handle -> KeptTable.remove(handle, id));
    }

    /** Deletes one that somebody else may delete at the same time. */
    static void deleteAt(Parts parts, CheckpointId checkpoint) {
        try {
            parts.provider().deleteCheckpoint(checkpoint);
        } catch (SandboxException e) {
            if (e.code() != ErrorCode.NOT_FOUND) {
                throw e;
            }
        }
    }

    /** Finishes what was left half-removed, undoes what was left half-made, forgets what is gone. */
    void settle(Settlement settlement) {
        // The rows before the provider: one that was there when the rows were read has been taken by then.
        List<Left> rows = parts.database()
                .query(handle -> KeptTable.at(handle, parts.provider().location()));
        Set<CheckpointId> there = rows.isEmpty()
                ? Set.of()
                : parts.provider().checkpoints().stream().map(Checkpoint::id).collect(Collectors.toSet());
        for (Left row : rows) {
            if (row.beingRemoved()) {
                settlement.attempt(row.session(), () -> remove(row.id(), row.checkpoint()));
            } else if (row.checkpoint().isEmpty()) {
                settlement.inCustody(row.session(), custody -> undo(custody, row));
            } else if (!there.contains(row.checkpoint().get())) {
                parts.journal()
                        .tell(
                                row.session(),
                                SessionEvent.of("checkpoint.gone").with("checkpoint", row.id()),
                                Level.WARN);
                parts.database().query(handle -> KeptTable.remove(handle, row.id()));
            }
        }
    }

    private void undo(Custody custody, Left before) {
        boolean halfMade = custody
                .query(handle -> KeptTable.at(handle, parts.provider().location()))
                .stream()
                .anyMatch(
                        row -> row.id().equals(before.id()) && row.checkpoint().isEmpty());
        if (halfMade) {
            parts.provider().checkpoints().stream()
                    .filter(point -> point.sandbox().equals(before.sandbox())
                            && point.name().equals(before.nameAtProvider()))
                    .forEach(point -> deleteAt(parts, point.id()));
            custody.query(handle -> KeptTable.remove(handle, before.id()));
        }
    }
}
