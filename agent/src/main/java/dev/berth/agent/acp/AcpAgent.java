package dev.berth.agent.acp;

import dev.berth.agent.Agent;
import dev.berth.agent.AgentConfig.Patience;
import dev.berth.agent.AgentEvent;
import dev.berth.agent.AgentEvent.Outcome;
import dev.berth.agent.AgentListener;
import dev.berth.agent.Station;
import dev.berth.agent.line.LineChannel;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * An agent that speaks the Agent Client Protocol, over whatever wire.
 *
 * <p>A turn is a prompt and its answer, which comes when the agent is done; a run is one turn or more. The protocol knows no
 * message in a turn, so those wait here and are the prompt of the next one, in the same run.
 */
public final class AcpAgent implements Agent, LineChannel.Receiver {
    private static final Logger LOG = LoggerFactory.getLogger(AcpAgent.class);
    private static final SecureRandom RANDOM = new SecureRandom();
    private static final int PROTOCOL = 1;
    /** To be said by a {@link Wire} that knows of messages which it could not get. */
    public static final String MISSED = "_berth/missed";

    private static final int MOST_WAITING = 100;
    private static final int LONGEST_WAITING = 4 << 20;
    /** How long an agent may take to stop before it is told so once more, as the first may have come before the prompt. */
    private static final Duration STOPPING = Duration.ofSeconds(3);

    private enum State {
        IDLE,
        /** A prompt is under way that no run has begun with yet. */
        BEGINNING,
        RUNNING
    }

    private final Station station;
    private final Notebook notebook;
    private final String process;
    private final Patience patience;
    private final AgentListener listener;
    private final Peer peer = new Peer();

    // Everything from here on is guarded by this, as are the events in their order.
    private final Updates updates;
    private final Map<String, Question> questions = new LinkedHashMap<>();
    private final List<String> waiting = new ArrayList<>();
    private List<String> saying = List.of();
    private String life;
    private String turn = "";
    private long from;
    private long position;
    private boolean forgetful;
    private boolean sending;
    private boolean aborting;
    private boolean muted;
    /** It was found in a turn of which nobody has heard whether it had begun. */
    private boolean mayHaveBegun;

    private volatile String conversation = "";
    private volatile State state;

    private AcpAgent(
            Station station,
            Notebook notebook,
            String process,
            AgentListener listener,
            Wire.Opener opener,
            long position,
            boolean busy,
            Optional<Notes> notes) {
        this.station = station;
        this.notebook = notebook;
        this.process = process;
        this.patience = station.config().patience();
        this.listener = listener;
        this.position = position;
        this.state = busy ? State.RUNNING : State.IDLE;
        this.updates = new Updates(notes.isPresent());
        this.life = notes.map(Notes::life).orElseGet(() -> HexFormat.of().toHexDigits(RANDOM.nextLong()));
        notes.ifPresent(this::recall);
        peer.open(opener, this);
    }

    private void recall(Notes notes) {
        conversation = notes.conversation();
        turn = notes.turn();
        from = notes.from();
        forgetful = notes.forgetful();
        if (state == State.RUNNING) {
            saying = position > from ? List.of() : notes.saying(); // what is heard of a turn was said
            waiting.addAll(notes.waiting());
        }
        mayHaveBegun = state == State.IDLE && !turn.isEmpty();
    }

    /**
     * One that was just started. Waits until it answers, and has the conversation so far if it still knows it.
     *
     * @param process by which it is told from any other
     * @param model as it names it, empty if it has to know by itself which one to take
     */
    public static AcpAgent started(
            Station station,
            Notebook notebook,
            String process,
            AgentListener listener,
            Wire.Opener opener,
            Optional<String> model) {
        AcpAgent agent = new AcpAgent(station, notebook, process, listener, opener, 0, false, Optional.empty());
        try {
            agent.introduce(model);
            return agent;
        } catch (SandboxException e) {
            agent.giveUp(e);
            throw e;
        }
    }

    private void introduce(Optional<String> model) {
        ObjectNode hello = Rpc.object().put("protocolVersion", PROTOCOL);
        hello.putObject("clientCapabilities")
                .put("terminal", false)
                .putObject("fs")
                .put("readTextFile", false)
                .put("writeTextFile", false);
        hello.putObject("clientInfo").put("name", "berth").put("version", "1");
        JsonNode self = peer.ask("initialize", hello, patience.start());
        int version = self.path("protocolVersion").asInt(0);
        if (version != PROTOCOL) {
            throw SandboxException.unsupported("the agent speaks version " + version
                    + " of the Agent Client Protocol, and Berth version " + PROTOCOL + "; use another of its versions");
        }
        boolean loads = self.path("agentCapabilities").path("loadSession").asBoolean(false);
        check(model, loads ? loaded().orElseGet(this::begun) : begun());
        synchronized (this) {
            note();
        }
    }

