package dev.berth.session;

import dev.berth.sandbox.Checkpoint;
import dev.berth.sandbox.CheckpointId;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.Origin;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxSpec;
import dev.berth.sandbox.SandboxState;
import dev.berth.session.CheckpointTable.Entry;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jdbi.v3.core.Handle;
import org.jspecify.annotations.Nullable;
import org.slf4j.event.Level;

/**
 * Brings a session up, whatever state it was left in.
 *
 * <p>It looks at the row and at the provider, and does one of these:
 *
 * <pre>
 * found                                             done
 * no row                                            create
 * sandbox paused, stopped or archived               wake or unpack it
 * sandbox gone                                      make it again from its newest checkpoint, or from nothing; note the loss
 * sandbox there, supervisor or agent silent         start that again
 * agent's conversation gone                         a new one in the same sandbox, noted as replaced
 * row in a passing state                            somebody died there: finish it, or undo it
 * provider refuses or cannot be reached             error, with the reason and a time before which it is not tried again
 * </pre>
 *
 * All of it happens in custody of the session. Three rules make it safe to be killed at any instruction. The row is
 * written before the sandbox is made. The sandbox's name follows from the key, so whoever comes next finds it, and nobody
 * can make a second one. And a sandbox is given up only when the provider says that it is gone; any other trouble leaves
 * it and its row as they are.
 */
final class BringUp {
    private static final Duration FIRST_RETRY = Duration.ofSeconds(1);
    private static final Duration LAST_RETRY = Duration.ofMinutes(1);

    private final Parts parts;
    private final Health health;
    private final Packing packing;
    private final Removal removal;
    private final PutToSleep sleep;

    BringUp(Parts parts, Packing packing, Removal removal, PutToSleep sleep) {
        this.parts = parts;
        this.health = new Health(parts.config(), parts.journal());
        this.packing = packing;
        this.removal = removal;
        this.sleep = sleep;
    }

    /** Brings it up as it is, or as a new one by {@code spec}. */
    Live resolve(SessionKey key, SessionSpec spec) {
        return resolve(key, spec, _ -> {});
    }

    /** Brings it up as it is, if its row is such when nobody else is at it. */
    Live resolve(SessionKey key, Predicate<SessionInfo> such) {
        return resolve(key, parts.config().spec(), found -> {
            if (found.filter(such).isEmpty()) {
                throw SandboxException.gone("session " + key + " went down or was removed meanwhile");
            }
        });
    }

    /** Brings it up as it is, if there is one when nobody else is at it. */
    Live resolveExisting(SessionKey key) {
        return resolve(key, parts.config().spec(), found -> {
            if (found.filter(SessionInfo::exists).isEmpty()) {
                throw Sessions.unknown(key);
            }
        });
    }

    /** @param check throws if it is not to be brought up as it was found */
    private Live resolve(SessionKey key, SessionSpec spec, Consumer<Optional<SessionInfo>> check) {
        long began = System.nanoTime();
        parts.journal().tell(key, SessionEvent.of("sandbox.resolve.start"), Level.DEBUG);
        try (Custody custody = parts.custody(key)) {
            Live known = parts.lives().get(key);
            if (known != null && known.usable()) {
                return known;
            }
            Optional<SessionInfo> found = custody.row();
            check.accept(found);
            Live up = up(custody, found, spec);
            Live live = known == null ? up : up.replacing(known);
            parts.lives().put(key, live);
            parts.journal().took("resolve", Duration.ofNanos(System.nanoTime() - began));
            return live;
        }
    }

    /**
     * Makes a session that is not there yet. That there is none is not asked for, but seen when its row is written: to
     * most of those who come here the name is random.
     */
    Live make(SessionKey key, SessionSpec spec, Origin origin) {
        long began = System.nanoTime();
        try (Custody custody = parts.custody(key)) {
            Live live = create(custody, Optional.empty(), spec, origin);
            parts.lives().put(key, live);
            parts.journal().took("create", Duration.ofNanos(System.nanoTime() - began));
            return live;
        }
    }

    private Live up(Custody custody, Optional<SessionInfo> found, SessionSpec spec) {
        if (found.isEmpty()) {
            return create(custody, found, spec, Origin.template(spec.template()));
        }
        SessionInfo row = found.get();
        if (row.state() == SessionState.DELETING || row.deleteRequested()) {
            row = removal.remove(custody, row, Optional.empty());
        }
        if (row.state() == SessionState.DESTROYED) {
            return create(custody, Optional.of(row), spec, Origin.template(spec.template()));
        }
        parts.checkLocation(row);
        checkBackOff(row);
        return recover(custody, row);
    }

