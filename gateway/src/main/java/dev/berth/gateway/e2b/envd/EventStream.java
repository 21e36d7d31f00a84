package dev.berth.gateway.e2b.envd;

import dev.berth.gateway.e2b.Call;
import dev.berth.gateway.e2b.Json;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The messages of an answer, each on its way at once. Its status is always 200: how it went is said by the last envelope, and
 * if there is none the client knows that the connection broke.
 */
final class EventStream {
    static final String TYPE = "application/connect+json";

    private final Call call;
    private @Nullable OutputStream out;

    EventStream(Call call) {
        this.call = call;
    }

    boolean begun() {
        return out != null;
    }

    /** @throws Call.Broken if the client is gone */
    void send(Object message) {
        write(new Envelope(0, Json.bytes(message)));
    }

    void end() {
        close(Map.of());
    }

    void fail(ConnectError error) {
        close(Map.of("error", error.body()));
    }

    private void close(Map<String, Object> end) {
        OutputStream stream = write(new Envelope(Envelope.END, Json.bytes(end)));
        try {
            stream.close();
        } catch (IOException e) {
            throw new Call.Broken(e);
        }
    }

    private OutputStream write(Envelope envelope) {
        OutputStream stream = out;
        if (stream == null) {
            stream = call.stream(200, TYPE);
            out = stream;
        }
        try {
            stream.write(envelope.bytes());
            stream.flush();
            return stream;
        } catch (IOException e) {
            throw new Call.Broken(e);
        }
    }
}
