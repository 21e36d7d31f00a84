package dev.berth.agent.run;

import dev.berth.agent.AgentRuntime;
import dev.berth.agent.Past.Said;
import dev.berth.agent.run.Choices.Choice;
import dev.berth.agent.run.PlaceTable.AgentPlace;
import dev.berth.agent.run.RunTable.Standing;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.EventLog;
import dev.berth.session.Session;
import dev.berth.session.SessionEvent;
import dev.berth.session.SessionInfo;
import dev.berth.session.SessionKey;
import dev.berth.session.SessionState;
import dev.berth.session.Sessions;
import dev.berth.session.artifact.Artifacts;
import dev.berth.session.store.Database;
import dev.berth.session.store.Signals;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The runs of all sessions.
 *
 * <p>A message is written to the database before anything is done about it. The run it belongs to is driven by one server,
 * which renews its lease on it; what the agent does goes to the session's event log. So those who show a run follow the
 * log, and neither they nor the servers have to live as long as it does.
 */
public final class Runs implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Runs.class);
    /** What servers wait for that look for runs without an owner. */
    private static final String NEW = "runs";

    private static final Duration STOPPING = Duration.ofSeconds(5);
    /** How long a message waits for a run that is being stopped. */
    private static final Duration AFTER_ABORT = Duration.ofSeconds(60);

    private static final int TRIES = 5;

    /** One run that is driven here. */
    private final class Working {
        private final String id;
        private final Thread thread;
        private volatile @Nullable Driver driver;

        Working(String id) {
            this.id = id;
            this.thread = Thread.ofVirtual().name("run " + id).unstarted(this::drive);
        }

        private void drive() {
            try {
                Optional<Standing> standing =
                        office.database().query(handle -> RunTable.standing(handle, id, office.server()));
                if (standing.isPresent() && !office.closing()) {
                    Driver working = new Driver(office, crew, standing.get());
                    driver = working;
                    working.drive();
                }
            } catch (SandboxException e) {
                LOG.atWarn()
                        .addKeyValue("run", id)
                        .addKeyValue("error", e.getMessage())
                        .log("run.postponed");
            } finally {
                drivers.remove(id);
            }
        }

        private void look() {
            Driver working = driver;
            if (working != null) {
                working.look();
            }
        }
    }

    private final Office office;
    private final Crew crew;
    private final SecureRandom random = new SecureRandom();
    private final Map<String, Working> drivers = new ConcurrentHashMap<>();
    private final Thread sweeper;

    private Runs(Office office) {
        this.office = office;
        this.crew = new Crew(office);
        this.sweeper = Thread.ofVirtual().name("runs").unstarted(this::sweepNowAndThen);
    }

    /**
     * Takes up what servers before this one left, and begins to look after it.
     *
     * @param runtimes by their names
     */
    public static Runs open(
            RunsConfig config,
            Sessions sessions,
            Database database,
            Artifacts artifacts,
            Map<String, AgentRuntime> runtimes,
            Choices choices,
            Permissions permissions,
            MeterRegistry meters) {
        Runs runs = new Runs(new Office(
                config,
                sessions,
                database,
                artifacts,
                Map.copyOf(runtimes),
                choices,
                permissions,
                new RunMeters(meters),
                UUID.randomUUID().toString(),
                Executors.newSingleThreadScheduledExecutor(
                        Thread.ofPlatform().daemon().name("runs").factory()),
                new CountDownLatch(1)));
        Gauge.builder("berth.agents.warm", runs.crew, Crew::size).register(meters);
        runs.sweeper.start();
        return runs;
    }

    // ---- saying something ----------------------------------------------------------------------------------------

    /**
     * Says something to the agent of a session: a run begins, or the one that goes on takes it up. The message is kept
     * before this returns, and everything else happens afterwards.
     *
     * @return the run that it belongs to
     */
    public Run say(SessionKey key, Message message) {
        requireOpen();
        Choice choice = office.choices().of(key);
        office.runtime(choice.runtime());
        Message clean = clean(message);
        boolean here = here(made(key, choice));
        for (int left = TRIES; ; left--) {
            try {
                Optional<Run> run = written(key, clean, choice, here);
                if (run.isPresent()) {
                    return run.get();
                }
                awaitAborted(key);
            } catch (SandboxException e) {
                if (e.code() != ErrorCode.CONFLICT || left == 0) {
                    throw e;
                }
                LOG.debug("another message began a run at the same time", e);
            }
        }
    }

    /** @return empty if a run is being stopped, which nothing should be added to */
    private Optional<Run> written(SessionKey key, Message message, Choice choice, boolean here) {
        String fresh = "run_" + HexFormat.of().formatHex(bytes());
        Optional<Run> written = office.database().transaction(handle -> {
            Optional<Run> going = RunTable.lockCurrent(handle, key);
            String id = going.map(Run::id).orElse(fresh);
            if (going.isPresent() && RunTable.abortedBy(handle, id).isPresent()) {
                return Optional.empty();
            }
            if (going.isEmpty()) {
                SessionEvent event = new RunEvent.Began(id, choice.runtime()).logged(message.actor());
                long first = EventLog.append(handle, key, event);
                @Nullable String owner = here ? office.server() : null;
                RunTable.insert(
                        handle,
                        id,
                        key,
                        choice.runtime(),
                        message,
                        first,
                        owner,
                        office.config().lease());
            }
            RunTable.insert(handle, id, message);
            return RunTable.find(handle, id);
        });
        written.ifPresent(run -> {
            office.sessions().events().wrote(key);
            office.sessions().signals().tell(Office.topic(key));
            if (run.id().equals(fresh)) {
                if (here) {
                    drive(run.id());
                } else {
                    office.sessions().signals().tell(NEW);
                }
            }
        });
        return written;
    }

    private byte[] bytes() {
        byte[] bytes = new byte[16];
        random.nextBytes(bytes);
        return bytes;
    }

    private static Message clean(Message message) {
        return new Message(
                LogText.clean(message.text()),
                message.files().stream().map(LogText::clean).toList(),
                message.actor(),
                message.person().map(LogText::clean));
    }

    /** Its events need a session to belong to. One that cannot be brought up now is there all the same. */
    private SessionInfo made(SessionKey key, Choice choice) {
        Optional<SessionInfo> known = office.sessions().find(key);
        if (known.isPresent()) {
            return known.get();
        }
        try (Session session = office.sessions().resolve(key, choice.spec())) {
            return session.info();
        } catch (SandboxException e) {
            return office.sessions().find(key).orElseThrow(() -> e);
        }
    }

    private boolean here(SessionInfo session) {
        return session.state() == SessionState.DESTROYED
                || session.location().equals(office.sessions().location());
    }

    private void awaitAborted(SessionKey key) {
        try {
            Optional<Run> ending = current(key);
            if (ending.isPresent()
                    && !await(ending.get().id(), AFTER_ABORT).state().ended()) {
                throw SandboxException.timeout("the agent is being stopped, which takes long; try again in a minute");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("interrupted while waiting for the agent to stop", e);
        }
    }

    private void requireOpen() {
        if (office.closing()) {
            throw SandboxException.unavailable("this server is being stopped; try again in a moment");
        }
    }

    // ---- stopping it ---------------------------------------------------------------------------------------------

    /** Ends the run that goes on. Returns whether there was one; its end is told by an event. */
    public boolean abort(SessionKey key, String actor) {
        boolean there = office.database()
                .query(handle -> RunTable.requestAbort(handle, key, actor))
                .isPresent();
        if (there) {
            office.sessions().signals().tell(Office.topic(key));
        }
        return there;
    }

    /** Ends the agent and forgets its conversation; files stay. */
    public void reset(SessionKey key, String actor) {
        requireOpen();
        SessionInfo known =
                office.sessions().find(key).orElseThrow(() -> SandboxException.notFound("there is no session " + key));
        if (abort(key, actor)) {
            awaitAborted(key);
        }
        Optional<AgentPlace> place = office.database().transaction(handle -> {
            RunTable.forget(handle, key);
            PlaceTable.discard(handle, key);
            EventLog.append(handle, known.key(), SessionEvent.of("run.reset").by(actor));
            return PlaceTable.find(handle, key);
        });
        office.sessions().events().wrote(key);
        // A computer that sleeps need not be woken for it: the agent forgets before it is used again.
        Optional<Session> up = office.sessions().ifUp(key);
        if (up.isPresent()) {
            try (Session session = up.get()) {
                if (place.isPresent()) {
                    crew.discard(session, office.choices().of(key), "", place.get());
                }
            } catch (SandboxException e) {
                RunMeters.trouble("agent.reset.later", key, "", e);
            }
        } else {
            crew.there(key).ifPresent(crew::release);
        }
    }

    // ---- what is known of them -----------------------------------------------------------------------------------

    /** The run that goes on. */
    public Optional<Run> current(SessionKey key) {
        return office.database().query(handle -> RunTable.current(handle, key));
    }

    /** One by its id. Whose it is, the caller has to look at. */
    public Optional<Run> find(String id) {
        return office.database().query(handle -> RunTable.find(handle, id));
    }

    /** Those of a session, the newest first, from before a run on if one is given. */
    public List<Run> list(SessionKey key, Optional<String> before, int limit) {
        return office.database().query(handle -> RunTable.list(handle, key, before, limit));
    }

    /** Waits for a run to end. Returns it as it is then, or after so long. */
    public Run await(String id, Duration patience) throws InterruptedException {
        Run run = find(id).orElseThrow(() -> SandboxException.notFound("there is no run " + id));
        long deadline = System.nanoTime() + patience.toNanos();
        try (Signals.Waiter waiter = office.sessions().signals().waiter(Office.topic(run.session()))) {
            run = find(id).orElse(run);
            for (long left = deadline - System.nanoTime();
                    left > 0 && !run.state().ended() && !waiter.ended();
                    left = deadline - System.nanoTime()) {
                waiter.await(Duration.ofNanos(left));
                run = find(id).orElse(run);
            }
        }
        return run;
    }

    /** What was said in a session, by people and by the agent, the last messages of it in their order. */
    public List<Said> history(SessionKey key, int limit) {
        return office.database().query(handle -> RunTable.said(handle, key, "", limit));
    }

    // ---- driving them --------------------------------------------------------------------------------------------

    private void sweepNowAndThen() {
        boolean failing = false;
        try (Signals.Waiter waiter = office.sessions().signals().waiter(NEW)) {
            while (!office.closing() && !waiter.ended()) {
                try {
                    sweep();
                    failing = false;
                } catch (SandboxException e) {
                    // Said once: a database that is down for an hour should not fill the log with it.
                    if (!failing) {
                        LOG.atWarn().addKeyValue("error", e.getMessage()).log("runs.sweep.failed");
                    }
                    failing = true;
                }
                waiter.await(office.config().lease().dividedBy(3));
            }
        } catch (InterruptedException e) {
            LOG.debug("nobody looks after runs any more");
        }
    }

    /** Renews the lease on those of this server, and takes those that nobody looks after. */
    private void sweep() {
        office.database()
                .query(handle -> RunTable.claim(
                        handle,
                        office.server(),
                        office.sessions().location(),
                        office.config().lease()))
                .forEach(this::drive);
    }

    private void drive(String id) {
        Working working = new Working(id);
        if (!office.closing() && drivers.putIfAbsent(id, working) == null) {
            working.thread.start();
        }
    }

    /** Lets go of everything; agents work on. */
    @Override
    public void close() {
        office.closed().countDown();
        sweeper.interrupt();
        List<Working> working = List.copyOf(drivers.values());
        working.forEach(Working::look);
        try {
            awaitEnd(working, STOPPING);
            // Those wait for a computer or an agent to come up, which may take longer than anybody wants to wait.
            working.forEach(it -> it.thread.interrupt());
            awaitEnd(working, STOPPING);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        crew.close();
        office.clock().shutdownNow();
        try {
            office.database().query(handle -> RunTable.release(handle, office.server()));
        } catch (SandboxException e) {
            // Whoever comes next takes them up when the lease is over.
            LOG.atWarn().addKeyValue("error", e.getMessage()).log("runs.release.failed");
        }
    }

    private static void awaitEnd(List<Working> working, Duration patience) throws InterruptedException {
        long deadline = System.nanoTime() + patience.toNanos();
        for (Working it : working) {
            boolean _ = it.thread.join(Duration.ofNanos(Math.max(1, deadline - System.nanoTime())));
        }
    }
}