    private Optional<JsonNode> loaded() {
        Optional<String> former = station.past().conversation();
        if (former.isEmpty()) {
            return Optional.empty();
        }
        try {
            JsonNode loaded = peer.ask("session/load", place().put("sessionId", former.get()), patience.start());
            conversation = former.get();
            return Optional.of(loaded);
        } catch (SandboxException e) {
            if (!peer.alive() || e.code() == ErrorCode.TIMEOUT) {
                throw e;
            }
            LOG.info("the agent does not know its conversation any more, and is told of it: {}", e.getMessage());
            return Optional.empty();
        }
    }

    private JsonNode begun() {
        JsonNode session = peer.ask("session/new", place(), patience.start());
        String id = session.path("sessionId").asString("");
        if (id.isEmpty()) {
            throw SandboxException.unavailable("the agent began a conversation without a name"
                    + peer.wire().complaint());
        }
        synchronized (this) {
            conversation = id;
            forgetful = true;
        }
        return session;
    }

    private ObjectNode place() {
        ObjectNode place = Rpc.object().put("cwd", station.workspace());
        place.putArray("mcpServers");
        return place;
    }

    /** An agent that does not know a model takes another one, or says nothing but that it failed. */
    private void check(Optional<String> model, JsonNode session) {
        for (JsonNode option : session.path("configOptions")) {
            if (model.isPresent()
                    && option.path("id").asString("").equals("model")
                    && option.path("options")
                            .valueStream()
                            .noneMatch(
                                    choice -> choice.path("value").asString("").equals(model.get()))) {
                throw SandboxException.unavailable("the agent does not know the model " + model.get()
                        + "; check its name, and whether it needs a url"
                        + peer.wire().complaint());
            }
        }
    }

    /**
     * One that runs already.
     *
     * @param position from which it is read
     * @param end of what it has said
     * @return empty if it is not known what it was told; then it was ended
     */
    public static Optional<Agent> found(
            Station station,
            Notebook notebook,
            String process,
            AgentListener listener,
            FoundOpener opener,
            long position,
            long end,
            boolean busy) {
        Optional<Notes> notes = notebook.read(process).filter(known -> known.from() <= end);
        if (notes.isEmpty()) {
            try (Wire wire = opener.open(new Unheard(), position)) {
                wire.end();
            }
            return Optional.empty();
        }
        // Before the last prompt all was told, or was its memory of a conversation that it took up.
        long reading = Math.max(position, notes.get().from());
        AcpAgent agent = new AcpAgent(
                station, notebook, process, listener, receiver -> opener.open(receiver, reading), reading, busy, notes);
        try {
            agent.ping();
            agent.resay();
            return Optional.of(agent);
        } catch (SandboxException e) {
            if (e.code() == ErrorCode.TIMEOUT) {
                agent.giveUp(e);
            }
            agent.close();
            throw e;
        }
    }

    /** For an agent that is only ended. */
    private static final class Unheard implements LineChannel.Receiver {
        @Override
        public void record(ObjectNode message, long end) {
            LOG.trace("nobody listens to an agent that is to be ended");
        }

        @Override
        public void over(SandboxException why) {
            LOG.debug("an agent that was not ready was ended", why);
        }
    }

    /** Begins to read from a position. */
    public interface FoundOpener {
        Wire open(LineChannel.Receiver receiver, long position);
    }

    /** All it said before this answer was heard by then. That it does not know what it is asked is an answer too. */
    private void ping() {
        peer.exchange("_berth/ping", Rpc.object(), patience.command());
    }

    /** The server before this one may have been killed before it could say what it wanted to, or what had waited. */
    private void resay() {
        synchronized (this) {
            boolean unsure = !saying.isEmpty() || turn.isEmpty();
            if (!unsure || state != State.RUNNING || sending) {
                return;
            }
            waiting.addAll(0, saying);
            if (waiting.isEmpty()) {
                return;
            }
            sending = true;
        }
        next();
    }

    private void giveUp(SandboxException why) {
        mute();
        try {
            peer.end();
        } catch (SandboxException e) {
            why.addSuppressed(e);
        }
        peer.close();
    }

    @Override
    public String conversation() {
        return conversation;
    }

    @Override
    public boolean busy() {
        return state != State.IDLE;
    }

    @Override
    public boolean alive() {
        return peer.alive();
    }

    // ---- what it is told -----------------------------------------------------------------------------------------

