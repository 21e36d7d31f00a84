package dev.berth.agent.run;

import dev.berth.agent.AgentEvent;
import dev.berth.agent.AgentEvent.Asked;
import dev.berth.agent.AgentEvent.Ended;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.EventLog;
import dev.berth.session.SessionKey;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jdbi.v3.core.Handle;
import org.jspecify.annotations.Nullable;

/**
 * Writes down what an agent does in a run. Events go to the session's log in one transaction with the position up to which
 * the agent was heard, so that whoever takes it up from there writes every event once.
 *
 * <p>An agent may say whatever it likes as fast as it likes: pieces of text are gathered, news of tools are passed over if
 * there are newer ones, and what is too much is dropped. While something is written the agent waits.
 *
 * <p>If the run is another server's by now, or the database is away for long, this falls silent and has let go.
 */
final class Scribe {
    private static final Duration GATHERING = Duration.ofMillis(100);
    private static final Duration BETWEEN_UPDATES = Duration.ofMillis(500);
    private static final int GATHERED = 16 << 10;
    private static final int PIECE = 16 << 10;
    private static final int MOST_TEXT = 4 << 20;
    private static final int MOST_OTHER = 16 << 20;
    private static final int MOST_ANSWER = 1 << 20;
    /** An answer that is longer is written at the end alone. */
    private static final int SHORT_ANSWER = 16 << 10;

    private static final int MOST_TOOLS = 64;
    private static final int MOST_QUESTIONS = 16;
    private static final int EVENT = 100;

    private static final Duration RETRY = Duration.ofSeconds(1);
    private static final int RETRIES = 60;

    /** What came of ending a run. */
    enum Closing {
        ENDED,
        /** There is something to be done about it still. */
        MORE,
        LET_GO
    }

    private final Office office;
    private final Run run;
    private final SessionKey key;
    private final Consumer<Asked> questioner;
    private final Bell bell;

    private final ReentrantLock lock = new ReentrantLock();
    // All of this is guarded by the lock.
    private final List<RunEvent> ready = new ArrayList<>();
    private final StringBuilder piece = new StringBuilder();
    private boolean pieceIsThought;
    private final Map<String, String> updates = new LinkedHashMap<>();
    private final Map<String, Asked> questions;
    private final StringBuilder answer;
    private boolean flushing;
    private boolean updating;
    private int textLeft = MOST_TEXT;
    private int otherLeft = MOST_OTHER;
    private boolean saidTooMuch;
    private boolean seated;
    private long position;
    private long askedSince;
    private long waited;

    private volatile boolean busy;
    private int begun;
    private int acted;
    private volatile long lastHeard = System.nanoTime();
    private volatile @Nullable Ended outcome;
    private volatile @Nullable SandboxException lost;
    private volatile boolean silent;
    private volatile boolean noted;
    private volatile boolean toolEnded;

    /** @param questioner is told what the agent asks, on the agent's thread */
    Scribe(Office office, RunTable.Standing standing, Consumer<Asked> questioner, Bell bell) {
        this.office = office;
        this.run = standing.run();
        this.key = run.session();
        this.questioner = questioner;
        this.bell = bell;
        this.acted = run.acted();
        this.questions = new LinkedHashMap<>(standing.questions());
        this.outcome = standing.outcome().orElse(null);
        this.answer = new StringBuilder(
                standing.said() ? office.database().query(handle -> RunTable.answer(handle, run)) : "");
        this.askedSince = System.nanoTime();
    }

    // ---- what is known -------------------------------------------------------------------------------------------

    boolean busy() {
        return busy;
    }

    /** How often an agent's run has begun. */
    int begun() {
        lock.lock();
        try {
            return begun;
        } finally {
            lock.unlock();
        }
    }

    int acted() {
        lock.lock();
        try {
            return acted;
        } finally {
            lock.unlock();
        }
    }

    Optional<Ended> outcome() {
        return Optional.ofNullable(outcome);
    }

    Optional<SandboxException> lost() {
        return Optional.ofNullable(lost);
    }

    /** Whether this has let go, or the run is over. */
    boolean silent() {
        return silent;
    }

    boolean takeNoted() {
        boolean was = noted;
        noted = false;
        return was;
    }