    /** Looks at the provider and does the one right thing. */
    private Live recover(Custody custody, SessionInfo row) {
        Optional<Sandbox> sandbox;
        try {
            sandbox = parts.provider().find(row.sandboxId());
        } catch (SandboxException e) {
            throw failed(custody, row, e);
        }
        if (sandbox.isPresent()) {
            return wake(custody, row, sandbox.get());
        }
        if (row.archive().isPresent()) {
            return unpack(custody, row, row.archive().get());
        }
        boolean lived = row.times().resumedAt().isPresent();
        if (!lived) {
            Optional<String> origin = custody.query(handle -> SandboxTable.origin(handle, row.key()));
            return makeAgain(custody, row, origin(row, origin), Optional.empty());
        }
        return recreate(custody, row);
    }

    // ---- a sandbox that is there ---------------------------------------------------------------------------------

    private Live wake(Custody custody, SessionInfo row, Sandbox sandbox) {
        SandboxState was;
        try {
            was = sandbox.state();
        } catch (SandboxException e) {
            throw failed(custody, row, e);
        }
        if (was == SandboxState.RUNNING && row.state() == SessionState.ACTIVE) {
            return reuse(custody, row, sandbox);
        }
        SessionInfo waking = was == SandboxState.PAUSED || was == SandboxState.RUNNING
                // Thawing takes a moment. If this server dies in it, the next one finds it paused and thaws it.
                ? enter(custody, row, SessionState.ACTIVE, waken(row), SessionEvent.of("sandbox.resume"), false)
                : enter(
                        custody,
                        row,
                        SessionState.RESUMING,
                        RowChange.none(),
                        SessionEvent.of("sandbox.resume")
                                .with("from", was.name().toLowerCase(Locale.ROOT)),
                        true);
        try {
            sandbox.wake();
            health.awaitAnswer(row.key(), sandbox);
            boolean expected = was != SandboxState.STOPPED
                    || row.state() == SessionState.STOPPED
                    || row.state() == SessionState.RESUMING
                    || row.state() == SessionState.CREATING;
            Optional<Loss> loss = expected
                    ? Optional.empty()
                    : Optional.of(new Loss(Loss.Kind.PROCESSES, "it was found stopped", "the files are all there"));
            return finish(custody, waking, sandbox, loss);
        } catch (SandboxException e) {
            throw failed(custody, waking, e);
        }
    }

    /** Up already, but not known here: this server was started anew, or something in the sandbox was suspected. */
    private Live reuse(Custody custody, SessionInfo row, Sandbox sandbox) {
        try {
            Optional<Loss> loss = health.ensureAnswering(row.key(), sandbox);
            if (loss.isEmpty()) {
                parts.journal().tell(row, SessionEvent.of("sandbox.resolve.reuse"));
            }
            return finish(custody, row, sandbox, loss);
        } catch (SandboxException e) {
            throw failed(custody, row, e);
        }
    }

    /** The last step of every way up: what has to run inside, and the row. */
    private Live finish(Custody custody, SessionInfo before, Sandbox sandbox, Optional<Loss> loss) {
        SessionInfo row = before;
        RowChange change = waken(row);
        boolean changed = row.state() != SessionState.ACTIVE || row.archive().isPresent();
        if (loss.isPresent()) {
            change.json("loss", loss.get());
            changed = true;
        }
        parts.equip(row, sandbox);
        Optional<Resident> resident = parts.residents().apply(row);
        if (resident.isPresent()) {
            boolean started = health.ensureResident(row, sandbox, resident.get());
            String conversation = resident.get().converse(sandbox, row.agentSessionId());
            if (!row.agentSessionId().equals(Optional.of(conversation))) {
                changed = true;
                change.set("agent_session_id", conversation);
                if (row.agentSessionId().isPresent()) {
                    row = custody.become(
                            row,
                            row.state(),
                            RowChange.none(),
                            SessionEvent.of("sandbox.session.replaced").with("restarted", started));
                }
            }
        }
        if (changed) {
            change.clear("archive_name", "archive_sha256", "archive_bytes", "archive_template");
            SessionEvent event = SessionEvent.of("sandbox.active");
            // That one which was being made is up, the provider can tell again; a loss and an archive only the row can.
            boolean lightly = row.state() == SessionState.CREATING && loss.isEmpty() && resident.isEmpty();
            row = lightly
                    ? custody.becomeLightly(row, SessionState.ACTIVE, change, event)
                    : custody.become(row, SessionState.ACTIVE, change, event);
            before.archive().ifPresent(this::dropArchive);
        }
        return new Live(row, sandbox);
    }