    @Override
    public void say(String message) {
        synchronized (this) {
            peer.requireAlive();
            if (state != State.IDLE) {
                queue(message);
                return;
            }
            state = State.BEGINNING;
            aborting = false;
            sending = true;
            saying = List.of(message);
        }
        try {
            prompt();
        } catch (SandboxException e) {
            synchronized (this) {
                if (state == State.BEGINNING) {
                    state = State.IDLE;
                }
            }
            throw e;
        }
    }

    /** Called with the lock. */
    private void queue(String message) {
        long length =
                message.length() + waiting.stream().mapToLong(String::length).sum();
        if (waiting.size() >= MOST_WAITING || length > LONGEST_WAITING) {
            throw SandboxException.limit(
                    "too many messages wait for the agent; wait until it is done, or stop what it does");
        }
        waiting.add(message);
        note();
    }

    /** What waited is said in one prompt. {@code sending} was set before. */
    private void next() {
        synchronized (this) {
            if (waiting.isEmpty()) { // told to stop meanwhile
                sending = false;
                finish(new AgentEvent.Ended(Outcome.ABORTED, Optional.empty()), position);
                return;
            }
            saying = List.copyOf(waiting);
            waiting.clear();
        }
        try {
            prompt();
        } catch (SandboxException e) {
            LOG.debug("could not say what had waited", e);
            synchronized (this) {
                if (state != State.IDLE && peer.alive()) {
                    finish(
                            new AgentEvent.Ended(
                                    Outcome.FAILED,
                                    Optional.of("a message that came meanwhile could not be said: " + e.getMessage())),
                            position);
                }
            }
        }
    }

    /** Sends what is to be said. Not with the lock, as an agent may have to be heard before it listens. */
    private void prompt() {
        String id = peer.newPrompt();
        try {
            ObjectNode params = Rpc.object().put("sessionId", conversation);
            synchronized (this) {
                turn = id;
                from = position;
                mayHaveBegun = false;
                note();
                var blocks = params.putArray("prompt");
                if (forgetful) {
                    String retold = Retold.of(station.past().said());
                    if (!retold.isEmpty()) {
                        blocks.addObject().put("type", "text").put("text", retold);
                    }
                }
                saying.forEach(text -> blocks.addObject().put("type", "text").put("text", plain(text)));
            }
            peer.send(Rpc.request(id, "session/prompt", params));
            synchronized (this) {
                forgetful = false;
                if (turn.equals(id)) {
                    saying = List.of();
                }
                // If it has answered already, who comes next may still have to hear that.
                note(turn.isEmpty() ? id : turn);
                if (state == State.BEGINNING) {
                    begin();
                }
            }
        } finally {
            synchronized (this) {
                sending = false;
                notifyAll();
            }
        }
    }

    /** What begins with a slash is a command of the agent's; to a person it is text like any other. */
    private static String plain(String message) {
        return message.strip().startsWith("/") ? "\u200b" + message : message;
    }

    @Override
    public void abort() {
        long deadline = System.nanoTime() + patience.command().toNanos();
        List<Question> open;
        synchronized (this) {
            peer.requireAlive();
            if (!waiting.isEmpty()) {
                waiting.clear();
                note();
            }
            aborting = state != State.IDLE;
            until(() -> !sending, deadline);
            open = List.copyOf(questions.values());
            questions.clear();
        }
        open.forEach(question -> peer.send(question.cancelled()));
        while (busy() && System.nanoTime() < deadline) {
            peer.send(Rpc.notification("session/cancel", Rpc.object().put("sessionId", conversation)));
            synchronized (this) {
                until(() -> state == State.IDLE, Math.min(deadline, System.nanoTime() + STOPPING.toNanos()));
            }
        }
        synchronized (this) {
            if (state == State.IDLE) {
                return;
            }
            finish(new AgentEvent.Ended(Outcome.ABORTED, Optional.empty()), position);
        }
        end(); // it does not listen
    }

