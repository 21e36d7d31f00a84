package dev.berth.agent.pi;

import dev.berth.agent.Agent;
import dev.berth.agent.AgentConfig;
import dev.berth.agent.AgentConfig.Patience;
import dev.berth.agent.AgentEvent;
import dev.berth.agent.AgentListener;
import dev.berth.agent.line.LineChannel;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.SandboxException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * A pi that runs, and what it is asked.
 *
 * <p>Answers are matched to requests by id alone, as they come in any order. Some versions leave the id out when they did
 * not understand a request: then the oldest one of its kind has failed.
 */
final class PiAgent implements Agent, LineChannel.Receiver {
    private static final Logger LOG = LoggerFactory.getLogger(PiAgent.class);
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final SecureRandom RANDOM = new SecureRandom();
    /** How long an older pi may take to say that it tries again. */
    private static final Duration SETTLING = Duration.ofSeconds(1);

    /** How long one may be silent before it tries again, with the settings that it is given. */
    private static final Duration BEFORE_RETRY = Duration.ofSeconds(10);

    private record Request(String type, CompletableFuture<JsonNode> answer) {}

    private final PiSessionFile file;
    private final Patience patience;
    private final AgentListener listener;
    private final LineChannel channel;
    private final String prefix = HexFormat.of().toHexDigits(RANDOM.nextInt());
    private final AtomicLong counter = new AtomicLong();
    private final AtomicBoolean asking = new AtomicBoolean();
    /** In the order in which they were sent. Guarded by itself. */
    private final Map<String, Request> waiting = new LinkedHashMap<>();
    /** Guarded by this, as are the events in their order. */
    private final PiRecords records;

    private long position;
    private boolean muted;
    private volatile boolean busy;
    private volatile boolean alive = true;

    private PiAgent(
            PiSessionFile file,
            Patience patience,
            AgentListener listener,
            RunningCommand command,
            long position,
            boolean busy) {
        this.file = file;
        this.patience = patience;
        this.listener = listener;
        this.position = position;
        this.busy = busy;
        this.records = new PiRecords(busy);
        this.channel = LineChannel.open(command, position, PiRecords.WANTED, this);
    }

    /** One that was just started. Waits until it answers. */
    static PiAgent started(PiSessionFile file, AgentConfig config, AgentListener listener, RunningCommand command) {
        PiAgent agent = new PiAgent(file, config.patience(), listener, command, 0, false);
        try {
            JsonNode model =
                    agent.ask(request("get_state"), agent.patience.start()).path("model");
            if (model.isObject()
                    && !model.path("provider")
                            .asString("")
                            .equals(config.model().provider())) {
                throw SandboxException.unavailable("the agent does not know the model "
                        + config.model().provider() + "/" + config.model().name()
                        + "; check its name, and whether it needs a url" + agent.channel.complaint());
            }
            return agent;
        } catch (SandboxException e) {
            agent.giveUp(e);
            throw e;
        }
    }

    /**
     * One that runs already.
     *
     * @param from the position from which it is read
     */
    static PiAgent found(
            PiSessionFile file,
            Patience patience,
            AgentListener listener,
            RunningCommand command,
            long from,
            boolean busy) {
        PiAgent agent = new PiAgent(file, patience, listener, command, from, busy);
        try {
            agent.compare(agent.firstState());
            return agent;
        } catch (SandboxException e) {
            if (e.code() == ErrorCode.TIMEOUT) {
                agent.giveUp(e);
            }
            agent.close();
            throw e;
        }
    }

    /** A server that was killed may have left half a request behind, which the first of ours is then added to. */
    private JsonNode firstState() {
        try {
            return ask(request("get_state"), patience.command());
        } catch (SandboxException e) {
            if (!alive || e.code() == ErrorCode.TIMEOUT) {
                throw e;
            }
            return ask(request("get_state"), patience.command());
        }
    }

