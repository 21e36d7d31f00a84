package dev.berth.agent.chat;

import dev.berth.agent.Agent;
import dev.berth.agent.AgentEvent;
import dev.berth.agent.AgentEvent.Asked;
import dev.berth.agent.AgentEvent.Ended;
import dev.berth.agent.AgentEvent.Status;
import dev.berth.agent.AgentEvent.Text;
import dev.berth.agent.AgentEvent.ToolEnded;
import dev.berth.agent.AgentEvent.ToolStarted;
import dev.berth.agent.AgentEvent.ToolUpdated;
import dev.berth.agent.AgentEvent.Used;
import dev.berth.agent.AgentListener;
import dev.berth.agent.AgentRuntime;
import dev.berth.agent.Station;
import dev.berth.agent.chat.Stop.Stopped;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The coding agent in the sandbox: started for its first task, kept for the next ones, and started again once when it is
 * lost at work.
 *
 * <p>The position of what it tells has two parts: which task it is about, and how far the agent's own output was read. The
 * second stays before the words that may become the report, so that who takes up the task hears all of them. The first
 * tells whether the second belongs to the task that is taken up.
 */
final class InnerAgent {
    private static final Logger LOG = LoggerFactory.getLogger(InnerAgent.class);
    private static final int OWN_BITS = 40;
    private static final long OWN = (1L << OWN_BITS) - 1;
    private static final int LONGEST_REPORT = 256 << 10;

    /** Whoever has it. */
    interface Owner {
        /** It does something. */
        void pass(AgentEvent event);

        /** It was started, and has this name for its conversation. */
        void started(String conversation);

        /** It is gone, and had nothing to do. */
        void lostIdle(SandboxException why);
    }

    /** What came of a task. */
    record Report(boolean ok, String text) {}

    /** A task, as far as it has come. */
    private static final class Task {
        private final String call;
        private final boolean resumed;
        private final StringBuilder text = new StringBuilder();
        private final CompletableFuture<Optional<Ended>> end = new CompletableFuture<>();
        private int acted;

        Task(String call, boolean resumed) {
            this.call = call;
            this.resumed = resumed;
        }
    }

    private final AgentRuntime runtime;
    private final Station station;
    private final Owner owner;
    // All of these are guarded by this.
    private @Nullable Agent agent;
    private @Nullable Hearing hearing;
    private @Nullable Task task;
    private long sequence;
    private long mark;
    private boolean ended;
    private boolean closed;

    /** @param tasks how many uses of tools there were before */
    InnerAgent(AgentRuntime runtime, Station station, long tasks, Owner owner) {
        this.runtime = runtime;
        this.station = station;
        this.sequence = sequence(tasks, 1);
        this.owner = owner;
    }

    private static long sequence(long number, int attempt) {
        return number * 2 + attempt - 1;
    }

    synchronized long position() {
        return (sequence << OWN_BITS) | (mark & OWN);
    }

    /**
     * Takes up the task that an agent in the sandbox was given before.
     *
     * @param number of the task
     * @param position as it was told last
     * @return false if that task is nobody's any more; then no agent runs
     */
    boolean resume(String call, long number, long position) {
        if (position >> (OWN_BITS + 1) != number) {
            endLeft();
            return false;
        }
        Hearing ears = new Hearing();
        synchronized (this) {
            hearing = ears;
            task = new Task(call, true);
            sequence = position >> OWN_BITS;
            mark = position & OWN;
        }
        Optional<Agent> found = attach(position & OWN, true, ears);
        synchronized (this) {
            agent = found.orElse(null);
            if (found.isEmpty()) {
                task = null;
                hearing = null;
            }
        }
        return found.isPresent();
    }

    /** Waits for the end of the task that was taken up. */
    Report goOn(String words, long number, Stop stop) throws Stopped {
        try {
            return perform(words, number, stop, true);
        } finally {
            finish();
        }
    }

    /** Gives it a task and waits for its report. */
    Report work(String call, String words, long number, Stop stop) throws Stopped {
        try {
            begin(new Task(call, false), number, 1);
            return perform(words, number, stop, false);
        } finally {
            finish();
        }
    }