    /** Called with the lock. */
    private void until(BooleanSupplier condition, long deadline) {
        try {
            for (long left = deadline - System.nanoTime();
                    !condition.getAsBoolean() && peer.alive() && left > 0;
                    left = deadline - System.nanoTime()) {
                TimeUnit.NANOSECONDS.timedWait(this, left);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("interrupted while waiting for the agent", e);
        }
    }

    @Override
    public void decide(String question, boolean allowed) {
        Optional<Question> known;
        synchronized (this) {
            known = Question.named(question, life).filter(_ -> state != State.IDLE);
            questions.remove(question);
        }
        known.ifPresent(open -> peer.send(open.answer(allowed)));
    }

    /** Called with the lock. */
    private void note() {
        note(turn);
    }

    private void note(String current) {
        notebook.write(new Notes(process, life, conversation, current, from, saying, waiting, forgetful));
    }

    // ---- what it says --------------------------------------------------------------------------------------------

    @Override
    public void record(ObjectNode message, long end) {
        String id = message.path("id").asString("");
        if (!message.has("method")) {
            answered(id, message, end);
        } else if (peer.made(id)) {
            LOG.debug("the agent says what it was told");
        } else if (message.hasNonNull("id")) {
            request(message, end);
        } else {
            notification(message, end);
        }
    }

    private void answered(String id, ObjectNode message, long end) {
        if (!peer.answered(id, message) && id.startsWith(Peer.PROMPT)) {
            turnOver(id, message, end);
        }
    }

    private synchronized void turnOver(String id, ObjectNode answer, long end) {
        if (!id.equals(turn) || (state == State.IDLE && !mayHaveBegun)) {
            return; // a turn that somebody gave up already
        }
        begin();
        turn = "";
        saying = List.of();
        questions.clear();
        updates.over();
        // An answer can mean two things. The position is moved by the last, so that this is not lost with the server.
        Updates.used(answer).ifPresent(used -> tell(used, position));
        AgentEvent.Ended how = Updates.end(answer);
        if (aborting) {
            how = new AgentEvent.Ended(Outcome.ABORTED, Optional.empty());
        }
        if (!waiting.isEmpty() && how.outcome() != Outcome.ABORTED) {
            position = end;
            sending = true;
            Thread.ofVirtual().name("acp-next").start(this::next);
        } else {
            finish(how, end);
        }
    }

    /** Called with the lock. */
    private void begin() {
        if (state != State.RUNNING) {
            state = State.RUNNING;
            mayHaveBegun = false;
            tell(new AgentEvent.Began(), position);
        }
    }

    /** Called with the lock. */
    private void finish(AgentEvent.Ended how, long end) {
        position = end;
        turn = "";
        state = State.IDLE;
        aborting = false;
        questions.clear();
        updates.over();
        tell(how, end);
        notifyAll();
    }

    /** Called with the lock. */
    private void tell(AgentEvent event, long at) {
        if (!muted) {
            listener.heard(event, at);
        }
    }

    private void notification(ObjectNode message, long end) {
        switch (message.path("method").asString("")) {
            case "session/update" -> update(message.path("params"), end);
            case MISSED -> missed(end);
            default -> LOG.trace("the agent says what this server does not understand");
        }
    }

    private synchronized void update(JsonNode params, long end) {
        JsonNode update = params.path("update");
        if (!params.path("sessionId").asString("").equals(conversation) || !takes(Updates.begins(update))) {
            return;
        }
        long before = position;
        position = end;
        updates.read(update, before, end).forEach(told -> tell(told.event(), told.position()));
    }

    /** Whether a run goes on that something belongs to. Called with the lock. */
    private boolean takes(boolean begins) {
        if ((state == State.BEGINNING && !turn.isEmpty()) || (mayHaveBegun && begins)) {
            begin();
        }
        return state == State.RUNNING;
    }

    private synchronized void missed(long end) {
        if (state == State.RUNNING) {
            position = end;
            tell(new AgentEvent.Status("A part of what the agent said could not be heard"), end);
        }
    }

    private void request(ObjectNode message, long end) {
        if (!message.path("method").asString("").equals("session/request_permission")) {
            peer.send(Rpc.notKnown(message)); // it would wait for ever
            return;
        }
        Question question = Question.of(life(), message);
        if (!question.sound() || !put(question, message.path("params").path("toolCall"), end)) {
            peer.send(question.cancelled());
        }
    }

    private synchronized String life() {
        return life;
    }

    private synchronized boolean put(Question question, JsonNode toolCall, long end) {
        if (aborting || !takes(true)) {
            return false;
        }
        position = end;
        questions.put(question.name(), question);
        updates.asked(question.name(), toolCall, end).forEach(told -> tell(told.event(), told.position()));
        return true;
    }

    @Override
    public void over(SandboxException why) {
        peer.over(why);
        synchronized (this) {
            state = State.IDLE;
            notifyAll();
            if (!muted) {
                muted = true;
                listener.lost(why);
            }
        }
    }

    /** It keeps its conversation in a way of its own, which nobody else can give back to it. */
    @Override
    public byte[] transcript(long start) {
        return new byte[0];
    }

    @Override
    public void end() {
        peer.end();
    }

    /** What the listener hears now is the last, so that who takes up from there hears nothing twice. */
    private synchronized void mute() {
        muted = true;
    }

    @Override
    public void close() {
        mute();
        peer.close();
    }
}
