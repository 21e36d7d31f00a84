package dev.berth.session;

import dev.berth.sandbox.CheckpointId;
import dev.berth.sandbox.Limits;
import dev.berth.sandbox.Network;
import dev.berth.sandbox.Origin;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxProvider;
import dev.berth.sandbox.Usage;
import dev.berth.session.SessionTable.Activity;
import dev.berth.session.store.Database;
import dev.berth.session.store.Signals;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import org.slf4j.MDC;

/**
 * The sessions of all tenants: a conversation keeps its computer, whatever fails.
 *
 * <p>{@link #resolve} is the way of every request. A session that is up in this process is returned at once: one look into
 * a map, one compare-and-set. Any other is brought up by {@link BringUp} on a thread of its own, once, however many ask
 * for it meanwhile; one who gives up waiting changes nothing for the others.
 */
public final class Sessions implements AutoCloseable {
    private static final Duration STOPPING = Duration.ofSeconds(10);

    private final Parts parts;
    private final BringUp bringUp;
    private final PutToSleep sleep;
    private final Removal removal;
    private final Checkpoints checkpoints;
    private final Settlement settlement;
    private final Janitor janitor;
    private final Ends ends;
    private final Turns turns;
    private final Forks forks;
    private final EventLog events;
    private final PreviewLinks previews;
    private final Map<SessionKey, CompletableFuture<Live>> coming = new ConcurrentHashMap<>();
    private final ScheduledExecutorService housekeeping = Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().daemon().name("sessions").factory());
    private volatile Map<SessionState, Long> counts = Map.of();
    private final List<Consumer<SessionKey>> whenUp = new CopyOnWriteArrayList<>();

    private Sessions(Parts parts, byte[] secret) {
        this.parts = parts;
        Packing packing = new Packing(parts.config().spool(), parts.archives(), parts.installation());
        this.removal = new Removal(parts);
        this.sleep = new PutToSleep(parts, packing);
        this.bringUp = new BringUp(parts, packing, removal, sleep);
        this.checkpoints = new Checkpoints(parts, this::resolveExisting, new SecureRandom());
        this.settlement = new Settlement(parts, removal, packing, checkpoints);
        this.turns = new Turns(parts);
        this.forks = new Forks(parts, turns, this::resolveExisting, this::fork);
        this.previews = new PreviewLinks(secret, InstantSource.system(), this);
        this.events = new EventLog(
                parts.database(),
                parts.signals(),
                parts.journal(),
                parts.config().auditCommands());
        this.janitor = new Janitor(parts, sleep, removal, this::flush);
        this.ends = new Ends(parts, janitor);
    }

    /**
     * Opens the sessions of a database, settles what was left by servers before, and begins to look after them.
     *
     * @param secret that preview links are signed with; the same on every server
     * @param residents what has to run in the sandbox of a session, if anything
     */
    public static Sessions open(
            SessionsConfig config,
            SandboxProvider provider,
            Database database,
            Archives archives,
            MeterRegistry meters,
            byte[] secret,
            Function<SessionInfo, Optional<Resident>> residents) {
        String installation = database.query(handle -> handle.createQuery("SELECT id::text FROM installation")
                .mapTo(String.class)
                .one());
        Signals signals = new Signals(database);
        Map<SessionKey, Live> lives = new ConcurrentHashMap<>();
        Parts parts = new Parts(
                config,
                provider,
                database,
                archives,
                signals,
                new Journal(meters, signals),
                new KeyLocks(),
                lives,
                new ConcurrentHashMap<>(),
                new Samples(lives, InstantSource.system()),
                installation,
                residents,
                new AtomicReference<>(Equipment.NONE));
        Sessions sessions = new Sessions(parts, secret);
        sessions.settlement.settle();
        sessions.meter(meters);
        sessions.janitor.start();
        parts.samples().start();
        sessions.every(config.flush(), "flush.failed", sessions::flush);
        sessions.every(config.settle(), "settlement.failed", sessions.settlement::settle);
        sessions.every(config.janitor(), "count.failed", sessions::count);
        return sessions;
    }

    // ---- the way of a request ------------------------------------------------------------------------------------

    /** What a session is made by where nobody says otherwise. */
    public SessionSpec spec() {
        return parts.config().spec();
    }

    /** The session of a conversation, up, as it is; made with the defaults if there is none. */
    public Session resolve(SessionKey key) {
        return resolve(key, spec());
    }

    /** The session of a conversation, up. One that is not there yet is made by {@code spec}. */
    public Session resolve(SessionKey key, SessionSpec spec) {
        while (true) {
            Live live = parts.lives().get(key);
            if (live == null || !live.usable()) {
                live = await(key, come(key, spec));
            }
            if (live.hold()) {
                return new Session(this, live);
            }
        }
    }

    /**
     * The session of a conversation, up, if it is such a one still when nobody else is at it. Between a look at a session and
     * {@link #resolve(SessionKey)} it may be stopped or removed, and would be woken or made anew.
     *
     * @throws SandboxException {@code gone} if it is not such a one any more
     */
    public Session resolve(SessionKey key, Predicate<SessionInfo> such) {
        // Not shared with those who want it in any case.
        CompletableFuture<Live> come = new CompletableFuture<>();
        start(key, () -> bringUp.resolve(key, such), come);
        Live live = await(key, come);
        if (!live.hold()) {
            throw SandboxException.gone("session " + key + " went down meanwhile");
        }
        return new Session(this, live);
    }

    /** The session of a conversation, up, as it is. One that is not there, or was just removed, is not made for this. */
    Session resolveExisting(SessionKey key) {
        while (true) {
            Live live = parts.lives().get(key);
            if (live == null || !live.usable()) {
                CompletableFuture<Live> come = new CompletableFuture<>();
                start(key, () -> bringUp.resolveExisting(key), come);
                live = await(key, come);
            }
            if (live.hold()) {
                return new Session(this, live);
            }
        }
    }

    /** The session if it is up in this server; it is not brought up for this. */
    public Optional<Session> ifUp(SessionKey key) {
        Live live = parts.lives().get(key);
        return live != null && live.usable() && live.hold() ? Optional.of(new Session(this, live)) : Optional.empty();
    }

    /**
     * Makes a session and brings it up.
     *
     * @throws SandboxException {@code conflict} if there is one of that key
     */
    public Session create(SessionKey key, SessionSpec spec) {
        return create(key, spec, Origin.template(spec.template()));
    }

    /**
     * As {@link #create(SessionKey, SessionSpec)}, with the files of a kept checkpoint, and of its template. All else is as
     * the spec says; see {@link KeptCheckpoint#over}.
     *
     * @throws SandboxException {@code not_found} if the checkpoint was deleted meanwhile
     */
    public Session create(SessionKey key, SessionSpec spec, KeptCheckpoint from) {
        checkpoints.checkLocation(from);
        return create(key, spec.withTemplate(from.template()), Origin.checkpoint(from.checkpoint()));
    }

    private Session create(SessionKey key, SessionSpec spec, Origin origin) {
        // Not shared with those who want it as it is: to them it is a session, to this call a conflict.
        CompletableFuture<Live> made = new CompletableFuture<>();
        start(key, () -> bringUp.make(key, spec, origin), made);
        Live live = await(key, made);
        return live.hold() ? new Session(this, live) : resolveExisting(key);
    }

    /** What to do too, on the thread that did it, after a session was brought up in this server. */
    public void whenUp(Consumer<SessionKey> action) {
        whenUp.add(action);
    }

    /** What computers with a network are given from now on. */
    public void equipment(Equipment equipment) {
        parts.equipment().set(equipment);
    }

    private interface Coming {
        Live come();
    }

    private CompletableFuture<Live> come(SessionKey key, SessionSpec spec) {
        return coming.computeIfAbsent(key, _ -> {
            CompletableFuture<Live> result = new CompletableFuture<>();
            start(key, () -> bringUp.resolve(key, spec), result);
            return result;
        });
    }

    private void start(SessionKey key, Coming way, CompletableFuture<Live> result) {
        Map<String, String> context = MDC.getCopyOfContextMap();
        Thread.ofVirtual().name("bring-up " + key).start(() -> {
            if (context != null) {
                MDC.setContextMap(context);
            }
            try {
                Live live = way.come();
                live.info().expiry().ifPresent(expiry -> janitor.expectStep(expiry.after()));
                coming.remove(key, result);
                result.complete(live);
                whenUp.forEach(action -> action.accept(key));
            } catch (Throwable e) {
                coming.remove(key, result);
                result.completeExceptionally(e);
            }
        });
    }

    private static Live await(SessionKey key, CompletableFuture<Live> coming) {
        try {
            return coming.get();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("interrupted while waiting for session " + key, e);
        } catch (ExecutionException e) {
            switch (e.getCause()) {
                case SandboxException known -> throw known;
                case RuntimeException unknown -> throw unknown;
                case null, default -> throw new IllegalStateException("could not bring up session " + key, e);
            }
        }
    }

    // ---- what is known of them -----------------------------------------------------------------------------------

    public Optional<SessionInfo> find(SessionKey key) {
        return parts.database().query(handle -> SessionTable.find(handle, key));
    }

    /** Those of one tenant, or of all, the last used first, without the destroyed ones. */
    public List<SessionInfo> list(Optional<String> tenant, int limit) {
        return list(tenant, EnumSet.complementOf(EnumSet.of(SessionState.DESTROYED)), limit);
    }

    /** As {@link #list(Optional, int)}, but those in certain states. */
    public List<SessionInfo> list(Optional<String> tenant, Set<SessionState> states, int limit) {
        return parts.database().query(handle -> SessionTable.list(handle, tenant, states, limit));
    }

    /** As a query says. */
    public List<SessionInfo> list(SessionQuery query) {
        return parts.database().query(handle -> SessionTable.list(handle, query));
    }

    /** How many sessions a query finds on all its pages together. */
    public long count(SessionQuery query) {
        return parts.database().query(handle -> SessionTable.count(handle, query));
    }

    /**
     * The session of an id, whoever's it is: for ids that are random, and for those who then check that the caller may
     * know of it. It is one of a channel on which nobody chooses the ids, or a tenant could take the name of another's. Of
     * one that is up in this server, this is what this server knows of it, so that it can be asked with every request.
     */
    public Optional<SessionInfo> findById(String id, String channel) {
        Optional<SessionInfo> here = parts.ifUp(id)
                .filter(info -> info.channel().filter(channel::equals).isPresent());
        if (here.isPresent()) {
            return here;
        }
        Optional<SessionInfo> found = parts.database().query(handle -> SessionTable.findById(handle, id, channel));
        found.ifPresent(session -> parts.remember(session.key()));
        return found;
    }

    /** Whose computer a sandbox is; empty if it belongs to none of these. */
    public Optional<SessionKey> owner(Sandbox sandbox) {
        return parts.owner(sandbox);
    }

    /** What a session uses that is up in this server; this does not count as using it. */
    public Optional<Usage> usage(SessionKey key) {
        Live live = parts.lives().get(key);
        try {
            return live == null || !live.usable()
                    ? Optional.empty()
                    : Optional.of(live.sandbox().usage());
        } catch (SandboxException e) {
            return Optional.empty(); // it went down meanwhile
        }
    }

    /**
     * What a session used while it was up in this server. Only sessions that have an {@link Expiry} are measured, every five
     * seconds; of others, and of one that is gone, this is empty. It is kept in memory, for an hour.
     */
    public UsageHistory samples(SessionKey key) {
        return parts.samples().of(key);
    }

    public EventLog events() {
        return events;
    }

    /** Checkpoints that outlive their session. */
    public Checkpoints checkpoints() {
        return checkpoints;
    }

    public Turns turns() {
        return turns;
    }

    public Optional<TenantLimits> tenant(String tenant) {
        return parts.database().query(handle -> TenantTable.find(handle, tenant));
    }

    /** Makes a tenant, or changes its limits. */
    public void tenant(String tenant, TenantLimits limits) {
        SessionKey.of(tenant, "x"); // for its name to be checked
        parts.database().query(handle -> {
            TenantTable.put(handle, tenant, limits);
            return tenant;
        });
    }

    /** What each tenant uses now. */
    public List<TenantUsage> usage() {
        return parts.database().query(TenantTable::usage);
    }

    public List<String> tenants() {
        return parts.database().query(TenantTable::list);
    }

    // ---- what can be asked of them -------------------------------------------------------------------------------

    /** Freezes it now, even if it is being used. */
    public void pause(SessionKey key) {
        inCustody("pause", key, (custody, row) -> sleep.pause(custody, row, Optional.empty()));
    }

    /** Ends its processes now. */
    public void stop(SessionKey key) {
        inCustody("stop", key, (custody, row) -> sleep.stop(custody, row, Optional.empty()));
    }

    /** Packs its files away now. */
    public void archive(SessionKey key) {
        inCustody("archive", key, (custody, row) -> {
            SessionInfo stopped = row;
            if (row.state() != SessionState.STOPPED && row.state() != SessionState.ARCHIVED) {
                sleep.stop(custody, row, Optional.empty());
                stopped = custody.row().orElseThrow(() -> unknown(key));
            }
            return sleep.archive(custody, stopped);
        });
    }

    /** Removes its computer and everything on it. Asking for it is kept: what cannot be removed now is removed later. */
    public void delete(SessionKey key) {
        inCustody("delete", key, (custody, row) -> {
            if (row.state() == SessionState.DESTROYED) {
                return true;
            }
            SessionInfo asked = row.deleteRequested()
                    ? row
                    : custody.become(
                            row,
                            row.state(),
                            RowChange.none().set("delete_requested", true),
                            SessionEvent.of("session.delete.requested"));
            removal.remove(custody, asked, Optional.empty());
            return true;
        });
    }

    /**
     * Lets its time end so long from now, whether that is sooner or later than it was to be. If it is just coming up, this
     * waits until it is.
     *
     * @param fromNow a negative time is now
     * @throws SandboxException {@code not_found} if there is no such session, {@code conflict} if it is not up, or if its
     *     time is over and its end has begun
     */
    public void expire(SessionKey key, Duration fromNow) {
        ends.set(key, fromNow);
    }

    /** As {@link #expire}, but never sooner than it was to be, and without waiting. */
    public void extend(SessionKey key, Duration fromNow) {
        ends.putOff(key, fromNow);
    }

    /** Changes how long it stays up each time, beginning with this time, and what becomes of it then; or lets it stay. */
    public void expiry(SessionKey key, Optional<Expiry> expiry) {
        inCustody("change", key, (custody, row) -> {
            if (row.state() == SessionState.DESTROYED) {
                throw unknown(key);
            }
            RowChange change = RowChange.none().expiry(expiry);
            if (!SessionState.LIVE.contains(row.state())) {
                change.clear("expires_at");
            }
            parts.refresh(custody.become(row, row.state(), change, SessionEvent.of("session.expiry.changed")));
            return key;
        });
        expiry.ifPresent(it -> janitor.expectStep(it.after()));
    }

    /** Changes what the surface by which it was made keeps of it. */
    public void surface(SessionKey key, Map<String, String> surface) {
        change(key, RowChange.none().json("surface", surface), "session.surface.changed");
    }

    /** Keeps it up, or lets it go down again when it is idle. */
    public void pin(SessionKey key, boolean pinned) {
        change(key, RowChange.none().set("pinned", pinned), "session.pinned");
    }

    /** Changes which calls in it a person has to allow first. */
    public void permit(SessionKey key, PermissionMode mode) {
        change(key, RowChange.none().set("permission_mode", mode.toString()), "session.permissions.changed");
    }

    public void idle(SessionKey key, IdlePolicy idle) {
        RowChange change = RowChange.none()
                .interval("pause_after", idle.pauseAfter())
                .interval("stop_after", idle.stopAfter())
                .interval("archive_after", idle.archiveAfter())
                .interval("delete_after", idle.deleteAfter())
                .interval("lifetime", idle.lifetime());
        change(key, change, "session.idle.changed");
    }

    public void limit(SessionKey key, Limits limits) {
        inCustody("limit", key, (custody, row) -> {
            parts.checkLocation(row);
            parts.provider().find(row.sandboxId()).ifPresent(sandbox -> sandbox.limit(limits));
            RowChange change = RowChange.none().json("limits", limits).set("memory_bytes", limits.memoryBytes());
            parts.refresh(custody.become(row, row.state(), change, SessionEvent.of("session.limits.changed")));
            return true;
        });
    }

    /** Changes what it may reach, now. */
    public void network(SessionKey key, Network network) {
        inCustody("network", key, (custody, row) -> {
            parts.checkLocation(row);
            SessionInfo changed = custody.become(
                    row,
                    row.state(),
                    RowChange.none().json("network", network),
                    SessionEvent.of("session.network.changed")
                            .with("mode", network.mode().toString()));
            parts.refresh(changed);
            parts.provider().find(row.sandboxId()).ifPresent(sandbox -> parts.equip(changed, sandbox));
            return true;
        });
    }

    /** Puts its files back to how they were before a turn, and ends its processes. */
    public void rollback(SessionKey key, int turn, String actor) {
        try (Session session = resolveExisting(key)) {
            turns.rollback(session.live(), turn, actor);
            parts.equip(session.info(), session.live().sandbox());
        }
    }

    /**
     * Starts a second conversation with the files as they were before a turn of the first, or as they are now. It is of no
     * channel, whatever the first is of: its id was chosen by whoever asks for it.
     *
     * @throws SandboxException {@code conflict} if the second one is there already
     */
    public Session fork(SessionKey key, OptionalInt turn, SessionKey target, String actor) {
        return forks.fork(key, turn, target, actor);
    }

    /**
     * Starts several sessions with the files that one has now, all the same, at one time. Whether that one is up, paused or
     * stopped, it stays so; if it is archived it is brought up. What becomes of each is its own affair.
     *
     * @param targets if the first is of a channel, so are these; so they are to be as the ids of that channel are
     * @param as what each is to be, made of what the first one is
     * @return what became of each, in their order
     * @throws SandboxException {@code not_found} if there is no such session
     */
    public List<Forked> fork(
            SessionKey key,
            List<SessionKey> targets,
            BiFunction<SessionKey, SessionSpec, SessionSpec> as,
            String actor) {
        return forks.fork(key, targets, as, actor);
    }

    private Session fork(SessionKey source, SessionSpec spec, CheckpointId point, SessionKey target, String actor) {
        Session forked = create(target, spec, Origin.checkpoint(point));
        try {
            events.append(target, SessionEvent.of("session.forked").by(actor).with("of", source.id()));
            return forked;
        } catch (RuntimeException e) {
            forked.close();
            throw e;
        }
    }

    /** Links to ports of sessions, for those without a credential. */
    public PreviewLinks previews() {
        return previews;
    }

    SessionInfo lossTold(SessionKey key) {
        return change(key, RowChange.none().clear("loss"), "session.loss.told");
    }

    private SessionInfo change(SessionKey key, RowChange change, String event) {
        return inCustody("change", key, (custody, row) -> {
            SessionInfo changed = custody.become(row, row.state(), change, SessionEvent.of(event));
            parts.refresh(changed);
            return changed;
        });
    }

    private interface Asked<T> {
        T with(Custody custody, SessionInfo row);
    }

    private <T> T inCustody(String what, SessionKey key, Asked<T> asked) {
        long began = System.nanoTime();
        try (Custody custody = parts.custody(key)) {
            T result = asked.with(custody, custody.row().orElseThrow(() -> unknown(key)));
            parts.journal().took(what, Duration.ofNanos(System.nanoTime() - began));
            return result;
        }
    }

    static SandboxException unknown(SessionKey key) {
        return SandboxException.notFound("there is no session " + key);
    }

    // ---- housekeeping --------------------------------------------------------------------------------------------

    private void every(Duration interval, String trouble, Runnable work) {
        AtomicBoolean failing = new AtomicBoolean();
        Runnable safe = () -> {
            try {
                work.run();
                if (failing.compareAndSet(true, false)) {
                    parts.journal().over(trouble);
                }
            } catch (RuntimeException e) {
                // Said once: a database that is down for an hour should not fill the log with it.
                if (failing.compareAndSet(false, true)) {
                    parts.journal().trouble(trouble, e);
                }
            }
        };
        var _ = housekeeping.scheduleWithFixedDelay(
                safe, interval.toMillis(), interval.toMillis(), TimeUnit.MILLISECONDS);
    }

    /** Writes down what is known only in memory. */
    private synchronized void flush() {
        List<Activity> used = new ArrayList<>();
        List<Live> taken = new ArrayList<>();
        parts.lives().forEach((key, live) -> {
            if (live.takeUsed()) {
                used.add(new Activity(key, live.idle()));
                taken.add(live);
            }
        });
        if (!used.isEmpty()) {
            try {
                parts.database().transaction(handle -> {
                    SessionTable.touch(handle, used);
                    return used;
                });
            } catch (RuntimeException e) {
                taken.forEach(Live::giveBackUsed);
                throw e;
            }
        }
        events.flush();
    }

    /** Takes every step of the ladder that is due now. */
    void sweep() {
        janitor.sweep();
    }

    /** Lets go of a session that is up here, without touching it. */
    void forget(SessionKey key) {
        parts.close(key);
    }

    void settle() {
        settlement.settle();
    }

    private void count() {
        counts = parts.database()
                .query(handle -> handle.createQuery("SELECT state, count(*) AS number FROM sessions GROUP BY state")
                        .map((row, context) ->
                                Map.entry(SessionState.parse(row.getString("state")), row.getLong("number")))
                        .collectToMap(Map.Entry::getKey, Map.Entry::getValue));
    }

    private void meter(MeterRegistry meters) {
        for (SessionState state : SessionState.values()) {
            Gauge.builder("berth.sessions", () -> counts.getOrDefault(state, 0L))
                    .tag("state", state.name().toLowerCase(Locale.ROOT))
                    .register(meters);
        }
        for (String measure : parts.provider().measures().keySet()) {
            Gauge.builder(
                            "berth.provider." + measure,
                            () -> parts.provider().measures().getOrDefault(measure, 0.0))
                    .register(meters);
        }
        Gauge.builder("berth.sessions.here", parts.lives(), Map::size).register(meters);
    }

    /** Where this server has sandboxes; sessions with a sandbox elsewhere are the business of others. */
    public String location() {
        return parts.provider().location();
    }

    /** By which those are woken who wait for a change in the database. */
    public Signals signals() {
        return parts.signals();
    }

    /** Writes down what is in memory and lets go. Sandboxes stay as they are. */
    @Override
    public void close() {
        parts.samples().stop();
        janitor.stop();
        housekeeping.shutdown();
        try {
            // What it is in the middle of needs the database, which is closed after this.
            if (!housekeeping.awaitTermination(STOPPING.toMillis(), TimeUnit.MILLISECONDS)) {
                housekeeping.shutdownNow();
                parts.journal().trouble("stop.failed", SandboxException.timeout("housekeeping does not end"));
            }
            flush();
            events.close();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (SandboxException e) {
            parts.journal().trouble("flush.failed", e);
        } finally {
            parts.signals().close();
        }
    }
}