    private static RowChange waken(SessionInfo row) {
        RowChange change = RowChange.none()
                .now("resumed_at")
                .now("last_activity_at")
                .clear("paused_at", "stopped_at", "archived_at", "last_error", "retry_at")
                .set("resume_fail_count", 0);
        if (row.state() == SessionState.PAUSING) {
            change.expiresAnew(); // somebody wants it who may not find that its time is over
        }
        return row.state() == SessionState.CREATING ? change.now("created_at") : change;
    }

    /** It is of no more use. If this fails, the next settlement finds it. */
    private void dropArchive(SessionInfo.Archive archive) {
        try {
            parts.archives().delete(archive.name());
        } catch (SandboxException e) {
            parts.journal().trouble("archive.delete.failed", e);
        }
    }

    // ---- one that has to be made ---------------------------------------------------------------------------------

    private Live create(Custody custody, Optional<SessionInfo> destroyed, SessionSpec spec, Origin origin) {
        SessionKey key = custody.key();
        SessionEvent event = SessionEvent.of("sandbox.resolve.create").with("origin", describe(origin));
        SessionInfo row = withRoom(
                custody,
                key,
                () -> custody.transaction(handle -> {
                    checkRoom(handle, key, spec, destroyed);
                    Optional<SessionInfo> made = destroyed.isPresent()
                            ? Optional.empty()
                            : SessionTable.insert(
                                    handle,
                                    key,
                                    parts.provider().name(),
                                    parts.provider().location(),
                                    columns(spec),
                                    describe(origin),
                                    event);
                    return made.orElseGet(() -> anew(handle, key, destroyed, spec, origin, event));
                }));
        custody.tell(row, event);
        return make(custody, row, origin, Optional.empty());
    }

    private static void checkRoom(Handle handle, SessionKey key, SessionSpec spec, Optional<SessionInfo> destroyed) {
        try {
            TenantTable.checkRoom(handle, key, spec.limits().memoryBytes(), true);
        } catch (SandboxException e) {
            // What is there already needs no room, and is no reason to pause another one.
            boolean there = destroyed.isEmpty()
                    && SessionTable.find(handle, key)
                            .filter(row -> row.state() != SessionState.DESTROYED)
                            .isPresent();
            throw there ? thereAlready(key) : e;
        }
    }

    private static SandboxException thereAlready(SessionKey key) {
        return SandboxException.conflict("there is a session " + key + " already");
    }

    /** In the place of one that is destroyed. */
    private SessionInfo anew(
            Handle handle,
            SessionKey key,
            Optional<SessionInfo> known,
            SessionSpec spec,
            Origin origin,
            SessionEvent event) {
        SessionInfo destroyed = known.or(() -> SessionTable.find(handle, key))
                .filter(row -> row.state() == SessionState.DESTROYED)
                .orElseThrow(() -> thereAlready(key));
        RowChange columns = columns(spec)
                .set("provider", parts.provider().name())
                .set("location", parts.provider().location())
                .clear("destroyed_at", "last_error", "retry_at")
                .set("resume_fail_count", 0);
        SessionInfo created = SessionTable.update(handle, destroyed, SessionState.CREATING, columns, event, true);
        SandboxTable.begin(handle, created, describe(origin));
        return created;
    }

    private static RowChange columns(SessionSpec spec) {
        return RowChange.none()
                .set("channel", spec.channel().orElse(null))
                .set("template", spec.template())
                .json("limits", spec.limits())
                .set("memory_bytes", spec.limits().memoryBytes())
                .json("network", spec.network())
                .json("env", spec.env())
                .interval("pause_after", spec.idle().pauseAfter())
                .interval("stop_after", spec.idle().stopAfter())
                .interval("archive_after", spec.idle().archiveAfter())
                .interval("delete_after", spec.idle().deleteAfter())
                .interval("lifetime", spec.idle().lifetime())
                .set("auto_checkpoint", spec.autoCheckpoint())
                .set("keep_checkpoints", spec.keepCheckpoints())
                .json("metadata", spec.metadata())
                .json("surface", spec.surface())
                .json("mounts", spec.mounts())
                .expiry(spec.expiry());
    }

