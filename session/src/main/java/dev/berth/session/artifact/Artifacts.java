package dev.berth.session.artifact;

import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxFiles;
import dev.berth.session.EventLog;
import dev.berth.session.Session;
import dev.berth.session.SessionEvent;
import dev.berth.session.SessionKey;
import dev.berth.session.store.Database;
import java.io.InputStream;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.WeakHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What runs left for people to see. {@link #collect} is on the way of every call: as long as nothing changed in the
 * folders of the session it asks the sandbox's files and nobody else, neither the database nor a process.
 *
 * <p>Content is written before the row that refers to it, and removed after it, so a row always has its content; what
 * a crash leaves in between is content that nobody refers to, which {@link #sweepContent} removes.
 */
public final class Artifacts {
    private static final Logger LOG = LoggerFactory.getLogger(Artifacts.class);
    /** In the home of the sandbox's user, as the tools have it. */
    private static final String WORKSPACE = "workspace";

    /** What an event has the run under that it belongs to. */
    private static final String RUN = "run_id";

    private static final int AT_ONCE = 500;
    /** Content is young for so long: whoever wrote it may still be about to write the row. */
    private static final Duration YOUNG = Duration.ofDays(1);

    /** What is known of the folders of one sandbox that is up. */
    private static final class Folders {
        private final FolderScan scan = new FolderScan();
        /** Held by whoever collects. */
        private final ReentrantLock collecting = new ReentrantLock();

        private volatile @Nullable Seen seen;
    }

    private final ArtifactsConfig config;
    private final Database database;
    private final EventLog events;
    private final MediaTypes types;
    private final InstantSource clock;
    private final RandomGenerator random;
    private final ContentStore store;
    /** By sandbox, so that it goes when that goes, or is brought up anew. */
    private final Map<Sandbox, Folders> folders = Collections.synchronizedMap(new WeakHashMap<>());

    private Artifacts(
            ArtifactsConfig config,
            Database database,
            EventLog events,
            MediaTypes types,
            InstantSource clock,
            RandomGenerator random) {
        this.config = config;
        this.database = database;
        this.events = events;
        this.types = types;
        this.clock = clock;
        this.random = random;
        this.store = ContentStore.open(config.directory());
    }

    /** @param random of ids, which nobody may be able to guess */
    public static Artifacts open(
            ArtifactsConfig config,
            Database database,
            EventLog events,
            MediaTypes types,
            InstantSource clock,
            RandomGenerator random) {
        return new Artifacts(config, database, events, types, clock, random);
    }

    // ---- finding them --------------------------------------------------------------------------------------------

    /**
     * Makes artifacts of the files that are new or changed in the folders of a session. To be called at the end of whatever
     * may have written there: a call, or a job. It never fails, since what has run has run; what could not be done is said
     * in the note.
     *
     * @param actor who ran it
     * @param callId the request that it belongs to
     */
    public Collected collect(Session session, String actor, Optional<String> callId) {
        return collect(session, actor, callId, Map.of());
    }

    /** The same for what an agent does: those who follow the run are told. */
    public Collected collectOfRun(Session session, String actor, String runId) {
        return collect(session, actor, Optional.of(runId), Map.of(RUN, runId));
    }

    private Collected collect(Session session, String actor, Optional<String> callId, Map<String, String> facts) {
        try {
            return find(session, actor, callId, facts);
        } catch (SandboxException e) {
            LOG.atWarn()
                    .addKeyValue("tenant", session.key().tenant())
                    .addKeyValue("session", session.key().id())
                    .addKeyValue("error", e.getMessage())
                    .log("artifacts.failed");
            return Collected.failed("files in the artifact folders were not taken: " + e.getMessage());
        }
    }

    private Collected find(Session session, String actor, Optional<String> callId, Map<String, String> facts) {
        Sandbox sandbox = session.sandbox();
        SandboxFiles workspace = sandbox.files().within(WORKSPACE);
        Folders known = folders.computeIfAbsent(sandbox, _ -> new Folders());
        FolderScan.Found first = known.scan.find(workspace, config.folders());
        if (nothingNew(first, known.seen)) {
            return Collected.NOTHING;
        }
        known.collecting.lock();
        try {
            // Somebody else may have taken them while this one waited.
            FolderScan.Found found = known.scan.find(workspace, config.folders());
            Seen before = known.seen;
            if (before == null) {
                before = database.query(handle -> ArtifactTable.seen(handle, session.key()));
                known.seen = before;
            }
            if (nothingNew(found, before)) {
                return Collected.NOTHING;
            }
            Collection.Result result = collection().run(session.key(), workspace, found, before, callId);
            List<Artifact> made = write(session.key(), result, before, actor, facts, known);
            return new Collected(made, result.note());
        } finally {
            known.collecting.unlock();
        }
    }

    private Collection collection() {
        return new Collection(store, types, config.retention(), clock, random, this::removeUnused);
    }

    /**
     * Makes an artifact of one file, wherever in the sandbox it is, because an agent wants it to be seen. One that the run
     * has left in a folder for artifacts was seen already, and is not shown twice.
     *
     * @param path absolute, or relative to the workspace
     * @throws SandboxException if it is not a regular file, is too large, or is being written
     */
    public Artifact show(Session session, String path, String title, String actor, String runId) {
        SessionKey key = session.key();
        SandboxFiles files = session.sandbox().files();
        SandboxFiles where = path.startsWith("/") ? files : files.within(WORKSPACE);
        Artifact artifact = collection().one(key, where, path, runId);
        Folders known = folders.computeIfAbsent(session.sandbox(), _ -> new Folders());
        known.collecting.lock(); // the same file may be collected right now
        try {
            return show(artifact, title, actor, runId);
        } finally {
            known.collecting.unlock();
        }
    }

    private Artifact show(Artifact artifact, String title, String actor, String runId) {
        SessionKey key = artifact.session();
        Artifact shown = database.transaction(handle -> {
            ArtifactTable.keepContent(handle, key.tenant());
            Optional<Artifact> before = ArtifactTable.same(handle, artifact);
            if (before.isPresent()) {
                return before.get();
            }
            if (!store.has(key.tenant(), artifact.sha256())) {
                throw SandboxException.conflict(artifact.path() + " was removed while it was being kept; try again");
            }
            ArtifactTable.insert(handle, artifact);
            SessionEvent event = event(artifact, Map.of(RUN, runId, "title", title));
            EventLog.append(handle, key, event.by(actor));
            return artifact;
        });
        events.wrote(key);
        return shown;
    }

    private static boolean nothingNew(FolderScan.Found found, @Nullable Seen seen) {
        return !found.full()
                && (found.files().isEmpty()
                        || (seen != null && found.files().stream().allMatch(seen::has)));
    }

    private List<Artifact> write(
            SessionKey key,
            Collection.Result result,
            Seen before,
            String actor,
            Map<String, String> facts,
            Folders known) {
        if (result.settled().isEmpty()) {
            return List.of();
        }
        Seen after = before.and(result.settled());
        List<Artifact> made = database.transaction(handle -> {
            ArtifactTable.keepContent(handle, key.tenant());
            List<Artifact> there = result.artifacts().stream()
                    .filter(artifact -> store.has(key.tenant(), artifact.sha256()))
                    .filter(artifact -> facts.isEmpty()
                            || ArtifactTable.same(handle, artifact).isEmpty())
                    .toList();
            for (Artifact artifact : there) {
                ArtifactTable.insert(handle, artifact);
                EventLog.append(handle, key, event(artifact, facts).by(actor));
            }
            ArtifactTable.seen(handle, key, after);
            return there;
        });
        known.seen = after;
        if (!made.isEmpty()) {
            events.wrote(key);
        }
        return made;
    }

    /** @param facts besides its own */
    private static SessionEvent event(Artifact artifact, Map<String, String> facts) {
        SessionEvent event = SessionEvent.of("artifact.made")
                .with("artifact_id", artifact.id())
                .with("name", artifact.name())
                .with("path", artifact.path())
                .with("mime_type", artifact.mimeType())
                .with("size", artifact.size())
                .with("sha256", artifact.sha256())
                .with("kind", artifact.kind().toString());
        SessionEvent whole =
                artifact.callId().map(call -> event.with("call_id", call)).orElse(event);
        for (Map.Entry<String, String> fact : facts.entrySet()) {
            whole = whole.with(fact.getKey(), fact.getValue());
        }
        return whole;
    }

    // ---- what is known of them -----------------------------------------------------------------------------------

    /** One by its id. Whose it is, the caller has to look at. */
    public Optional<Artifact> find(String id) {
        return database.query(handle -> ArtifactTable.find(handle, id, clock.instant()));
    }

    /** Those of a session, the newest first, also when the session is gone. */
    public List<Artifact> list(SessionKey key, Optional<String> before, int limit) {
        return database.query(handle -> ArtifactTable.list(handle, key, before, limit, clock.instant()));
    }

    /** How many each session has that has any. */
    public Map<SessionKey, Integer> counts(Optional<String> tenant) {
        return database.query(handle -> ArtifactTable.counts(handle, tenant, clock.instant()));
    }

    /** What is in it, from an offset on; to be closed. */
    public InputStream content(Artifact artifact, long offset) {
        return store.open(artifact.session().tenant(), artifact.sha256(), offset);
    }

    // ---- removing them -------------------------------------------------------------------------------------------

    /** Removes one, and what is in it if no other has the same. @return false if it is not there */
    public boolean remove(Artifact artifact, String actor) {
        boolean removed = database.query(handle -> ArtifactTable.remove(handle, artifact.id()));
        if (removed) {
            SessionEvent event = SessionEvent.of("artifact.removed").with("artifact_id", artifact.id());
            events.append(artifact.session(), event.by(actor));
            removeUnused(artifact.session().tenant(), artifact.sha256());
        }
        return removed;
    }

    /** Removes those whose time is over. */
    public void sweep() {
        List<ArtifactTable.Content> removed;
        do {
            removed = database.query(handle -> ArtifactTable.removeExpired(handle, clock.instant(), AT_ONCE));
            new HashSet<>(removed).forEach(content -> removeUnused(content.tenant(), content.sha256()));
        } while (removed.size() == AT_ONCE);
    }

    /** Removes content that nobody refers to and that was left by a crash. */
    public void sweepContent() {
        store.sweep(clock.instant().minus(YOUNG), this::removeUnused);
    }

    private void removeUnused(String tenant, String sha256) {
        database.transaction(handle -> {
            ArtifactTable.keepRows(handle, tenant);
            if (!ArtifactTable.refers(handle, tenant, sha256)) {
                store.remove(tenant, sha256);
            }
            return sha256;
        });
    }
}
