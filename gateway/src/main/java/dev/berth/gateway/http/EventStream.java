package dev.berth.gateway.http;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.OptionalLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Events to a client as they happen, in the format of the HTML standard's server-sent events. */
public final class EventStream {
    private static final Logger LOG = LoggerFactory.getLogger(EventStream.class);
    static final String CONTENT_TYPE = "text/event-stream";
    /** So that proxies pass on each event at once and keep none. */
    private static final Map<String, String> HEADERS = Map.of("Cache-Control", "no-store", "X-Accel-Buffering", "no");

    private static final byte[] HEARTBEAT = ": \n\n".getBytes(StandardCharsets.US_ASCII);

    /** Sends events until it returns. What it throws is sent as the last event, {@code error}. */
    public interface Source extends AutoCloseable {
        void send(EventStream events) throws IOException, InterruptedException;

        @Override
        default void close() {}
    }

    private final OutputStream out;

    private EventStream(OutputStream out) {
        this.out = out;
    }

    static Answer answer(Source source, String request) {
        return new Answer.Stream(CONTENT_TYPE, OptionalLong.empty(), HEADERS, new Answer.Writer() {
            @Override
            public void write(OutputStream out) throws IOException {
                new EventStream(out).send(source, request);
            }

            @Override
            public void close() {
                source.close();
            }
        });
    }

    private void send(Source source, String request) throws IOException {
        out.flush(); // the client knows at once that it is connected
        try {
            source.send(this);
        } catch (SandboxException e) {
            event("error", Problems.of(e, request).body());
        } catch (RuntimeException e) {
            LOG.atError().setCause(e).log("stream.failed");
            event("error", Problems.internal(request).body());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            event(
                    "error",
                    Problems.of(SandboxException.unavailable("the server stops; connect again"), request)
                            .body());
        }
    }

    public void event(String name, Object data) throws IOException {
        send("event: " + name + "\ndata: " + Bodies.JSON.writeValueAsString(data) + "\n\n");
    }

    /** An event that the client can go on after, by sending its number as Last-Event-ID. */
    public void event(long id, String name, Object data) throws IOException {
        send("id: " + id + "\nevent: " + name + "\ndata: " + Bodies.JSON.writeValueAsString(data) + "\n\n");
    }

    /** Keeps the connection from being taken for dead, and finds out whether it is. */
    public void heartbeat() throws IOException {
        out.write(HEARTBEAT);
        out.flush();
    }

    private void send(String text) throws IOException {
        out.write(text.getBytes(StandardCharsets.UTF_8));
        out.flush();
    }
}