    /** The sandbox is gone: from its newest checkpoint, or from nothing. */
    private Live recreate(Custody custody, SessionInfo row) {
        Set<CheckpointId> there =
                parts.provider().checkpoints().stream().map(Checkpoint::id).collect(Collectors.toSet());
        for (Entry entry : custody.query(handle -> CheckpointTable.list(handle, row.key()))) {
            if (entry.id().isPresent() && there.contains(entry.id().get())) {
                return makeAgain(
                        custody,
                        row,
                        Origin.checkpoint(entry.id().get()),
                        Optional.of(new Loss(
                                Loss.Kind.RECENT_FILES,
                                "its sandbox was gone at the provider",
                                "files are as they were before turn " + entry.turn() + ", processes are gone")));
            }
        }
        return makeAgain(
                custody,
                row,
                Origin.template(row.template()),
                Optional.of(new Loss(
                        Loss.Kind.EVERYTHING,
                        "its sandbox was gone at the provider",
                        "it starts from template " + row.template())));
    }

    private Live makeAgain(Custody custody, SessionInfo before, Origin origin, Optional<Loss> loss) {
        SessionEvent event = SessionEvent.of(loss.isPresent() ? "sandbox.resolve.recreate" : "sandbox.resolve.create")
                .with("origin", describe(origin));
        SessionInfo row = withRoom(
                custody,
                before.key(),
                () -> custody.transaction(handle -> {
                    TenantTable.checkRoom(handle, before.key(), before.limits().memoryBytes(), true);
                    SessionInfo creating =
                            SessionTable.update(handle, before, SessionState.CREATING, RowChange.none(), event, true);
                    SandboxTable.begin(handle, creating, describe(origin));
                    return creating;
                }));
        custody.tell(row, event);
        return make(custody, row, origin, loss);
    }

    private Live make(Custody custody, SessionInfo row, Origin origin, Optional<Loss> loss) {
        try {
            Sandbox sandbox = makeOrFind(row, origin);
            health.awaitAnswer(row.key(), sandbox);
            return finish(custody, row, sandbox, loss);
        } catch (SandboxException e) {
            throw failed(custody, row, e);
        }
    }

    private Sandbox makeOrFind(SessionInfo row, Origin origin) {
        try {
            return parts.provider()
                    .create(new SandboxSpec(
                            row.sandboxId(),
                            origin,
                            row.limits(),
                            row.network(),
                            parts.env(row, null),
                            parts.labels(row.key()),
                            row.mounts()));
        } catch (SandboxException e) {
            // A server that lost its connection to the database, and with it the custody, may have made it meanwhile.
            Optional<Sandbox> made =
                    e.code() == ErrorCode.CONFLICT ? parts.provider().find(row.sandboxId()) : Optional.empty();
            return made.orElseThrow(() -> e);
        }
    }

    private Live unpack(Custody custody, SessionInfo before, SessionInfo.Archive archive) {
        SessionEvent event = SessionEvent.of("sandbox.resume").with("from", "archive");
        SessionInfo row = withRoom(
                custody,
                before.key(),
                () -> custody.transaction(handle -> {
                    TenantTable.checkRoom(handle, before.key(), before.limits().memoryBytes(), true);
                    SessionInfo resuming =
                            SessionTable.update(handle, before, SessionState.RESUMING, RowChange.none(), event, true);
                    SandboxTable.begin(handle, resuming, "archive:" + archive.name());
                    return resuming;
                }));
        custody.tell(row, event);
        try {
            Sandbox sandbox =
                    packing.unpack(archive, content -> makeOrFind(row, Origin.packed(archive.template(), content)));
            health.awaitAnswer(row.key(), sandbox);
            return finish(custody, row, sandbox, Optional.empty());
        } catch (SandboxException e) {
            throw failed(custody, row, e);
        } catch (IOException e) {
            throw failed(
                    custody,
                    row,
                    SandboxException.unavailable("could not unpack " + archive.name() + ": " + e.getMessage(), e));
        }
    }

    // ---- room ----------------------------------------------------------------------------------------------------

    private interface Entering {
        SessionInfo enter();
    }