    /** All it said before this answer was heard by now. If no end of its run was among that, it may have been lost. */
    private void compare(JsonNode state) {
        if (busy && idle(state) && asking.compareAndSet(false, true)) {
            Thread.ofVirtual().name("pi-settling").start(() -> {
                try {
                    Thread.sleep(BEFORE_RETRY);
                    synchronized (this) {
                        records.foundIdle();
                    }
                    settle();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            });
        }
    }

    private static boolean idle(JsonNode state) {
        return !state.path("isStreaming").asBoolean(false)
                && !state.path("isCompacting").asBoolean(false)
                && state.path("pendingMessageCount").asInt(0) == 0;
    }

    private void giveUp(SandboxException why) {
        mute();
        try {
            channel.end();
        } catch (SandboxException e) {
            why.addSuppressed(e);
        }
        channel.close();
    }

    @Override
    public String conversation() {
        return file.path();
    }

    @Override
    public boolean busy() {
        return busy;
    }

    @Override
    public boolean alive() {
        return alive;
    }

    /** In this form it begins a run when idle and steers when busy, whichever it is when the message arrives. */
    @Override
    public void say(String message) {
        ask(request("prompt").put("message", message).put("streamingBehavior", "steer"), patience.command());
    }

    @Override
    public void abort() {
        if (clearQueue() || !queued()) {
            ask(request("abort"), patience.command());
            return;
        }
        // It would take up what is queued while it stops, or with the next message; nobody expects either.
        synchronized (this) {
            tell(records.stopped());
        }
        end();
    }

    private boolean queued() {
        return ask(request("get_state"), patience.command())
                        .path("pendingMessageCount")
                        .asInt(0)
                > 0;
    }

    /** @return false if it is too old to know how */
    private boolean clearQueue() {
        try {
            ask(request("clear_queue"), patience.command());
            return true;
        } catch (SandboxException e) {
            if (!alive || e.code() == ErrorCode.TIMEOUT) {
                throw e;
            }
            LOG.debug("this pi cannot forget what is queued", e);
            return false;
        }
    }

    @Override
    public void decide(String question, boolean allowed) {
        send(request("extension_ui_response").put("id", question).put("confirmed", allowed));
    }

    private static ObjectNode request(String type) {
        return JSON.createObjectNode().put("type", type);
    }

    private JsonNode ask(ObjectNode request, Duration deadline) {
        String id = prefix + "-" + counter.incrementAndGet();
        Request asked = new Request(request.path("type").asString(), new CompletableFuture<>());
        synchronized (waiting) {
            waiting.put(id, asked);
        }
        try {
            send(request.put("id", id));
            return asked.answer.get(deadline.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            throw SandboxException.timeout("the agent did not answer '" + asked.type + "' within "
                    + deadline.toSeconds() + " s" + channel.complaint());
        } catch (ExecutionException e) {
            throw e.getCause() instanceof SandboxException known
                    ? known
                    : SandboxException.unavailable("the agent did not answer '" + asked.type + "'", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("interrupted while waiting for the agent", e);
        } finally {
            synchronized (waiting) {
                waiting.remove(id);
            }
        }
    }

    private void send(ObjectNode record) {
        if (!alive) {
            throw SandboxException.unavailable("the agent is gone" + channel.complaint());
        }
        try {
            channel.send(record);
        } catch (SandboxException e) {
            alive = false; // a part of the record may be lost, so this way to it is of no use any more
            throw e;
        }
    }

    // ---- what it says --------------------------------------------------------------------------------------------

    @Override
    public void record(ObjectNode record, long end) {
        switch (record.path("type").asString("")) {
            case "response" -> answered(record);
            case "extension_ui_request" -> dialog(record, end);
            default -> tell(record, end);
        }
    }

    private synchronized void tell(ObjectNode record, long end) {
        position = end;
        tell(records.read(record));
        if (records.settling() && asking.compareAndSet(false, true)) {
            Thread.ofVirtual().name("pi-settling").start(this::settle);
        }
    }

    /** Called with the lock. */
    private void tell(Optional<? extends AgentEvent> event) {
        busy = records.running();
        if (!muted && event.isPresent()) {
            listener.heard(event.get(), position);
        }
    }

    private void answered(ObjectNode record) {
        String command = record.path("command").asString("");
        Request asked;
        synchronized (waiting) {
            asked = record.has("id") ? waiting.get(record.path("id").asString("")) : oldest(command);
        }
        if (asked == null) {
            return; // too late: nobody waits for it any more
        }
        if (record.path("success").asBoolean(false)) {
            asked.answer.complete(record.path("data"));
        } else {
            asked.answer.completeExceptionally(SandboxException.unavailable("the agent refused '" + asked.type + "': "
                    + record.path("error").asString("it did not say why")));
        }
    }

    /** @param command {@code parse} if not even its type was understood */
    private @Nullable Request oldest(String command) {
        Iterator<Request> all = waiting.values().iterator();
        while (all.hasNext()) {
            Request request = all.next();
            if (command.equals("parse") || request.type.equals(command)) {
                return request;
            }
        }
        return null;
    }

    /** What our own extension asks is passed on; any other dialog is cancelled, or the run would wait for ever. */
    private void dialog(ObjectNode record, long end) {
        String id = record.path("id").asString("");
        boolean ours = record.path("title").asString("").equals(PiSetup.QUESTION);
        switch (record.path("method").asString("")) {
            case "confirm" -> {
                if (ours) {
                    ask(id, record.path("message").asString(""), end);
                } else {
                    cancel(id);
                }
            }
            case "select", "input", "editor" -> cancel(id);
            default -> LOG.trace("an extension shows something that nobody sees");
        }
    }

    private synchronized void ask(String id, String message, long end) {
        position = end;
        try {
            JsonNode question = JSON.readTree(message);
            String tool = question.path("tool").asString("");
            Map<String, Object> arguments = PiRecords.arguments(question.path("arguments"));
            tell(Optional.of(new AgentEvent.Asked(id, tool, PiRecords.title(tool, arguments), arguments)));
        } catch (JacksonException e) {
            cancel(id);
        }
    }

    private void cancel(String id) {
        send(request("extension_ui_response").put("id", id).put("cancelled", true));
    }

    /** Asks an older pi whether it is done, for as long as it may be. */
    private void settle() {
        try {
            while (alive && maybeSettled()) {
                if (idle(ask(request("get_state"), patience.command())) && finish()) {
                    return;
                }
                Thread.sleep(SETTLING);
            }
        } catch (SandboxException e) {
            LOG.debug("could not ask whether the run is over", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            asking.set(false);
        }
    }

    /** After an error it may be about to try again, and has not said so yet. */
    private boolean maybeSettled() throws InterruptedException {
        boolean failed;
        synchronized (this) {
            failed = records.failedLast();
        }
        if (failed) {
            Thread.sleep(SETTLING);
        }
        synchronized (this) {
            return records.settling() && !muted;
        }
    }

    private synchronized boolean finish() {
        if (!records.settling()) {
            return false;
        }
        tell(records.settled());
        return true;
    }

    @Override
    public void over(SandboxException why) {
        alive = false;
        synchronized (waiting) {
            waiting.values().forEach(request -> request.answer.completeExceptionally(why));
            waiting.clear();
        }
        synchronized (this) {
            busy = false;
            if (!muted) {
                muted = true;
                listener.lost(why);
            }
        }
    }

    @Override
    public byte[] transcript(long from) {
        return file.lines(from);
    }

    @Override
    public void end() {
        alive = false;
        channel.end();
    }

    /** What the listener hears now is the last, so that who takes up from there hears nothing twice. */
    private synchronized void mute() {
        muted = true;
    }

    @Override
    public void close() {
        mute();
        channel.close();
    }
}