    boolean takeToolEnded() {
        boolean was = toolEnded;
        toolEnded = false;
        return was;
    }

    Collection<Asked> questions() {
        lock.lock();
        try {
            return List.copyOf(questions.values());
        } finally {
            lock.unlock();
        }
    }

    /** For how long nothing was heard; no time passes while the agent waits for an answer. */
    Duration silence() {
        return asking() ? Duration.ZERO : Duration.ofNanos(System.nanoTime() - lastHeard);
    }

    /** For how long the agent waited for answers so far. */
    Duration waited() {
        lock.lock();
        try {
            return Duration.ofNanos(waited + (questions.isEmpty() ? 0 : System.nanoTime() - askedSince));
        } finally {
            lock.unlock();
        }
    }

    boolean asking() {
        lock.lock();
        try {
            return !questions.isEmpty();
        } finally {
            lock.unlock();
        }
    }

    // ---- what the driver does ------------------------------------------------------------------------------------

    /** From here on an agent is heard, from a position on. */
    void seat(long from, boolean alreadyBusy) {
        lock.lock();
        try {
            seated = true;
            position = from;
            busy = alreadyBusy;
            lost = null;
            lastHeard = System.nanoTime();
        } finally {
            lock.unlock();
        }
    }

    void status(String text) {
        lock.lock();
        try {
            if (!silent) {
                seal(true);
                ready.add(new RunEvent.Status(run.id(), LogText.head(text, LogText.TITLE)));
                write(_ -> true);
            }
        } finally {
            lock.unlock();
        }
    }

    /** A message is about to be given to the agent, so what was heard of an end is not the end of that. */
    void saying(long message, Optional<RunEvent> event) {
        lock.lock();
        try {
            outcome = null;
            lastHeard = System.nanoTime();
            seal(true);
            event.ifPresent(ready::add);
            write(handle -> {
                RunTable.said(handle, message, true);
                return true;
            });
        } finally {
            lock.unlock();
        }
    }

    void answered(String question) {
        lock.lock();
        try {
            if (questions.remove(question) != null) {
                if (questions.isEmpty()) {
                    waited += System.nanoTime() - askedSince;
                }
                lastHeard = System.nanoTime();
                if (!silent) {
                    write(_ -> true);
                }
            }
        } finally {
            lock.unlock();
        }
        bell.ring();
    }

