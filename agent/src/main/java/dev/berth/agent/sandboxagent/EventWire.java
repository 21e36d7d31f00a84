package dev.berth.agent.sandboxagent;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.berth.agent.acp.AcpAgent;
import dev.berth.agent.acp.Wire;
import dev.berth.agent.line.LineChannel.Receiver;
import dev.berth.agent.line.LineReader;
import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.Signal;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * Messages go by requests, and come as the server's events, which are numbered. Answers to requests are not waited for: an
 * event has the same, and comes for certain.
 *
 * <p>The server keeps the last 1024 events, and leaves out some for who reads too slowly. Where a number is missing it is
 * asked once more from there; what it has forgotten then is missed. The end of a run is never among that, as nothing comes
 * after it.
 */
final class EventWire implements Wire {
    private static final Logger LOG = LoggerFactory.getLogger(EventWire.class);
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int LONGEST = 64 << 20;
    private static final Duration GRACE = Duration.ofSeconds(3);
    /** After this long without an event the server is asked whether it is well. */
    private static final Duration QUIET = Duration.ofSeconds(30);

    private static final int ATTEMPTS = 5;
    private static final Duration BETWEEN_ATTEMPTS = Duration.ofMillis(200);

    private final Server server;
    private final RunningCommand command;
    private final ServerLog log;
    private final Leftovers leftovers;
    private final Receiver receiver;
    private final String agent;
    private final Duration patience;
    private final CountDownLatch closed = new CountDownLatch(1);
    private @Nullable Thread reader;
    private Server.@Nullable Stream stream;
    private boolean begun;
    /** Where something was missing when it was asked for the last time. Of the reader's thread alone. */
    private long skipped;

    private volatile long last;
    private volatile long heardAt = System.nanoTime();
    private volatile String noise = "";

    private EventWire(
            Server server,
            RunningCommand command,
            ServerLog log,
            Leftovers leftovers,
            Receiver receiver,
            String agent,
            Duration patience,
            long position) {
        this.server = server;
        this.command = command;
        this.log = log;
        this.leftovers = leftovers;
        this.receiver = receiver;
        this.agent = agent;
        this.patience = patience;
        this.last = position;
    }

    /** To an agent that the first message starts. */
    static EventWire fresh(
            Server server,
            RunningCommand command,
            ServerLog log,
            Leftovers leftovers,
            Receiver receiver,
            String agent,
            Duration patience) {
        return new EventWire(server, command, log, leftovers, receiver, agent, patience, 0);
    }

    /** To one that runs. */
    static EventWire resumed(
            Server server,
            RunningCommand command,
            ServerLog log,
            Leftovers leftovers,
            Receiver receiver,
            String agent,
            long position) {
        EventWire wire = new EventWire(server, command, log, leftovers, receiver, agent, Duration.ZERO, position);
        wire.listen();
        return wire;
    }

    private synchronized void listen() {
        begun = true;
        reader = Thread.ofVirtual().name("sandbox-agent-events").start(this::read);
        Thread.ofVirtual().name("sandbox-agent-health").start(this::watch);
    }

    @Override
    public void send(ObjectNode message) {
        boolean first;
        synchronized (this) {
            first = !begun;
        }
        if (first) {
            // There are no events before there is an agent.
            server.begin(agent, message, patience);
            listen();
        } else if (message.has("method") && message.has("id")) {
            server.ask(message, e -> lost(e.getMessage()));
        } else {
            server.tell(message);
        }
    }

    // ---- what comes ----------------------------------------------------------------------------------------------

    private void read() {
        int attempts = 0;
        while (!isClosed()) {
            long before = last;
            try (Server.Stream events = open()) {
                follow(events);
            } catch (IOException | SandboxException e) {
                LOG.debug("the events of sandbox-agent broke off", e);
            } catch (RuntimeException e) {
                // Whoever listens must not be left waiting for a thread that is no more.
                LOG.error("what the agent said could not be taken up", e);
                over(SandboxException.unavailable(
                        "what the agent said could not be taken up; see the server's log", e));
                return;
            }
            attempts = last > before ? 0 : attempts + 1;
            if (!isClosed() && (attempts > ATTEMPTS || !server.healthy())) {
                lost("sandbox-agent does not answer any more" + complaint());
                return;
            }
            pause(attempts);
        }
    }

