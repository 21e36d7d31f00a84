package dev.berth.agent.chat;

import dev.berth.agent.Agent;
import dev.berth.agent.AgentEvent;
import dev.berth.agent.AgentEvent.Asked;
import dev.berth.agent.AgentEvent.Ended;
import dev.berth.agent.AgentEvent.Outcome;
import dev.berth.agent.AgentEvent.Status;
import dev.berth.agent.AgentEvent.Text;
import dev.berth.agent.AgentEvent.Thought;
import dev.berth.agent.AgentEvent.ToolEnded;
import dev.berth.agent.AgentEvent.ToolStarted;
import dev.berth.agent.AgentEvent.Used;
import dev.berth.agent.AgentListener;
import dev.berth.agent.AgentRuntime;
import dev.berth.agent.Past;
import dev.berth.agent.Station;
import dev.berth.agent.chat.ChatMessage.Assistant;
import dev.berth.agent.chat.ChatMessage.Result;
import dev.berth.agent.chat.ChatMessage.User;
import dev.berth.agent.chat.Stop.Stopped;
import dev.berth.sandbox.SandboxException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * A model that talks, in this server, and the coding agent in the sandbox that works for it.
 *
 * <p>What is to be done next follows from the {@linkplain History history} alone: a use of a tool that has no result is
 * performed, anything else is said to the model. So a run is taken up again by going on with what was written down.
 */
final class ChatAgent implements Agent, InnerAgent.Owner {
    private static final Logger LOG = LoggerFactory.getLogger(ChatAgent.class);
    private static final int MOST_MESSAGES = 64;
    private static final int LONGEST_TITLE = 200;
    /** As much as people are shown of what a tool says. */
    private static final int LONGEST_OUTPUT = 16_000;

    private static final String STOPPED = "error: a person stopped this. It may be done in part.";

    /** One run, as long as it goes on. */
    private record Going(Stop stop, CompletableFuture<Boolean> over) {
        Going() {
            this(new Stop(), new CompletableFuture<>());
        }
    }

    private final ChatConfig config;
    private final ModelClient model;
    private final Duration command;
    private final Past past;
    private final History history;
    private final AgentListener listener;
    private final InnerAgent inner;
    private final Map<String, CompletableFuture<Boolean>> questions = new ConcurrentHashMap<>();
    /** Nothing is told while it is held. */
    private final Object state = new Object();

    // These are guarded by state.
    private final Queue<String> messages = new ArrayDeque<>();
    private Going going = new Going();
    private boolean running;
    private boolean busy;
    private Optional<SandboxException> innerLost = Optional.empty();

    private volatile boolean alive = true;
    /** Guarded by this, as are the events in their order. */
    private boolean muted;

    ChatAgent(
            ChatConfig config,
            ModelClient model,
            AgentRuntime runtime,
            Station station,
            History history,
            AgentListener listener) {
        this.config = config;
        this.model = model;
        this.command = station.config().patience().command();
        this.history = history;
        this.past = station.past();
        this.listener = listener;
        Station innerStation = new Station(station.sandbox(), station.workspace(), past(history), station.config());
        this.inner = new InnerAgent(runtime, innerStation, history.calls(), this);
    }

    private static Past past(History history) {
        return new Past() {
            @Override
            public Optional<String> conversation() {
                return history.conversation();
            }

            @Override
            public Optional<byte[]> transcript() {
                return Optional.empty();
            }

            @Override
            public List<Said> said() {
                return history.tasks();
            }
        };
    }

    /** Begins where nothing goes on. What was not done when the last server went away is told to be so. */
    void repair() {
        if (history.isEmpty()) {
            // Another runtime had the conversation before, or what was written down is lost.
            past.said()
                    .forEach(said -> history.add(
                            said.byAgent() ? new Assistant(said.text(), List.of()) : new User(said.text())));
        }
        List<Call> pending = history.pending();
        if (pending.stream().anyMatch(call -> call.tool().equals(Tools.SANDBOX))) {
            inner.endLeft();
        }
        pending.forEach(call -> history.add(new Result(call.id(), History.INTERRUPTED)));
        if (!history.ended()) {
            history.end(false);
        }
    }

    /** Whether a run was going on when the conversation was written down last. */
    boolean interrupted() {
        return !history.ended();
    }

    /** Leaves nothing behind in the sandbox, and is of no use afterwards. */
    void abandon() {
        close();
        inner.endLeft();
    }