    private Report perform(String words, long number, Stop stop, boolean begun) throws Stopped {
        boolean said = begun;
        for (int attempt = 1; ; attempt++) {
            Task now = current();
            try {
                if (!said) {
                    say(words);
                }
                Optional<Ended> end = await(now, stop);
                if (end.isPresent()) {
                    return report(now, end.get());
                }
            } catch (SandboxException e) {
                stop.check();
                if (attempt == 2) {
                    throw e;
                }
                LOG.debug("the agent did not take its task", e);
                drop();
            }
            stop.check();
            if (attempt == 2 || now.resumed || now.acted > 1) {
                return new Report(
                        false,
                        "error: the coding agent was lost at work. The task may be done in part, so have it look before it"
                                + " is done again.");
            }
            owner.pass(new Status("The coding agent was lost; starting it again"));
            begin(new Task(now.call, false), number, 2);
            said = false;
        }
    }

    private synchronized Task current() {
        if (task == null) {
            throw new IllegalStateException("there is no task");
        }
        return task;
    }

    /** Brings the agent up, and hears it as being at this task. */
    private void begin(Task given, long number, int attempt) {
        boolean fresh = open();
        String conversation;
        synchronized (this) {
            Agent opened = agent;
            if (opened == null || hearing == null) {
                throw SandboxException.unavailable("the coding agent ended right after its start");
            }
            task = given;
            sequence = sequence(number, attempt);
            mark = hearing.at;
            conversation = opened.conversation();
        }
        if (fresh) {
            owner.started(conversation);
        }
        owner.pass(new AgentEvent.Noted()); // from here on the position is that of this task
    }

    private void say(String words) {
        Agent listening;
        synchronized (this) {
            listening = agent;
        }
        if (listening == null) {
            throw SandboxException.unavailable("the coding agent is gone");
        }
        listening.say(words);
    }

    private synchronized void finish() {
        task = null;
    }

    private static Report report(Task done, Ended end) {
        String text = done.text.toString().strip();
        String said = text.isEmpty() ? "" : "\n\n" + text;
        return switch (end.outcome()) {
            case FAILED ->
                new Report(
                        false,
                        "error: the coding agent failed: " + end.message().orElse("it did not say why") + said);
            case ABORTED -> new Report(false, "error: the coding agent was stopped before it was done." + said);
            case DONE -> {
                if (text.isEmpty() && done.resumed && done.acted == 0) {
                    yield new Report(
                            false,
                            "error: the server was restarted meanwhile, and the report is lost. Ask the agent again what it"
                                    + " has done.");
                }
                yield new Report(true, text.isEmpty() ? "(It is done, and said nothing.)" : text);
            }
        };
    }

    /** Waits for the end of a task; empty if the agent was lost. */
    private Optional<Ended> await(Task waited, Stop stop) throws Stopped {
        try {
            return stop.await(waited.end);
        } catch (Stopped e) {
            if (e.kind() == Stop.Kind.ABORT) {
                abort(waited);
            }
            throw e;
        }
    }

