package dev.berth.agent.run;

import dev.berth.agent.Agent;
import dev.berth.agent.AgentConfig.Patience;
import dev.berth.agent.AgentEvent.Asked;
import dev.berth.agent.AgentEvent.Ended;
import dev.berth.agent.AgentEvent.Outcome;
import dev.berth.agent.run.Choices.Choice;
import dev.berth.agent.run.RunTable.Standing;
import dev.berth.agent.run.RunTable.Waiting;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.Loss;
import dev.berth.session.Session;
import dev.berth.session.SessionKey;
import dev.berth.session.store.Signals;
import java.time.Duration;
import java.util.HashSet;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jdbi.v3.core.Handle;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Drives one run, on a thread of its own: brings up the session and its agent, says what is to be said, and sees to it that
 * the run ends. All it knows is in the database too, so another can go on from wherever this one stops.
 */
final class Driver {
    private static final Logger LOG = LoggerFactory.getLogger(Driver.class);
    private static final Duration LONG = Duration.ofMinutes(1);
    /** How long an agent may take to begin with a message that met the end of its run. */
    private static final Duration BEGINNING = Duration.ofSeconds(3);

    private static final int MOST_ATTEMPTS = 2;
    /** From so many uses of tools on, doing everything again would do harm. */
    private static final int ACTED = 2;

    /**
     * The run is to end whatever the agent does.
     *
     * @param by who wanted it
     * @param deadline until then the agent may end it by itself
     */
    private record Stopping(Ended as, String by, long deadline) {}

    private final Office office;
    private final Crew crew;
    private final Standing standing;
    private final Run run;
    private final SessionKey key;
    private final Bell bell = new Bell();
    private final AtomicBoolean news = new AtomicBoolean(true);
    private final Scribe scribe;
    private final Questions questions;
    private final KeptTranscript transcript;
    private final Set<Long> steered = new HashSet<>();
    private final long began;

    private int attempt;
    private Patience patience = Patience.DEFAULT;
    private boolean saidAny;
    /** What the agent has to be told with the next message. */
    private String note = "";

    private long doubtUntil = Long.MIN_VALUE;
    private boolean doubting;
    private @Nullable Stopping stopping;
    private volatile @Nullable Session session;
    private volatile @Nullable Seat seat;

    Driver(Office office, Crew crew, Standing standing) {
        this.office = office;
        this.crew = crew;
        this.standing = standing;
        this.run = standing.run();
        this.key = run.session();
        this.attempt = run.attempt();
        this.saidAny = standing.said();
        this.began = System.nanoTime() - standing.age().toNanos();
        this.scribe = new Scribe(office, standing, this::asked, bell);
        this.questions = new Questions(office, run);
        this.transcript = new KeptTranscript(office.database(), key);
    }

    /** There may be something new in the database. */
    void look() {
        news.set(true);
        bell.ring();
    }

    void drive() {
        Thread watch = watch();
        try {
            boolean goingOn = standing.said();
            while (!over(goingOn)) {
                goingOn = false;
            }
        } catch (InterruptedException | LetGo e) {
            LOG.debug("let go of {}", run.id(), e);
        } catch (SandboxException e) {
            // Whatever it was, what is written down is right; the next look at what nobody drives goes on from there.
            RunMeters.trouble("run.interrupted", key, run.id(), e);
        } catch (RuntimeException e) {
            if (!office.closing()) {
                RunMeters.trouble("run.broken", key, run.id(), e);
                end(
                        new Ended(
                                Outcome.FAILED,
                                Optional.of("something went wrong in the server; say it again, and if that does not"
                                        + " help, ask its operator to look at the log")),
                        run.actor(),
                        false);
            }
        } finally {
            watch.interrupt();
            letGo();
        }
    }