    /** Into a state that counts against the tenant's limits. */
    private SessionInfo enter(
            Custody custody,
            SessionInfo before,
            SessionState next,
            RowChange change,
            SessionEvent event,
            boolean durable) {
        SessionInfo row = withRoom(
                custody,
                before.key(),
                () -> custody.transaction(handle -> {
                    if (!SessionState.LIVE.contains(before.state())) {
                        TenantTable.checkRoom(
                                handle, before.key(), before.limits().memoryBytes(), false);
                    }
                    return SessionTable.update(handle, before, next, change, event, durable);
                }));
        custody.tell(row, event);
        return row;
    }

    /** Pauses idle sessions of the same tenant until there is room, if the tenant wants that and it can help. */
    private SessionInfo withRoom(Custody custody, SessionKey key, Entering entering) {
        while (true) {
            try {
                return entering.enter();
            } catch (SandboxException e) {
                Object limit = e.details().get(SandboxException.LIMIT);
                boolean helps = "sessions".equals(limit) || "memory_bytes".equals(limit);
                if (!helps || !makeRoom(custody, key)) {
                    throw e;
                }
            }
        }
    }

    private boolean makeRoom(Custody custody, SessionKey key) {
        boolean wants = custody.query(handle -> TenantTable.find(handle, key.tenant()))
                .map(TenantLimits::makesRoom)
                .orElse(false);
        if (!wants) {
            return false;
        }
        for (SessionKey idle : custody.query(handle -> TenantTable.idle(handle, key.tenant()))) {
            if (!idle.equals(key)) {
                try (Custody other = custody.beside(idle, parts.locks()).orElse(null)) {
                    if (other != null && sleep.pauseForRoom(other)) {
                        return true;
                    }
                }
            }
        }
        return false;
    }

    // ---- trouble -------------------------------------------------------------------------------------------------

    private static void checkBackOff(SessionInfo row) {
        Optional<Instant> retryAt = row.retryAt().filter(at -> row.state() == SessionState.ERROR);
        Duration wait = Duration.between(Instant.now(), retryAt.orElse(Instant.EPOCH));
        if (wait.isPositive()) {
            throw SandboxException.unavailable("session " + row.key() + " could not be brought up ("
                            + row.lastError().orElse("unknown") + "); it is tried again in "
                            + Math.max(1, wait.toSeconds()) + " s")
                    .with(SandboxException.RETRY_AFTER_MS, wait.toMillis());
        }
    }

    /** Notes that it failed, leaves everything else alone, and gives the exception back to be thrown. */
    private SandboxException failed(Custody custody, SessionInfo row, SandboxException e) {
        if (e.code() == ErrorCode.CONFLICT) {
            // Somebody else has the row or the sandbox: it is theirs to tell how it is.
            return e;
        }
        boolean hopeless = row.times().resumedAt().isEmpty()
                && (e.code() == ErrorCode.INVALID
                        || e.code() == ErrorCode.NOT_FOUND
                        || e.code() == ErrorCode.UNSUPPORTED);
        Duration pause = backOff(row.resumeFailCount());
        RowChange change = RowChange.none()
                .set("last_error", e.code().wireName() + ": " + e.getMessage())
                .set("resume_fail_count", row.resumeFailCount() + 1);
        SessionEvent event = SessionEvent.of("sandbox.resolve.failed")
                .with("code", e.code().wireName())
                .with("count", row.resumeFailCount() + 1);
        try {
            @Nullable
            Object _ = hopeless
                    ? custody.become(row, SessionState.DESTROYED, change.now("destroyed_at"), event)
                    : custody.become(row, SessionState.ERROR, change.fromNow("retry_at", pause), event);
            if (hopeless) {
                custody.query(handle -> SandboxTable.end(handle, row.key(), "never made"));
            }
        } catch (SandboxException unwritten) {
            e.addSuppressed(unwritten);
        }
        return e;
    }

    static Duration backOff(int failures) {
        Duration pause = FIRST_RETRY.multipliedBy(1L << Math.min(failures, 10));
        return pause.compareTo(LAST_RETRY) < 0 ? pause : LAST_RETRY;
    }

    // ---- origins as they are written down ------------------------------------------------------------------------

    private static String describe(Origin origin) {
        return switch (origin) {
            case Origin.Template(String name) -> "template:" + name;
            case Origin.FromCheckpoint(CheckpointId id) -> "checkpoint:" + id;
            case Origin.Packed _ -> "archive";
        };
    }

    private static Origin origin(SessionInfo row, Optional<String> written) {
        return written.filter(text -> text.startsWith("checkpoint:"))
                .map(text -> Origin.checkpoint(new CheckpointId(text.substring("checkpoint:".length()))))
                .orElse(Origin.template(row.template()));
    }
}