    /**
     * Goes on with a run that another server had begun.
     *
     * @param position as it was told last
     */
    void resume(long position) {
        Optional<Call> first = history.pending().stream()
                .findFirst()
                .filter(call -> call.tool().equals(Tools.SANDBOX));
        boolean atWork = first.isPresent() && inner.resume(name(first.get()), history.number(first.get()), position);
        if (first.isPresent() && !atWork) {
            history.add(new Result(first.get().id(), History.INTERRUPTED));
        }
        synchronized (state) {
            running = true;
            busy = true;
        }
        Optional<Call> resumed = first.filter(_ -> atWork);
        Thread.ofVirtual().name("chat-run").start(() -> work(resumed, false));
    }

    @Override
    public String conversation() {
        return "chat";
    }

    @Override
    public boolean busy() {
        synchronized (state) {
            return busy;
        }
    }

    @Override
    public boolean alive() {
        return alive;
    }

    @Override
    public void say(String message) {
        synchronized (state) {
            if (!alive) {
                throw SandboxException.unavailable("the agent is gone; start it again");
            }
            if (messages.size() >= MOST_MESSAGES) {
                throw SandboxException.limit(
                        MOST_MESSAGES + " messages wait for the model already; wait until it has taken them up");
            }
            messages.add(message);
            if (!running) {
                running = true;
                busy = true;
                going = new Going();
                Thread.ofVirtual().name("chat-run").start(() -> work(Optional.empty(), true));
            }
        }
    }

