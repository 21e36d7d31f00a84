package dev.berth.client;

import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpResponse;
import java.util.Optional;

/**
 * A call whose output comes while it runs. Closing it before its end leaves it to the server what becomes of the call. A
 * server that does not stream answers with all of it at the end, which looks the same here.
 */
public final class CallStream implements AutoCloseable {
    /** What comes of a call. */
    public sealed interface Event {
        /**
         * @param stream stdout or stderr
         * @param skipped how many characters before these were left out, as we were too slow for them
         */
        record Output(String stream, byte[] bytes, long skipped) implements Event {}

        /** Something that happened meanwhile: artifact, approval, state or job. */
        record Other(String name, Json data) implements Event {}

        /**
         * The end.
         *
         * @param streamed whether the output came before, as it was printed
         */
        record Done(RunResult result, boolean streamed) implements Event {}
    }

    private final HttpResponse<InputStream> response;
    private final boolean streamed;
    private final SseReader reader;
    private boolean printed;
    private boolean done;

    CallStream(HttpResponse<InputStream> response) {
        this.response = response;
        this.streamed = response.headers()
                .firstValue("Content-Type")
                .filter(type -> type.startsWith(Call.EVENTS))
                .isPresent();
        this.reader = new SseReader(response.body());
    }

    /** The next event, waited for; empty behind the end. */
    public Optional<Event> next() {
        if (done) {
            return Optional.empty();
        }
        if (!streamed) {
            done = true;
            return Optional.of(new Event.Done(RunResult.of(Transport.body(response)), false));
        }
        try {
            SseReader.Event event =
                    reader.next().orElseThrow(() -> new IOException("it ended before the call was done"));
            return Optional.of(read(event.name(), Json.parse(event.data())));
        } catch (IOException | IllegalArgumentException e) {
            throw BerthException.unreachable(
                    "the connection broke while the call ran: " + e.getMessage() + "; the call may go on", e);
        }
    }

    private Event read(String name, Json data) {
        done = name.equals("done") || name.equals("error");
        printed |= name.equals("output");
        return switch (name) {
            case "output" ->
                new Event.Output(
                        data.get("stream").text(),
                        JobLogs.bytes(data),
                        data.get("skipped").whole());
            // A call that had to be allowed first is made apart from this stream; all that it printed is in its result.
            case "done" -> new Event.Done(RunResult.of(data), printed);
            case "error" -> throw BerthException.of((int) data.get("status").whole(), EventStream.NO_HEADERS, data);
            default -> new Event.Other(name, data);
        };
    }

    @Override
    public void close() {
        try {
            reader.close();
        } catch (IOException e) {
            // It is not read any more.
        }
    }
}
