package dev.berth.agent.line;

import dev.berth.sandbox.RunningCommand;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.Signal;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.filter.FilteringParserDelegate;
import tools.jackson.core.filter.TokenFilter;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * The two directions of a process that speaks JSON, a record a line.
 *
 * <p>What it prints is hostile: a line that is no record is noise, kept for a complaint and otherwise passed over; one that
 * never ends is dropped.
 */
public final class LineChannel implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(LineChannel.class);
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int LONGEST = 64 << 20;
    private static final int COMPLAINT = 2000;
    private static final Duration GRACE = Duration.ofSeconds(3);

    /** Hears records, on the channel's thread. */
    public interface Receiver {
        /** @param position behind the record */
        void record(ObjectNode record, long position);

        /** Nothing more comes. */
        void over(SandboxException why);
    }

    private final RunningCommand command;
    private final TokenFilter wanted;
    private final Receiver receiver;
    private final ReentrantLock writing = new ReentrantLock();
    private final StringBuilder noise = new StringBuilder();
    private final AtomicReference<@Nullable Thread> reader = new AtomicReference<>();
    private volatile boolean closed;

    private LineChannel(RunningCommand command, TokenFilter wanted, Receiver receiver) {
        this.command = command;
        this.wanted = wanted;
        this.receiver = receiver;
    }

    /**
     * @param position of the command's output that is read from
     * @param wanted what of a record is kept; the rest never takes memory
     */
    public static LineChannel open(RunningCommand command, long position, TokenFilter wanted, Receiver receiver) {
        LineChannel channel = new LineChannel(command, wanted, receiver);
        channel.reader.set(Thread.ofVirtual().name("agent-out").start(() -> channel.read(position)));
        Thread.ofVirtual().name("agent-err").start(channel::readNoise);
        return channel;
    }

    /** Sends a record. Waits while the process does not read. */
    public void send(ObjectNode record) {
        write(JSON.writeValueAsString(record) + "\n");
    }

    /** Ends a line that a server before this one may have left half. An empty one means nothing. */
    public void endLine() {
        write("\n");
    }

    private void write(String text) {
        byte[] line = text.getBytes(StandardCharsets.UTF_8);
        writing.lock();
        try {
            OutputStream stdin = command.stdin();
            stdin.write(line);
            stdin.flush();
        } catch (IOException e) {
            throw SandboxException.unavailable("the agent does not listen any more" + complaint(), e);
        } finally {
            writing.unlock();
        }
    }

    private void read(long from) {
        LineReader lines = new LineReader(command.stdout(), from, LONGEST);
        SandboxException why;
        try {
            for (Optional<byte[]> line = lines.next(); line.isPresent(); line = lines.next()) {
                dispatch(line.get(), lines.position());
                lines.done();
            }
            why = SandboxException.unavailable(
                    "the agent ended with status " + command.await().code() + complaint());
        } catch (IOException | SandboxException e) {
            why = SandboxException.unavailable("the agent is gone: " + e.getMessage() + complaint(), e);
        } catch (RuntimeException e) {
            // Whoever listens must not be left waiting for a thread that is no more.
            LOG.error("what the agent said could not be taken up", e);
            why = SandboxException.unavailable("what the agent said could not be taken up; see the server's log", e);
        }
        if (!closed) {
            receiver.over(why);
        }
    }

    private void dispatch(byte[] line, long position) {
        int length = line.length > 0 && line[line.length - 1] == '\r' ? line.length - 1 : line.length;
        Optional<ObjectNode> record = length == 0 ? Optional.empty() : parse(line, length);
        if (record.isPresent()) {
            receiver.record(record.get(), position);
        } else {
            keep(new String(line, 0, Math.min(length, COMPLAINT), StandardCharsets.UTF_8));
        }
    }

    private Optional<ObjectNode> parse(byte[] line, int length) {
        try (JsonParser parser = new FilteringParserDelegate(
                JSON.createParser(line, 0, length), wanted, TokenFilter.Inclusion.INCLUDE_ALL_AND_PATH, true)) {
            // Where output was lost, the first line may be the end of one. It has more closing brackets than opening
            // ones.
            return JSON.readTree(parser) instanceof ObjectNode record && parser.nextToken() == null
                    ? Optional.of(record)
                    : Optional.empty();
        } catch (JacksonException e) {
            LOG.trace("the agent printed what is no record", e);
            return Optional.empty();
        }
    }

    private void readNoise() {
        byte[] chunk = new byte[4096];
        try (InputStream stderr = command.stderr()) {
            for (int read = stderr.read(chunk); read >= 0; read = stderr.read(chunk)) {
                keep(new String(chunk, 0, read, StandardCharsets.UTF_8));
            }
        } catch (IOException | SandboxException e) {
            LOG.debug("the agent's complaints ended", e);
        }
    }

    private void keep(String text) {
        synchronized (noise) {
            noise.append(text);
            if (!text.endsWith("\n")) {
                noise.append('\n');
            }
            noise.delete(0, Math.max(0, noise.length() - COMPLAINT));
        }
    }

    /** What it printed last that was no record, to be added to a sentence. */
    public String complaint() {
        synchronized (noise) {
            String text =
                    noise.toString().replaceAll("\u001b\\[[0-9;]*[A-Za-z]", "").strip();
            return text.isEmpty() ? "" : "; it printed: " + text;
        }
    }

    /** Ends the process and all that is in its group. */
    public void end() {
        command.signal(Signal.TERM);
        if (command.await(GRACE).isPresent()) {
            return;
        }
        command.signal(Signal.KILL);
        if (command.await(GRACE).isEmpty()) {
            throw SandboxException.timeout("the agent could not be ended; check whether its sandbox is paused");
        }
    }

    /** Lets go of the process, which goes on. Nothing of it is taken any more when this returns. */
    @Override
    public void close() {
        closed = true;
        command.close();
        Thread reading = reader.get();
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