    @Override
    public void abort() {
        Going aborted;
        synchronized (state) {
            messages.clear();
            if (!busy) {
                return;
            }
            aborted = going;
        }
        aborted.stop.ask(Stop.Kind.ABORT);
        try {
            // The coding agent has its own time to stop, and after that is ended.
            boolean _ = aborted.over.get(command.multipliedBy(3).toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            throw SandboxException.timeout(
                    "the run did not stop within " + command.multipliedBy(3).toSeconds() + " s; end the agent");
        } catch (ExecutionException e) {
            throw new IllegalStateException("never fails", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("interrupted while the run was stopped", e);
        }
    }

    @Override
    public void decide(String question, boolean allowed) {
        CompletableFuture<Boolean> own = questions.get(question);
        if (own != null) {
            own.complete(allowed);
        } else {
            inner.decide(question, allowed);
        }
    }

    @Override
    public byte[] transcript(long from) {
        return history.transcript(from);
    }

    // ---- runs ----------------------------------------------------------------------------------------------------

    private void work(Optional<Call> resumed, boolean begins) {
        Optional<Call> atWork = resumed;
        boolean tellBeginning = begins;
        try {
            while (true) {
                Going now;
                synchronized (state) {
                    now = going;
                }
                try {
                    if (tellBeginning) {
                        tell(new AgentEvent.Began());
                    }
                    Ended ended = run(atWork, now.stop);
                    synchronized (state) {
                        busy = false;
                    }
                    tell(ended);
                } finally {
                    now.over.complete(true);
                }
                synchronized (state) {
                    if (messages.isEmpty() || !alive) {
                        running = false;
                        break;
                    }
                    // Said when the last run was over already, so it is the beginning of another one.
                    busy = true;
                    going = new Going();
                }
                tellBeginning = true;
                atWork = Optional.empty();
            }
            loseIfInnerIsLost();
        } catch (Stopped e) {
            LOG.debug("let go of a run");
        } catch (RuntimeException e) {
            // Whoever listens must not be left waiting for a thread that is no more.
            LOG.error("a run could not go on", e);
            lose(SandboxException.unavailable("the run could not go on; see the server's log", e));
        } finally {
            synchronized (state) {
                running = false;
                busy = false;
            }
        }
    }

    /** @throws Stopped only if it was let go of */
    private Ended run(Optional<Call> atWork, Stop stop) throws Stopped {
        Voice voice = new Voice();
        try {
            if (atWork.isPresent()) {
                answer(atWork.get(), goOn(atWork.get(), stop));
            }
            while (true) {
                Optional<Call> call = history.pending().stream().findFirst();
                if (call.isPresent()) {
                    answer(call.get(), perform(call.get(), voice, stop));
                    continue;
                }
                takeUp();
                if (history.rounds() >= config.rounds()) {
                    return failed(
                            "The model used its tools " + config.rounds()
                                    + " times without coming to an end, so it was stopped. Tell it to go on if it should.",
                            false);
                }
                Answer answer = ask(voice, stop);
                if (answer.calls().isEmpty() && answer.text().isBlank()) {
                    return failed("The model gave an empty answer. Say it again, or in other words.", false);
                }
                history.add(new Assistant(answer.text(), answer.calls()));
                tell(new AgentEvent.Noted());
                if (answer.cut()) {
                    tell(new Status("The model reached the limit of its answer's length"));
                }
                if (answer.calls().isEmpty() && nothingSaid()) {
                    return new Ended(Outcome.DONE, Optional.empty());
                }
            }
        } catch (ModelException e) {
            stop.check();
            boolean refusedAgain = e.kind() == ModelException.Kind.REFUSED || e.kind() == ModelException.Kind.TOO_LONG;
            return failed(sentence(e.getMessage()), refusedAgain);
        } catch (Stopped e) {
            if (e.kind() == Stop.Kind.LET_GO) {
                throw e;
            }
            if (history.pending().isEmpty() && !voice.said().isBlank()) {
                history.add(new Assistant(voice.said(), List.of())); // people saw it
            }
            history.pending().forEach(call -> history.add(new Result(call.id(), STOPPED)));
            history.end(false);
            return new Ended(Outcome.ABORTED, Optional.empty());
        }
    }

    private static String sentence(String message) {
        String end = message.endsWith(".") || message.endsWith("…") ? "" : ".";
        return message.substring(0, 1).toUpperCase(Locale.ROOT) + message.substring(1) + end;
    }

    private Ended failed(String message, boolean leftOut) {
        history.end(leftOut);
        return new Ended(Outcome.FAILED, Optional.of(message));
    }

    private boolean nothingSaid() {
        synchronized (state) {
            return messages.isEmpty();
        }
    }

    private void takeUp() {
        boolean any = false;
        while (true) {
            String message;
            synchronized (state) {
                message = messages.poll();
            }
            if (message == null) {
                break;
            }
            history.add(new User(message));
            any = true;
        }
        if (any) {
            tell(new AgentEvent.Noted());
        }
    }

    private Answer ask(Voice voice, Stop stop) throws ModelException, Stopped {
        while (true) {
            voice.again();
            try {
                return model.ask(history.messages(config.instructions()), Tools.all(), voice, stop);
            } catch (ModelException e) {
                if (e.kind() != ModelException.Kind.TOO_LONG || !history.halve()) {
                    throw e;
                }
                tell(new Status("Making the history of the conversation shorter"));
            }
        }
    }

    /** Passes on what the model says. */
    private final class Voice implements ModelClient.Telling {
        private final StringBuilder said = new StringBuilder();
        private boolean spoken;
        private boolean gap;

        /** A tool was used, so that what comes after it stands apart already. */
        void toolUsed() {
            spoken = false;
        }

        String said() {
            return said.toString();
        }

        @Override
        public void again() {
            gap = spoken;
            said.setLength(0);
        }

        @Override
        public void text(String piece) {
            tell(new Text(gap ? "\n\n" + piece : piece));
            gap = false;
            spoken = true;
            said.append(piece);
        }

        @Override
        public void thought(String piece) {
            tell(new Thought(piece));
        }

        @Override
        public void used(long inputTokens, long outputTokens, double cost) {
            tell(new Used(inputTokens, outputTokens, cost > 0 ? Optional.of(cost) : Optional.empty()));
        }

        @Override
        public void status(String text) {
            tell(new Status(text));
        }
    }

    // ---- tools ---------------------------------------------------------------------------------------------------

    private void answer(Call call, String result) {
        history.add(new Result(call.id(), Words.cut(result, config.toolResult())));
        tell(new AgentEvent.Noted());
    }

    /** @return what the model is told about it */
    private String perform(Call call, Voice voice, Stop stop) throws Stopped {
        stop.check();
        Optional<ObjectNode> arguments = call.parsed();
        if (arguments.isEmpty()) {
            return "error: the arguments have to be a JSON object; these were: " + Words.line(call.arguments(), 200);
        }
        return switch (call.tool()) {
            case Tools.SANDBOX -> {
                String task = arguments.get().path("task").asString("");
                if (task.isBlank()) {
                    yield "error: 'task' is missing; it says what the coding agent has to do";
                }
                voice.toolUsed();
                yield sandbox(call, task, stop);
            }
            case Tools.SHOW_FILE -> {
                String path = arguments.get().path("path").asString("");
                if (path.isBlank()) {
                    yield "error: 'path' is missing; it says which file to show";
                }
                voice.toolUsed();
                yield showFile(call, path, arguments.get().path("title").asString(""), stop);
            }
            default ->
                "error: there is no tool '" + call.tool() + "'; there are " + Tools.SANDBOX + " and " + Tools.SHOW_FILE;
        };
    }

    private String sandbox(Call call, String task, Stop stop) throws Stopped {
        tell(new ToolStarted(
                name(call),
                Tools.SANDBOX,
                Words.line(task, LONGEST_TITLE),
                Map.of("task", Words.cut(task, LONGEST_OUTPUT))));
        return report(call, stop, () -> inner.work(name(call), task, history.number(call), stop));
    }

    private String goOn(Call call, Stop stop) throws Stopped {
        String task = call.parsed()
                .map(arguments -> arguments.path("task").asString(""))
                .orElse("");
        return report(call, stop, () -> inner.goOn(task, history.number(call), stop));
    }

    /** As people are told of it. Many models use the same id again and again. */
    private String name(Call call) {
        return "call-" + history.number(call);
    }

    private interface Work {
        InnerAgent.Report perform() throws Stopped;
    }

    private String report(Call call, Stop stop, Work work) throws Stopped {
        InnerAgent.Report report;
        try {
            report = work.perform();
        } catch (Stopped e) {
            if (e.kind() == Stop.Kind.ABORT) {
                tell(new ToolEnded(name(call), false, STOPPED));
            }
            throw e;
        } catch (SandboxException e) {
            switch (e.code()) {
                // There may be another computer by now, which whoever starts this anew knows about.
                case GONE, NOT_FOUND, UNAVAILABLE -> lose(e);
                default -> LOG.debug("the coding agent did not take a task", e);
            }
            stop.check();
            report = new InnerAgent.Report(
                    false, "error: the coding agent could not be given the task: " + e.getMessage());
        }
        tell(new ToolEnded(name(call), report.ok(), Words.cut(report.text(), LONGEST_OUTPUT)));
        return report.text();
    }

    private String showFile(Call call, String path, String title, Stop stop) throws Stopped {
        Map<String, Object> arguments = new LinkedHashMap<>();
        arguments.put("path", path);
        if (!title.isBlank()) {
            arguments.put("title", Words.line(title, LONGEST_TITLE));
        }
        String line = Words.line("Show " + path, LONGEST_TITLE);
        String question = "show_file:" + name(call);
        CompletableFuture<Boolean> decision = new CompletableFuture<>();
        questions.put(question, decision);
        try {
            tell(new ToolStarted(name(call), AgentEvent.SHOW_FILE, line, arguments));
            tell(new Asked(question, AgentEvent.SHOW_FILE, line, arguments));
            boolean shown = stop.await(decision);
            String result = shown
                    ? "The people in this conversation see " + path + " now."
                    : "error: " + path
                            + " could not be shown: it has to be a regular file inside the agent's working directory";
            tell(new ToolEnded(name(call), shown, result));
            return result;
        } catch (Stopped e) {
            if (e.kind() == Stop.Kind.ABORT) {
                tell(new ToolEnded(name(call), false, STOPPED));
            }
            throw e;
        } finally {
            questions.remove(question);
        }
    }

    // ---- what is told --------------------------------------------------------------------------------------------

    @Override
    public void pass(AgentEvent event) {
        tell(event);
    }

    @Override
    public void started(String conversation) {
        synchronized (state) {
            innerLost = Optional.empty();
        }
        history.agent(conversation);
    }

    /** With the coding agent its computer may be gone, and whoever starts this anew knows about that. */
    @Override
    public void lostIdle(SandboxException why) {
        synchronized (state) {
            innerLost = Optional.of(why);
            if (running) {
                return; // it is started again if it is needed
            }
        }
        loseIfInnerIsLost();
    }

    private void loseIfInnerIsLost() {
        Optional<SandboxException> why;
        synchronized (state) {
            why = running ? Optional.empty() : innerLost;
            alive &= why.isEmpty();
        }
        why.ifPresent(this::lose);
    }

    private synchronized void tell(AgentEvent event) {
        if (!muted) {
            listener.heard(event, inner.position());
        }
    }

    private void lose(SandboxException why) {
        letGo();
        synchronized (this) {
            if (!muted) {
                muted = true;
                listener.lost(why);
            }
        }
        inner.close();
    }

    private void letGo() {
        synchronized (state) {
            alive = false;
            messages.clear();
            going.stop.ask(Stop.Kind.LET_GO);
        }
    }

    @Override
    public void end() {
        letGo();
        try {
            inner.end();
        } finally {
            Thread.ofVirtual().name("chat-end").start(() -> lose(SandboxException.unavailable("the agent was ended")));
        }
    }

    /** What the listener hears now is the last, so that who takes up from there hears nothing twice. */
    @Override
    public void close() {
        letGo();
        synchronized (this) {
            muted = true;
        }
        inner.close();
    }
}
