package dev.berth.session.job;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.berth.sandbox.Capability;
import dev.berth.sandbox.Command;
import dev.berth.sandbox.CommandInfo;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.SandboxProvider;
import dev.berth.sandbox.SandboxState;
import dev.berth.sandbox.Signal;
import dev.berth.session.EventLog;
import dev.berth.session.LoggedEvent;
import dev.berth.session.Session;
import dev.berth.session.SessionEvent;
import dev.berth.session.SessionInfo;
import dev.berth.session.SessionKey;
import dev.berth.session.SessionState;
import dev.berth.session.Sessions;
import dev.berth.session.job.JobOutput.Chunk;
import dev.berth.session.store.Database;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Commands that go on in the background of sessions.
 *
 * <p>The row is written before the command is started, and the command carries the job's id as a mark in the sandbox. So
 * whoever finds a row that nobody follows, since a server was killed at any moment, can find out what became of it: the
 * mark is there, and it is followed from the byte up to which it was written down; or it is not, and the job has failed.
 * What it prints is written together with how far it was read, so every byte is there once.
 */
public final class Jobs implements AutoCloseable {
    /** The variables of a job whose provider cannot tell how it ended. */
    public static final String TOKEN_VARIABLE = "BERTH_JOB_TOKEN";

    public static final String ADDRESS_VARIABLE = "BERTH_JOB_URL";

    private static final Logger LOG = LoggerFactory.getLogger(Jobs.class);
    private static final String TAG = "job:";
    private static final Duration RETRY = Duration.ofSeconds(1);
    private static final Duration STOPPING = Duration.ofSeconds(10);
    /** Of jobs that ended so long ago, what is left in the sandbox is looked for when the server starts. */
    private static final Duration LATELY = Duration.ofHours(1);
    /** So that jobs that flood leave connections to everybody else. */
    private static final int WRITERS = 3;

    private static final long PAGE = 1 << 20;