    private Server.Stream open() throws IOException {
        Server.Stream opened = server.events(last);
        synchronized (this) {
            stream = opened;
        }
        if (isClosed()) {
            opened.close();
        }
        return opened;
    }

    private void pause(int attempts) {
        try {
            if (attempts > 0 && closed.await(BETWEEN_ATTEMPTS.toMillis() * attempts, TimeUnit.MILLISECONDS)) {
                LOG.trace("closed meanwhile");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Until the stream ends, or something is missing that the server may still have. */
    private void follow(Server.Stream events) throws IOException {
        LineReader lines = new LineReader(events.body(), 0, LONGEST);
        long id = 0;
        @Nullable ObjectNode message = null;
        for (Optional<byte[]> line = lines.next(); line.isPresent() && !isClosed(); line = lines.next()) {
            heardAt = System.nanoTime();
            String text = new String(line.get(), UTF_8).stripTrailing();
            if (text.startsWith("id:")) {
                id = number(text.substring(3).strip());
            } else if (text.startsWith("data:")) {
                message = parse(text.substring(5));
            } else if (text.isEmpty()) {
                if (id > 0 && !take(id, message)) {
                    return;
                }
                id = 0;
                message = null;
            }
            lines.done();
        }
    }

    private static long number(String text) {
        return text.matches("[0-9]{1,18}") ? Long.parseLong(text) : 0;
    }

    private static @Nullable ObjectNode parse(String data) {
        try {
            return JSON.readTree(data) instanceof ObjectNode record ? record : null;
        } catch (JacksonException e) {
            LOG.trace("sandbox-agent passed on what is no message", e);
            return null;
        }
    }

    /** @return false if the server has to be asked again, from the last event that came */
    private boolean take(long id, @Nullable ObjectNode message) {
        if (id <= last) {
            return true; // heard already
        }
        if (id > last + 1) {
            if (skipped != last + 1) {
                skipped = last + 1;
                return false;
            }
            receiver.record(JSON.createObjectNode().put("method", AcpAgent.MISSED), id - 1);
        }
        last = id;
        if (message == null) {
            return true;
        }
        switch (message.path("method").asString("")) {
            case "_adapter/agent_exited" -> {
                lost("the agent ended with status " + message.path("params").path("code") + complaint());
                return false;
            }
            case "_adapter/invalid_stdout" -> {
                String raw = message.path("params").path("raw").asString("");
                noise = raw.substring(0, Math.min(raw.length(), 500));
            }
            default -> receiver.record(message, id);
        }
        return true;
    }

    /** A server that hangs keeps its connections open. */
    private void watch() {
        try {
            int failures = 0;
            while (!closed.await(QUIET.toSeconds(), TimeUnit.SECONDS)) {
                boolean quiet = System.nanoTime() - heardAt > QUIET.toNanos();
                failures = quiet && server.sandbox().ready() && !server.healthy() ? failures + 1 : 0;
                if (failures == 3) {
                    lost("sandbox-agent hangs" + complaint());
                    return;
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** It is ended, so that another one can be started. */
    private void lost(String why) {
        SandboxException reason = SandboxException.unavailable(why);
        boolean told = isClosed();
        try {
            end();
        } catch (SandboxException e) {
            reason.addSuppressed(e);
        }
        if (!told) {
            over(reason);
        }
    }

    private void over(SandboxException why) {
        if (!isClosed()) {
            closed.countDown();
            receiver.over(why);
        }
    }

    private boolean isClosed() {
        return closed.getCount() == 0;
    }

    @Override
    public String complaint() {
        String said = noise;
        return (said.isEmpty() ? "" : "; it printed: " + said) + log.complaint();
    }

    @Override
    public void end() {
        try {
            server.delete();
        } catch (SandboxException e) {
            LOG.debug("the agent could not be deleted, and goes with its server", e);
        }
        command.signal(Signal.TERM);
        if (command.await(GRACE).isEmpty()) {
            command.signal(Signal.KILL);
            if (command.await(GRACE).isEmpty()) {
                throw SandboxException.timeout("sandbox-agent could not be ended; check whether its sandbox is paused");
            }
        }
        leftovers.end();
    }

    @Override
    public void close() {
        closed.countDown();
        command.close();
        Server.@Nullable Stream open;
        @Nullable Thread reading;
        synchronized (this) {
            open = stream;
            reading = reader;
        }
        if (open != null) {
            open.close();
        }
        if (reading == null || reading.equals(Thread.currentThread())) {
            return;
        }
        try {
            reading.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