    /** Passes on what other servers and other requests tell. */
    private Thread watch() {
        Signals.Waiter waiter = office.sessions().signals().waiter(Office.topic(key));
        return Thread.ofVirtual().name("watch " + run.id()).start(() -> {
            try (waiter) {
                while (!waiter.ended()) {
                    waiter.await(LONG);
                    look();
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
    }

    /** Brings it up and goes on until its end. @return false if it is to be tried once more */
    private boolean over(boolean goingOn) throws InterruptedException {
        try {
            if (goingOn) {
                rejoin();
            } else if (!board()) {
                return true;
            }
            converse();
            return true;
        } catch (SandboxException e) {
            return failed(e);
        }
    }

    /** The database is away for long, or the server stops. */
    private static final class LetGo extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    private <T> T db(Function<Handle, T> statements) {
        return scribe.patiently(statements).orElseThrow(LetGo::new);
    }

    // ---- bringing it up ------------------------------------------------------------------------------------------

    /** @return false if it was stopped before it was up */
    private boolean board() {
        Choice choice = office.choices().of(key);
        patience = choice.config().patience();
        Session up = bringUp(choice);
        if (abortedBy().isPresent()) {
            end(new Ended(Outcome.ABORTED, Optional.empty()), abortedBy().orElse(run.actor()), false);
            return false;
        }
        if (attempt == 1) {
            up.beginTurn(run.actor());
        }
        seat = crew.join(up, choice, run.id(), scribe);
        db(handle -> {
            RunTable.state(handle, run.id(), Run.State.RUNNING);
            return run;
        });
        return true;
    }

    /** Goes on with what another server began. */
    private void rejoin() {
        Choice choice = office.choices().of(key);
        patience = choice.config().patience();
        Session up = bringUp(choice);
        Seat there = crew.rejoin(up, choice, run.id(), scribe)
                .orElseThrow(() -> SandboxException.unavailable("it was gone when the server came back"));
        seat = there;
        if (!scribe.busy() && scribe.outcome().isEmpty()) {
            // Nothing was heard of the message, so it was never given to the agent.
            db(handle -> RunTable.unsayDoubtful(handle, run.id()));
        }
    }

    private Session bringUp(Choice choice) {
        Optional<Session> there = office.sessions().ifUp(key);
        if (there.isEmpty()) {
            scribe.status("Starting the computer");
        }
        Session up = there.orElseGet(() -> office.sessions().resolve(key, choice.spec()));
        session = up;
        return up;
    }

    private void asked(Asked question) {
        Session up = session;
        Seat there = seat;
        if (up != null && there != null) {
            questions.ask(question, up, there, scribe);
        }
    }

    // ---- going on ------------------------------------------------------------------------------------------------

    private void converse() throws InterruptedException {
        Seat there = Objects.requireNonNull(seat);
        Session up = Objects.requireNonNull(session);
        // What it asked before it was known here.
        scribe.questions().forEach(question -> questions.ask(question, up, there, scribe));
        look();
        while (!office.closing() && !scribe.silent()) {
            if (news.getAndSet(false)) {
                hear(there, up);
            }
            keep(there.agent(), up);
            if (settled()) {
                return;
            }
            if (stopping == null) {
                scribe.lost().ifPresent(why -> {
                    throw why;
                });
                checkLimits(there.agent());
            }
            bell.await(untilNext());
        }
    }

    /** What was said or asked for meanwhile. */
    private void hear(Seat there, Session up) {
        Optional<String> by = abortedBy();
        if (by.isPresent()) {
            stop(there.agent(), new Ended(Outcome.ABORTED, Optional.empty()), by.get());
            return;
        }
        for (Waiting waiting : db(handle -> RunTable.unsaid(handle, run.id()))) {
            if (scribe.lost().isPresent() || scribe.silent()) {
                return;
            }
            say(waiting, there.agent(), up);
        }
    }

    private void say(Waiting waiting, Agent agent, Session up) {
        up.beforeWrite();
        Optional<Loss> loss = up.loss();
        String text = loss.map(lost -> Spoken.note(lost.sentence())).orElse("") + note + Spoken.text(waiting.message());
        Optional<RunEvent> event = saidAny && steered.add(waiting.id())
                ? Optional.of(new RunEvent.Steered(run.id(), waiting.message().actor()))
                : Optional.empty();
        boolean steering = scribe.busy();
        int begun = scribe.begun();
        scribe.saying(waiting.id(), event);
        if (scribe.silent()) {
            return;
        }
        try {
            agent.say(text);
        } catch (SandboxException e) {
            db(handle -> {
                RunTable.said(handle, waiting.id(), false);
                return waiting;
            });
            throw e;
        }
        saidAny = true;
        steered.add(waiting.id());
        note = "";
        if (steering) {
            db(handle -> {
                RunTable.taken(handle, run.id());
                return waiting;
            });
            // If its run ended while it was told, it may be about to begin another.
            doubting = scribe.outcome().isPresent() && scribe.begun() == begun;
            doubtUntil = System.nanoTime() + BEGINNING.toNanos();
        }
        if (loss.isPresent()) {
            up.lossTold();
        }
    }

    /** Copies what the agent wrote down, and the files it left for people. */
    private void keep(Agent agent, Session up) {
        try {
            if (scribe.takeToolEnded()) {
                office.artifacts().collectOfRun(up, run.actor(), run.id());
            }
            if (scribe.takeNoted()) {
                transcript.follow(agent);
            }
        } catch (SandboxException e) {
            RunMeters.trouble("run.keep.failed", key, run.id(), e);
        }
    }

    /** Ends the run if it is to. @return false if it goes on */
    private boolean settled() {
        Optional<Ended> outcome = scribe.outcome();
        Stopping stop = stopping;
        if (stop != null) {
            boolean over = outcome.isPresent() || scribe.lost().isPresent();
            if (!over && System.nanoTime() - stop.deadline < 0) {
                return false;
            }
            Seat there = seat;
            if (!over && there != null) {
                crew.drop(there);
                seat = null;
            }
            // It may have been done before it heard that it should stop.
            boolean done =
                    outcome.filter(ended -> ended.outcome() == Outcome.DONE).isPresent();
            return end(done ? outcome.get() : stop.as, stop.by, false);
        }
        if (outcome.isEmpty()) {
            return false;
        }
        if (doubting && System.nanoTime() - doubtUntil < 0) {
            return false;
        }
        doubting = false;
        return end(outcome.get(), run.actor(), true);
    }

    private Duration untilNext() {
        long now = System.nanoTime();
        Duration next = LONG;
        Stopping stop = stopping;
        if (stop != null) {
            next = least(next, Duration.ofNanos(stop.deadline - now));
        } else if (!scribe.asking()) {
            next = least(next, patience.silence().minus(scribe.silence()));
            next = least(next, patience.run().minus(worked()));
        }
        if (doubting) {
            next = least(next, Duration.ofNanos(doubtUntil - now));
        }
        return next.compareTo(Duration.ofMillis(1)) < 0 ? Duration.ofMillis(1) : next;
    }

    private static Duration least(Duration a, Duration b) {
        return a.compareTo(b) < 0 ? a : b;
    }

    /** How long the agent works on it, without what people took to answer. */
    private Duration worked() {
        return Duration.ofNanos(System.nanoTime() - began).minus(scribe.waited());
    }

    private void checkLimits(Agent agent) {
        if (scribe.asking()) {
            return;
        }
        String rest = "; what it did is in the workspace; ask it to go on, or to do less at a time";
        if (worked().compareTo(patience.run()) >= 0) {
            stopForGood(agent, "the agent worked for longer than " + words(patience.run()) + " and was stopped" + rest);
        } else if (scribe.silence().compareTo(patience.silence()) >= 0) {
            stopForGood(
                    agent,
                    "nothing was heard of the agent for " + words(patience.silence()) + ", so it was stopped" + rest);
        }
    }

    private static String words(Duration time) {
        return time.toSeconds() >= 120 ? time.toMinutes() + " minutes" : time.toSeconds() + " seconds";
    }

    private void stopForGood(Agent agent, String why) {
        // Those who say something now have to wait until this is over.
        db(handle -> RunTable.requestAbort(handle, key, run.actor()));
        stop(agent, new Ended(Outcome.FAILED, Optional.of(why)), run.actor());
    }

    private void stop(Agent agent, Ended as, String by) {
        if (stopping != null) {
            return;
        }
        questions.deny();
        long now = System.nanoTime();
        if (!saidAny) {
            stopping = new Stopping(as, by, now);
            return;
        }
        stopping = new Stopping(as, by, now + patience.command().toNanos());
        try {
            agent.abort();
            if (!agent.busy() && !scribe.busy()) {
                stopping = new Stopping(as, by, System.nanoTime() + BEGINNING.toNanos());
            }
        } catch (SandboxException e) {
            RunMeters.trouble("agent.abort.failed", key, run.id(), e);
            stopping = new Stopping(as, by, System.nanoTime());
        }
    }

    private Optional<String> abortedBy() {
        return db(handle -> RunTable.abortedBy(handle, run.id()));
    }

    // ---- when it fails -------------------------------------------------------------------------------------------

    /** @return false if it is to be tried once more */
    private boolean failed(SandboxException why) {
        if (office.closing() || scribe.silent()) {
            return true;
        }
        boolean wasUp = session != null;
        leaveAll();
        Optional<Ended> outcome = scribe.outcome();
        if (outcome.isPresent()) {
            return end(outcome.get(), run.actor(), true);
        }
        Optional<String> by = abortedBy();
        if (by.isPresent()) {
            Stopping stop = stopping;
            Ended as = stop == null ? new Ended(Outcome.ABORTED, Optional.empty()) : stop.as;
            return end(as, by.get(), false);
        }
        if (wasUp && attempt < MOST_ATTEMPTS && scribe.acted() < ACTED && passing(why)) {
            office.meters().retried(run, why);
            attempt++;
            if (saidAny) {
                note = Spoken.note("the attempt before this one was interrupted, because the agent was lost. Look at"
                        + " what is there before you do something again.");
            }
            saidAny = false;
            if (!scribe.again()) {
                return true;
            }
            scribe.status("The agent was lost, trying once more");
            return false;
        }
        String reason = LogText.ends(String.valueOf(why.getMessage()), LogText.ARGUMENT);
        String sentence = scribe.acted() >= ACTED
                ? "the agent was lost after " + scribe.acted() + " steps (" + reason
                        + "); what it did is in the workspace; ask it to go on"
                : saidAny
                        ? "the agent was lost (" + reason + "); say it again"
                        : "the agent could not be started: " + reason;
        return end(new Ended(Outcome.FAILED, Optional.of(sentence)), run.actor(), false);
    }

    /** Whether it may go better the next time. */
    private static boolean passing(SandboxException why) {
        return switch (why.code()) {
            case GONE, TIMEOUT, UNAVAILABLE, CONFLICT, NOT_FOUND -> true;
            default -> false;
        };
    }

    private void leaveAll() {
        questions.cancel();
        Seat there = seat;
        if (there != null) {
            seat = null;
            crew.drop(there);
        }
        Session up = session;
        if (up != null) {
            session = null;
            up.suspect();
            up.close();
        }
    }

    // ---- ending --------------------------------------------------------------------------------------------------

    /** @return false if there is more to be done in it */
    private boolean end(Ended ended, String by, boolean natural) {
        keepAll();
        return switch (scribe.end(ended, by, natural)) {
            case MORE -> {
                look();
                yield false;
            }
            case LET_GO -> true;
            case ENDED -> {
                Run.State state = Run.State.of(ended.outcome());
                office.meters()
                        .ended(run, state, ended.message().orElse(""), Duration.ofNanos(System.nanoTime() - began));
                Seat there = seat;
                if (there != null) {
                    there.rest();
                    if (!there.agent().alive()) {
                        crew.drop(there);
                    }
                    seat = null;
                }
                office.sessions().signals().tell(Office.topic(key));
                yield true;
            }
        };
    }

    private void keepAll() {
        Session up = session;
        Seat there = seat;
        try {
            if (up != null) {
                office.artifacts().collectOfRun(up, run.actor(), run.id());
            }
            if (there != null && there.agent().alive()) {
                transcript.follow(there.agent());
            }
        } catch (SandboxException e) {
            RunMeters.trouble("run.keep.failed", key, run.id(), e);
        }
    }

    /** Whatever is not over is left to whoever comes next. */
    private void letGo() {
        questions.cancel();
        scribe.letGo();
        Seat there = seat;
        if (there != null) {
            crew.release(there);
        }
        Session up = session;
        if (up != null) {
            up.close();
        }
    }
}