    private void abort(Task aborted) {
        Agent stopped;
        synchronized (this) {
            stopped = agent;
        }
        try {
            if (stopped != null) {
                stopped.abort();
                Optional<Ended> _ =
                        aborted.end.get(station.config().patience().command().toMillis(), TimeUnit.MILLISECONDS);
            }
        } catch (SandboxException | TimeoutException | ExecutionException e) {
            LOG.debug("the agent did not stop, so it is ended", e);
            drop();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Returns whether it was started now. */
    private boolean open() {
        synchronized (this) {
            if (agent != null && agent.alive()) {
                return false;
            }
        }
        drop();
        boolean begins = station.past().conversation().isEmpty();
        Hearing ears = listen();
        Optional<Agent> left = attach(0, false, ears);
        if (left.isPresent() && !begins && !left.get().busy() && left.get().alive()) {
            keep(left.get(), ears);
            return false;
        }
        // Nobody waits for what one does that was left at work, and none has to remember a conversation that is
        // forgotten.
        left.ifPresent(InnerAgent::endAndClose);
        ears = listen();
        Agent started = runtime.start(station, ears);
        if (begins && started.transcript(0).length > 0) {
            ears = listen();
            started = startAnew(started, ears);
        }
        keep(started, ears);
        return true;
    }

    private synchronized Hearing listen() {
        Hearing ears = new Hearing();
        hearing = ears;
        return ears;
    }

    /** It found an earlier conversation in the sandbox. That is set aside, not lost: a person may want to look at it. */
    private Agent startAnew(Agent remembering, Hearing ears) {
        String file = remembering.conversation();
        endAndClose(remembering);
        if (file.startsWith("/") && station.sandbox().files().exists(file)) {
            station.sandbox().files().move(file, file + ".earlier");
        }
        return runtime.start(station, ears);
    }

    /** It may have been let go of, or ended, while it came up. */
    private void keep(Agent opened, Hearing ears) {
        boolean useless;
        synchronized (this) {
            useless = ended;
            if (hearing == ears && !closed) {
                agent = opened;
                return;
            }
        }
        if (useless) {
            endAndClose(opened);
        } else {
            opened.close();
        }
    }

    private Optional<Agent> attach(long position, boolean busy, AgentListener ears) {
        try {
            return runtime.attach(station, position, busy, ears);
        } catch (SandboxException e) {
            if (e.code() == ErrorCode.TIMEOUT) {
                LOG.debug("the agent that was left did not answer, and was ended", e);
                return Optional.empty();
            }
            throw e;
        }
    }

    private static void endAndClose(Agent agent) {
        try (agent) {
            agent.end();
        }
    }

    /** Ends the one that a server before this left, if any. */
    void endLeft() {
        attach(0, false, new Hearing()).ifPresent(InnerAgent::endAndClose);
    }

    /** Ends it, and hears nothing more of it. */
    private void drop() {
        Agent dropped;
        synchronized (this) {
            dropped = agent;
            agent = null;
            hearing = null;
        }
        if (dropped != null) {
            try {
                endAndClose(dropped);
            } catch (SandboxException e) {
                LOG.debug("the agent could not be ended; it may be gone already", e);
            }
        }
    }

    void decide(String question, boolean allowed) {
        Agent asking;
        synchronized (this) {
            asking = agent;
        }
        if (asking != null) {
            asking.decide(question, allowed);
        }
    }

    void end() {
        Agent last;
        synchronized (this) {
            ended = true;
            closed = true;
            last = agent;
            agent = null;
            hearing = null;
        }
        if (last != null) {
            endAndClose(last);
        } else {
            endLeft();
        }
    }

    /** Lets go of it, and it works on. */
    void close() {
        Agent last;
        synchronized (this) {
            closed = true;
            last = agent;
            agent = null;
            hearing = null;
        }
        if (last != null) {
            last.close();
        }
    }

    /** Hears one agent, for as long as it is the one. */
    private final class Hearing implements AgentListener {
        /** Guarded by the outer object. */
        private long at;

        @Override
        public void heard(AgentEvent event, long position) {
            Task heard;
            synchronized (InnerAgent.this) {
                at = position;
                heard = task;
                if (heard == null || hearing != this) {
                    return;
                }
                take(heard, event);
                if (heard.text.isEmpty() && !(event instanceof Ended)) {
                    mark = position;
                }
            }
            passOn(heard, event);
        }

        private void take(Task heard, AgentEvent event) {
            switch (event) {
                case Text text -> {
                    if (heard.text.length() < LONGEST_REPORT) {
                        heard.text.append(text.delta());
                    }
                }
                case ToolStarted _ -> {
                    heard.text.setLength(0); // what it says after its last tool is its report
                    heard.acted++;
                }
                default -> {}
            }
        }

        private void passOn(Task heard, AgentEvent event) {
            String prefix = heard.call + "/";
            switch (event) {
                case ToolStarted e ->
                    owner.pass(new ToolStarted(prefix + e.call(), e.tool(), e.title(), e.arguments()));
                case ToolUpdated e -> owner.pass(new ToolUpdated(prefix + e.call(), e.output()));
                case ToolEnded e -> owner.pass(new ToolEnded(prefix + e.call(), e.ok(), e.output()));
                case Asked _, Status _, Used _ -> owner.pass(event);
                case Ended e -> heard.end.complete(Optional.of(e));
                default -> {} // its words are its report, and its thoughts are its own
            }
        }

        @Override
        public void lost(SandboxException why) {
            Agent gone;
            Task lost;
            synchronized (InnerAgent.this) {
                if (hearing != this) {
                    return;
                }
                gone = agent;
                agent = null;
                hearing = null;
                lost = task;
            }
            if (gone != null) {
                gone.close();
            }
            LOG.debug("the agent is lost", why);
            if (lost != null) {
                lost.end.complete(Optional.empty());
            } else {
                owner.lostIdle(why);
            }
        }
    }
}