    /** The run is begun again with another agent. @return false if it was let go of */
    boolean again() {
        lock.lock();
        try {
            seal(true);
            updates.clear();
            questions.clear();
            outcome = null;
            lost = null;
            busy = false;
            position = 0;
            seated = false;
            answer.setLength(0);
            write(handle -> {
                RunTable.again(handle, run.id());
                return true;
            });
            return !silent;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Ends the run.
     *
     * @param natural whether the agent has ended it by itself: then a message that came meanwhile is for it still
     */
    Closing end(Ended ended, String actor, boolean natural) {
        lock.lock();
        try {
            if (silent) {
                return Closing.LET_GO;
            }
            if (natural && outcome == null) {
                return Closing.MORE;
            }
            updates.clear();
            seal(true);
            List<RunEvent> last = new ArrayList<>(ready);
            last.add(new RunEvent.Ended(run.id(), ended.outcome(), ended.message()));
            Optional<Closing> closing = patiently(handle -> {
                RunTable.lock(handle, run.id());
                if (natural && !RunTable.unsaid(handle, run.id()).isEmpty()) {
                    return Closing.MORE;
                }
                if (!RunTable.end(handle, run.id(), office.server(), ended, acted, LogText.clean(answer.toString()))) {
                    return Closing.LET_GO;
                }
                append(handle, last.subList(0, last.size() - 1), run.actor());
                append(handle, last.subList(last.size() - 1, last.size()), actor);
                return Closing.ENDED;
            });
            if (closing.isEmpty() || closing.get() != Closing.MORE) {
                silent = true;
            }
            if (closing.filter(how -> how == Closing.ENDED).isPresent()) {
                office.sessions().events().wrote(key);
            }
            return closing.orElse(Closing.LET_GO);
        } finally {
            lock.unlock();
        }
    }

    /** Writes what is gathered and hears nothing more. */
    void letGo() {
        lock.lock();
        try {
            if (!silent) {
                flush();
                silent = true;
            }
        } finally {
            lock.unlock();
        }
    }

    // ---- what the agent does -------------------------------------------------------------------------------------

    void heard(AgentEvent event, long end) {
        lock.lock();
        try {
            if (silent) {
                return;
            }
            lastHeard = System.nanoTime();
            position = end;
            take(event);
        } finally {
            lock.unlock();
        }
    }

    void lost(SandboxException why) {
        lock.lock();
        try {
            if (!silent) {
                flush();
                busy = false;
                lost = why;
            }
        } finally {
            lock.unlock();
        }
        bell.ring();
    }

    private void take(AgentEvent event) {
        switch (event) {
            case AgentEvent.Began _ -> began();
            case AgentEvent.Status e ->
                other(new RunEvent.Status(run.id(), LogText.head(e.text(), LogText.TITLE)), EVENT);
            case AgentEvent.Text e -> text(e.delta(), false);
            case AgentEvent.Thought e -> text(e.delta(), true);
            case AgentEvent.ToolStarted e -> toolStarted(e);
            case AgentEvent.ToolUpdated e -> toolUpdated(e);
            case AgentEvent.ToolEnded e -> {
                updates.remove(call(e.call()));
                String output = LogText.ends(e.output(), LogText.OUTPUT);
                other(new RunEvent.ToolEnded(run.id(), call(e.call()), e.ok(), output), output.length());
                toolEnded = true;
                bell.ring();
            }
            case Asked e -> asked(e);
            case AgentEvent.Used e ->
                other(new RunEvent.Used(run.id(), e.inputTokens(), e.outputTokens(), e.cost()), EVENT);
            case AgentEvent.Noted _ -> {
                noted = true;
                bell.ring();
            }
            case Ended e -> {
                if (outcome == null) {
                    Optional<String> why = e.message().map(message -> LogText.ends(message, LogText.ARGUMENT));
                    outcome = new Ended(e.outcome(), why);
                }
                busy = false;
                flush();
                bell.ring();
            }
        }
    }

    private void began() {
        if (!answer.isEmpty()) {
            text("\n\n", false);
        }
        busy = true;
        begun++;
        outcome = null;
        seal(true);
        write(handle -> {
            RunTable.taken(handle, run.id());
            return true;
        });
        bell.ring();
    }

    private void text(String delta, boolean thought) {
        int length = Math.min(delta.length(), textLeft);
        textLeft -= length;
        if (length < delta.length()) {
            tooMuch();
        }
        if (thought != pieceIsThought) {
            seal(true);
            pieceIsThought = thought;
        }
        piece.append(delta, 0, length);
        if (!thought) {
            answer.append(delta, 0, Math.min(length, MOST_ANSWER - answer.length()));
        }
        if (piece.length() >= GATHERED || ready.size() >= EVENT) {
            seal(false);
            write(_ -> true);
        } else if (!flushing) {
            flushing = true;
            later(GATHERING, () -> flushing = false);
        }
    }

    private void toolStarted(AgentEvent.ToolStarted e) {
        acted++;
        answer.setLength(0);
        Map<String, Object> arguments = LogText.arguments(e.arguments(), LogText.ARGUMENT);
        RunEvent event = new RunEvent.ToolStarted(
                run.id(),
                call(e.call()),
                LogText.head(e.tool(), LogText.TITLE),
                LogText.head(e.title(), LogText.TITLE),
                arguments);
        other(event, arguments.toString().length());
    }

    private static String call(String call) {
        return LogText.head(call, LogText.TITLE);
    }

    /** The newest of each tool is written, now and then. */
    private void toolUpdated(AgentEvent.ToolUpdated e) {
        String call = call(e.call());
        if (updates.size() < MOST_TOOLS || updates.containsKey(call)) {
            updates.put(call, LogText.tail(e.output(), LogText.UPDATE));
        }
        if (!updating) {
            updating = true;
            later(BETWEEN_UPDATES, this::update);
        }
    }

    private void update() {
        updating = false;
        seal(true);
        updates.forEach((call, output) -> {
            if (spend(output.length())) {
                ready.add(new RunEvent.ToolUpdated(run.id(), call, output));
            }
        });
        updates.clear();
    }

    private void asked(Asked e) {
        if (questions.size() >= MOST_QUESTIONS) {
            tooMuch();
            return;
        }
        if (questions.isEmpty()) {
            askedSince = System.nanoTime();
        }
        Asked kept = new Asked(
                e.question(),
                e.tool(),
                LogText.head(e.title(), LogText.TITLE),
                // Whoever decides has to see more of it than whoever watches.
                LogText.arguments(e.arguments(), LogText.OUTPUT));
        questions.put(e.question(), kept);
        flush();
        questioner.accept(kept);
    }

    // ---- writing -------------------------------------------------------------------------------------------------

    private void other(RunEvent event, int size) {
        seal(true);
        if (spend(size + EVENT)) {
            ready.add(event);
        }
        write(_ -> true);
    }

    private boolean spend(int size) {
        if (otherLeft < size) {
            tooMuch();
            return false;
        }
        otherLeft -= size;
        return true;
    }

    private void tooMuch() {
        if (!saidTooMuch) {
            saidTooMuch = true;
            seal(true);
            ready.add(
                    new RunEvent.Status(run.id(), "The agent says more than is kept of one run; the rest is left out"));
        }
    }

    /** @param all false if half a character at the end is to wait for its other half */
    private void seal(boolean all) {
        int end = piece.length();
        boolean half = !all && end > 0 && Character.isHighSurrogate(piece.charAt(end - 1));
        int whole = half ? end - 1 : end;
        for (int from = 0; from < whole; ) {
            int to = Math.min(from + PIECE, whole);
            if (to < whole && Character.isHighSurrogate(piece.charAt(to - 1))) {
                to--;
            }
            String text = LogText.clean(piece.substring(from, to));
            ready.add(pieceIsThought ? new RunEvent.Thought(run.id(), text) : new RunEvent.Text(run.id(), text));
            from = to;
        }
        piece.delete(0, whole);
    }

    /** Writes all there is after a while; {@code before} says what is to be written besides. */
    private void later(Duration delay, Runnable before) {
        var _ = office.clock()
                .schedule(
                        () -> Thread.ofVirtual().name("run-flush").start(() -> {
                            lock.lock();
                            try {
                                before.run();
                                if (!silent) {
                                    seal(false);
                                    write(_ -> true);
                                }
                            } finally {
                                lock.unlock();
                            }
                        }),
                        delay.toMillis(),
                        TimeUnit.MILLISECONDS);
    }

    private void flush() {
        seal(true);
        write(_ -> true);
    }

    private void write(Function<Handle, Boolean> besides) {
        List<RunEvent> events = List.copyOf(ready);
        RunTable.Progress progress = new RunTable.Progress(
                acted,
                answer.length() <= SHORT_ANSWER ? LogText.clean(answer.toString()) : null,
                outcome(),
                List.copyOf(questions.values()));
        Optional<Boolean> written = patiently(handle -> {
            if (!RunTable.progress(handle, run.id(), office.server(), progress)) {
                return false;
            }
            append(handle, events, run.actor());
            return besides.apply(handle);
        });
        if (written.filter(done -> done).isPresent()) {
            ready.clear();
            if (!events.isEmpty()) {
                office.sessions().events().wrote(key);
            }
        } else {
            silent = true;
            bell.ring();
        }
    }

    private void append(Handle handle, List<RunEvent> events, String actor) {
        events.forEach(event -> EventLog.append(handle, key, event.logged(actor)));
        if (seated) {
            PlaceTable.progress(handle, key, position, busy);
        }
    }

    /** A database that is away for a moment should cost nobody a run. @return empty if it was away for too long */
    <T> Optional<T> patiently(Function<Handle, T> statements) {
        for (int left = RETRIES; ; left--) {
            try {
                return Optional.of(office.database().transaction(statements));
            } catch (SandboxException e) {
                boolean passing = e.code() == ErrorCode.UNAVAILABLE || e.code() == ErrorCode.TIMEOUT;
                if (!passing) {
                    throw e;
                }
                if (left == 0 || closedWithin(RETRY)) {
                    RunMeters.trouble("run.write.failed", key, run.id(), e);
                    return Optional.empty();
                }
            }
        }
    }

    private boolean closedWithin(Duration time) {
        try {
            return office.closed().await(time.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return true;
        }
    }
}