    private final JobsConfig config;
    private final Sessions sessions;
    private final SandboxProvider provider;
    private final Database database;
    private final JobListener listener;
    private final Presence presence;
    private final SecureRandom random = new SecureRandom();
    private final Map<String, Follower> followers = new ConcurrentHashMap<>();
    private final Semaphore writers = new Semaphore(WRITERS, true);
    private final CountDownLatch closed = new CountDownLatch(1);
    private final ScheduledExecutorService housekeeping = Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().daemon().name("jobs").factory());

    private Jobs(
            JobsConfig config, Sessions sessions, SandboxProvider provider, Database database, JobListener listener) {
        this.config = config;
        this.sessions = sessions;
        this.provider = provider;
        this.database = database;
        this.listener = listener;
        this.presence = new Presence(database);
    }

    /** Takes up the jobs that servers before left running, and settles those that are not there any more. */
    public static Jobs open(
            JobsConfig config, Sessions sessions, SandboxProvider provider, Database database, JobListener listener) {
        Jobs jobs = new Jobs(config, sessions, provider, database, listener);
        sessions.events().completedBy(jobs::withOutput);
        sessions.whenUp(key -> Thread.ofVirtual().name("jobs of " + key).start(() -> jobs.cameUp(key)));
        jobs.housekeeping.execute(() -> jobs.quietly(jobs::settleFirst));
        var _ = jobs.housekeeping.scheduleWithFixedDelay(
                () -> jobs.quietly(jobs::settle),
                config.settle().toMillis(),
                config.settle().toMillis(),
                TimeUnit.MILLISECONDS);
        return jobs;
    }

    void ending(Session session, Job job) {
        listener.ending(session, job);
    }

    static String tag(String id) {
        return TAG + id;
    }

    // ---- starting ------------------------------------------------------------------------------------------------

    /**
     * Starts a command and returns at once.
     *
     * @throws SandboxException {@code limit} if too many run in this session; anything else if it could not be started
     */
    public Job start(Session session, JobRequest request) {
        SessionKey key = session.key();
        String id = "job_" + random(10);
        Optional<String> token = reattaches() ? Optional.empty() : Optional.of(random(24));
        Command command = prepared(request.command(), id, token);
        Follower follower = new Follower(this, id, sessions.resolve(key));
        followers.put(id, follower); // before there is a row, or it might be taken for one that nobody follows
        boolean written = false;
        try {
            Job job = database.transaction(handle -> {
                int running = JobTable.lockAndCount(handle, key);
                if (running >= config.most()) {
                    throw SandboxException.limit("this session runs " + running
                                    + " jobs, and no more may run at a time; wait for one of them, or stop it")
                            .with(SandboxException.LIMIT, "jobs")
                            .with(SandboxException.USED, running)
                            .with(SandboxException.ALLOWED, config.most());
                }
                Job inserted = JobTable.insert(handle, id, key, request, presence.server(), token.map(Jobs::hash));
                EventLog.append(
                        handle,
                        key,
                        SessionEvent.of("job.started").by(request.actor()).with("job_id", id));
                return inserted;
            });
            written = true;
            sessions.events().wrote(key);
            follower.launch(command);
            return job;
        } catch (RuntimeException e) {
            if (written) {
                settleFailedLaunch(id, e); // while it has a follower, or it might be taken for one that nobody follows
            }
            followers.remove(id);
            follower.cancel();
            throw e;
        }
    }

    private Command prepared(Command command, String id, Optional<String> token) {
        Command tagged = command.withTag(tag(id)).whenFull(Command.WhenFull.BLOCK);
        if (token.isEmpty()) {
            return tagged;
        }
        Map<String, String> env = new HashMap<>(command.env());
        env.put(TOKEN_VARIABLE, token.get());
        config.address()
                .ifPresent(address -> env.put(
                        ADDRESS_VARIABLE,
                        address.resolve("/sandbox-jobs/" + id + "/complete").toString()));
        return tagged.withEnv(env);
    }

    private void settleFailedLaunch(String id, RuntimeException why) {
        try {
            settle(id, Ending.lost("it could not be started: " + why.getMessage()));
        } catch (SandboxException e) {
            why.addSuppressed(e); // the next settlement finds it
        }
    }

    private String random(int bytes) {
        byte[] value = new byte[bytes];
        random.nextBytes(value);
        return HexFormat.of().formatHex(value);
    }

    private static String hash(String token) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(token.getBytes(UTF_8)));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }

    // ---- looking -------------------------------------------------------------------------------------------------

    public Optional<Job> find(String id) {
        return database.query(handle -> JobTable.find(handle, id));
    }

    /** Those of a session, the newest first. */
    public List<Job> list(SessionKey key, Optional<JobState> state, int limit) {
        return database.query(
                handle -> JobTable.list(handle, Optional.of(key.tenant()), Optional.of(key.id()), state, limit));
    }

    /** Those of a tenant, or of all, the newest first. */
    public List<Job> list(Optional<String> tenant, Optional<JobState> state, int limit) {
        return database.query(handle -> JobTable.list(handle, tenant, Optional.empty(), state, limit));
    }

    /** What a job printed after a chunk; as much of it as makes sense at a time. */
    public JobOutput output(String id, long after, int limit) {
        return database.transaction(handle -> {
            Job job = JobTable.find(handle, id).orElseThrow(() -> SandboxException.notFound("there is no such job"));
            List<Chunk> chunks = JobTable.chunks(handle, id, after, limit, PAGE);
            long next = chunks.isEmpty() ? after : chunks.getLast().number();
            boolean complete = !job.running() && next >= JobTable.lastNumber(handle, id);
            return new JobOutput(job, chunks, next, complete);
        });
    }

    /** Notes that somebody has read how a job ended, so that nobody has to be told any more. */
    public void observed(Job job) {
        if (!job.running() && job.observedAt().isEmpty()) {
            database.transaction(handle -> {
                Optional<Job> now = JobTable.observe(handle, job.id());
                now.ifPresent(it -> listener.observed(handle, it));
                return now;
            });
        }
    }

    /** Puts what was printed into the events that tell of it. */
    private List<LoggedEvent> withOutput(List<LoggedEvent> events) {
        List<String> jobs = new ArrayList<>();
        List<Long> numbers = new ArrayList<>();
        List<LoggedEvent> shown = new ArrayList<>();
        long bytes = 0;
        for (LoggedEvent event : events) {
            if (isOutput(event)) {
                long size = number(event, "bytes");
                if (bytes > 0 && bytes + size > PAGE) {
                    break; // the rest is read next: a page of all the output there is would not fit into memory
                }
                bytes += size;
                jobs.add(String.valueOf(event.data().get("job_id")));
                numbers.add(number(event, "number"));
            }
            shown.add(event);
        }
        if (jobs.isEmpty()) {
            return shown;
        }
        Map<String, byte[]> found = new HashMap<>();
        database.query(handle -> JobTable.named(handle, jobs, numbers))
                .forEach(it -> found.put(
                        it.job() + " " + it.chunk().number(), it.chunk().bytes()));
        return shown.stream().map(event -> withOutput(event, found)).toList();
    }

    private static boolean isOutput(LoggedEvent event) {
        return event.type().equals("output") && event.data().containsKey("job_id");
    }

    private static long number(LoggedEvent event, String name) {
        return event.data().get(name) instanceof Number value ? value.longValue() : 0;
    }

    private static LoggedEvent withOutput(LoggedEvent event, Map<String, byte[]> found) {
        if (!isOutput(event)) {
            return event;
        }
        Map<String, Object> data = new HashMap<>(event.data());
        byte[] bytes = found.get(data.get("job_id") + " " + number(event, "number"));
        if (bytes == null) {
            data.put("dropped", true);
        } else {
            JobOutput.text(bytes)
                    .ifPresentOrElse(
                            text -> data.put("text", text),
                            () -> data.put("base64", Base64.getEncoder().encodeToString(bytes)));
        }
        return new LoggedEvent(event.seq(), event.at(), event.type(), event.actor(), event.correlation(), data);
    }

    // ---- ending --------------------------------------------------------------------------------------------------

    /**
     * Ends a job: it is asked to, and ended a second later if it did not. One that is over stays as it is.
     *
     * @return the job, over in all but strange cases
     */
    public Job stop(String id) {
        Job job = find(id).orElseThrow(() -> SandboxException.notFound("there is no such job"));
        if (!job.running()) {
            return job;
        }
        Follower here = followers.get(id);
        if (here == null || !here.ended()) {
            database.query(handle -> JobTable.requestStop(handle, id));
            // A frozen process cannot end. If its sandbox is not there, there is nobody to be woken for it.
            if (state(job.key()).filter(state -> state == SandboxState.PAUSED).isPresent()) {
                sessions.resolve(job.key()).close();
            }
            consider(job);
            here = followers.get(id);
            if (here != null) {
                here.terminate();
            }
        }
        try {
            boolean _ = here != null && here.await(STOPPING);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return find(id).orElse(job);
    }

    /** What came of a report that a job itself sent. */
    public enum Reported {
        ACCEPTED,
        UNKNOWN,
        SETTLED
    }

    /** Settles a job by its own report, which has to have the token that the job was given. */
    public Reported report(String id, String token, int exitCode, Optional<String> error, String logs) {
        String known = database.query(handle -> JobTable.tokenHash(handle, id)).orElse("");
        if (!MessageDigest.isEqual(known.getBytes(UTF_8), hash(token).getBytes(UTF_8))) {
            return Reported.UNKNOWN;
        }
        Job job = find(id).orElseThrow();
        if (job.running() && job.outputBytes() == 0 && !logs.isEmpty()) {
            // Nobody followed it, so this is all that there is of what it printed.
            byte[] bytes = logs.getBytes(UTF_8);
            database.transaction(handle -> writeChunk(handle, job, "stdout", 0, bytes));
        }
        Ending ending = exitCode == 0 && error.isEmpty()
                ? new Ending(JobState.COMPLETED, 0, null)
                : new Ending(JobState.FAILED, exitCode, error.orElse("it ended with exit code " + exitCode));
        return settle(id, ending).isPresent() ? Reported.ACCEPTED : Reported.SETTLED;
    }

    /** Settles a job as long as the database takes it; false if this server ends before. */
    boolean end(String id, Ending ending) throws InterruptedException {
        return persistently("job.settle.failed", () -> {
            settle(id, ending);
            return true;
        });
    }

    private Optional<Job> settle(String id, Ending ending) {
        Optional<Job> ended = database.transaction(handle -> {
            Optional<Job> job = JobTable.end(handle, id, ending.state(), ending.exitCode(), ending.error());
            job.ifPresent(it -> {
                EventLog.append(
                        handle,
                        it.key(),
                        SessionEvent.of("job.ended")
                                .with("job_id", id)
                                .with("state", it.state().toString())
                                .with("exit_code", ending.exitCode()));
                listener.ended(handle, it);
            });
            return job;
        });
        ended.ifPresent(job -> {
            sessions.events().wrote(job.key());
            listener.written();
        });
        return ended;
    }

    // ---- what followers need -------------------------------------------------------------------------------------

    boolean reattaches() {
        return provider.capabilities().contains(Capability.REATTACH);
    }

    boolean isOurs(Job job) {
        return job.running() && job.server().equals(Optional.of(presence.server()));
    }

    void left(Follower follower) {
        followers.remove(follower.id(), follower);
    }

    void skip(Job job, String stream, long from, long to) throws InterruptedException {
        if (to > from) {
            boolean _ = persistently(
                    "job.output.failed", () -> database.query(handle -> JobTable.skip(handle, job, stream, from, to)));
        }
    }

    /** Writes a chunk with its event and how far that is; false if it is not this server's to write, or it ends. */
    boolean write(Job job, String stream, long offset, byte[] bytes) throws InterruptedException {
        return persistently("job.output.failed", () -> {
            writers.acquireUninterruptibly();
            try {
                return database.transaction(handle -> writeChunk(handle, job, stream, offset, bytes));
            } finally {
                writers.release();
                sessions.events().wrote(job.key());
            }
        });
    }

    private boolean writeChunk(org.jdbi.v3.core.Handle handle, Job job, String stream, long offset, byte[] bytes) {
        Optional<JobTable.Written> written = JobTable.write(handle, job, stream, offset, bytes);
        if (written.isEmpty()) {
            return false;
        }
        if (written.get().kept() > config.outputBytes()) {
            JobTable.forget(handle, job.id(), written.get().kept() - config.outputBytes());
        }
        EventLog.append(
                handle,
                job.key(),
                SessionEvent.of("output")
                        .with("job_id", job.id())
                        .with("number", written.get().number())
                        .with("stream", stream)
                        .with("offset", offset)
                        .with("bytes", bytes.length));
        return true;
    }

    /** Tries until the database is there; false if this server ends before. */
    private boolean persistently(String trouble, Supplier<Boolean> work) throws InterruptedException {
        boolean failing = false;
        do {
            try {
                return work.get();
            } catch (SandboxException e) {
                if (e.code() != ErrorCode.UNAVAILABLE && e.code() != ErrorCode.TIMEOUT) {
                    throw e;
                }
                if (!failing) {
                    LOG.atWarn().addKeyValue("error", e.getMessage()).log(trouble);
                    failing = true;
                }
            }
        } while (!closed.await(RETRY.toMillis(), TimeUnit.MILLISECONDS));
        return false;
    }

    // ---- those that nobody follows -------------------------------------------------------------------------------

    private void settleFirst() {
        settle();
        database.query(handle -> JobTable.endedSince(handle, provider.location(), LATELY))
                .forEach(key -> quietly(() -> releaseLeft(key)));
    }

    /** Looks at every job that runs, whether it does. */
    void settle() {
        presence.renew();
        for (Job job : database.query(handle -> JobTable.running(handle, provider.location()))) {
            quietly(() -> consider(job));
        }
        database.query(handle -> JobTable.forgetEnded(handle, config.kept()));
    }

    private void consider(Job job) {
        Follower follower = followers.get(job.id());
        if (follower != null) {
            if (job.stopRequested()) {
                follower.terminate();
            }
            return;
        }
        if (job.server()
                .filter(server -> !server.equals(presence.server()) && presence.alive(server))
                .isPresent()) {
            return;
        }
        Optional<SandboxState> state = state(job.key());
        if (state.isEmpty() || state.get() == SandboxState.STOPPED || state.get() == SandboxState.DESTROYED) {
            settle(job.id(), Ending.lost("its sandbox was stopped or removed, and the job with it"));
        } else if (!reattaches()) {
            if (job.createdAt().isBefore(Instant.now().minus(config.kept()))) {
                settle(job.id(), Ending.lost("it has not told how it ended for too long"));
            }
        } else if (state.get() == SandboxState.RUNNING) {
            adopt(job, sessions.resolve(job.key()));
        }
        // One that is paused is frozen with its sandbox, and is taken up when that is woken.
    }

    /** The state of a session's sandbox; nothing if it has none. */
    private Optional<SandboxState> state(SessionKey key) {
        try {
            Optional<SessionInfo> info = sessions.find(key).filter(it -> it.state() != SessionState.DESTROYED);
            return info.flatMap(it -> provider.find(it.sandboxId())).map(Sandbox::state);
        } catch (SandboxException e) {
            if (e.code() == ErrorCode.GONE) {
                return Optional.empty();
            }
            throw e;
        }
    }

    /** @param hold is closed in any case */
    private void adopt(Job job, Session hold) {
        Follower follower = new Follower(this, job.id(), hold);
        if (closed.getCount() == 0 || followers.putIfAbsent(job.id(), follower) != null) {
            follower.cancel();
            return;
        }
        Optional<Job> ours = Optional.empty();
        try {
            ours = database.query(handle -> JobTable.claim(handle, job, presence.server()));
        } finally {
            if (ours.isPresent()) {
                follower.adopt(ours.get().stopRequested());
            } else {
                followers.remove(job.id(), follower);
                follower.cancel();
            }
        }
    }

    private void cameUp(SessionKey key) {
        quietly(() -> {
            for (Job job : list(key, Optional.of(JobState.RUNNING), Integer.MAX_VALUE)) {
                Follower follower = followers.get(job.id());
                if (follower != null) {
                    sessions.ifUp(key).ifPresent(follower::wake);
                } else {
                    consider(job);
                }
            }
        });
    }

    /** A server that was killed after it settled a job did not tell the sandbox to forget it. */
    private void releaseLeft(SessionKey key) {
        if (!reattaches() || state(key).filter(it -> it == SandboxState.RUNNING).isEmpty()) {
            return;
        }
        try (Session session = sessions.resolve(key)) {
            for (CommandInfo command : session.sandbox().commands()) {
                String id = command.tag().startsWith(TAG) ? command.tag().substring(TAG.length()) : "";
                if (!id.isEmpty()
                        && !followers.containsKey(id)
                        && find(id).filter(Job::running).isEmpty()) {
                    release(session.sandbox(), command);
                }
            }
        }
    }

    private static void release(Sandbox sandbox, CommandInfo command) {
        try (RunningCommand left = sandbox.attach(command.id(), command.stdoutEnd(), command.stderrEnd())) {
            left.signal(Signal.KILL);
            var _ = left.await(STOPPING);
        }
    }

    private void quietly(Runnable work) {
        try {
            if (closed.getCount() > 0) {
                work.run();
            }
        } catch (RuntimeException e) {
            LOG.atWarn().addKeyValue("error", e.getMessage()).setCause(e).log("job.settlement.failed");
        }
    }

    /** Lets go of the jobs. They run on, and the next server follows them. */
    @Override
    public void close() {
        closed.countDown();
        housekeeping.shutdown();
        List<Follower> all = List.copyOf(followers.values());
        all.forEach(Follower::leave);
        try {
            boolean ended = housekeeping.awaitTermination(STOPPING.toMillis(), TimeUnit.MILLISECONDS);
            for (Follower follower : all) {
                ended &= follower.await(STOPPING);
            }
            if (!ended) {
                LOG.warn("some who follow jobs do not end");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        presence.close();
    }
}
