package dev.berth.client;

import java.io.IOException;
import java.io.InputStream;
import java.util.Optional;

/**
 * What happens in a run, as it happens. A lost connection is made again from the last event on, so that none is missing and
 * none comes twice. Closing it leaves the run going on. For one thread.
 */
public final class RunStream implements AutoCloseable {
    private static final int TRIES = 10;

    /** What happens in a run. */
    public sealed interface Event {
        /** A piece of its answer. */
        record Text(String text) implements Event {}

        /** Everything else, by the name that the API has: status, tool_start, tool_update, tool_end, artifact, approval, usage. */
        record Other(String name, Json data) implements Event {}

        /** The end. */
        record Done(AgentRun run) implements Event {}
    }

    private final BerthClient berth;
    private final String runs;
    private SseReader reader;
    private SilenceAlarm alarm;
    private String run = "";
    private String last = "0";
    /** Tries in a row without an event. */
    private int failures;

    private boolean done;

    /** @param runs the path that the id of a run is put behind */
    RunStream(BerthClient berth, Call call, String runs) {
        this.berth = berth;
        this.runs = runs;
        InputStream body = berth.stream(call.header("Accept", Call.EVENTS));
        this.alarm = new SilenceAlarm(EventStream.SILENCE, () -> quietly(body));
        this.reader = new SseReader(new EventStream.Heard(body, alarm));
    }

    /** The next event, waited for; empty behind the end. */
    public Optional<Event> next() {
        while (!done) {
            try {
                return Optional.of(read(reader.next().orElseThrow(() -> new IOException("the connection ended"))));
            } catch (IOException e) {
                reconnect(e);
            }
        }
        return Optional.empty();
    }

    /** Waits for the end. */
    public AgentRun await() {
        for (Optional<Event> event = next(); event.isPresent(); event = next()) {
            if (event.get() instanceof Event.Done(AgentRun ended)) {
                return ended;
            }
        }
        throw new IllegalStateException("its end was read before");
    }

    private Event read(SseReader.Event event) throws IOException {
        Json data;
        try {
            data = Json.parse(event.data());
        } catch (IllegalArgumentException e) {
            throw new IOException(e);
        }
        if (event.name().equals("error")) {
            if (data.get("code").text().equals(BerthException.UNAVAILABLE)) {
                throw new IOException(data.get("detail").text());
            }
            done = true;
            throw BerthException.of((int) data.get("status").whole(), EventStream.NO_HEADERS, data);
        }
        run = data.get("run_id").text();
        if (!event.id().isEmpty()) {
            last = event.id();
            failures = 0;
        }
        done = event.name().equals("done");
        return switch (event.name()) {
            case "done" -> new Event.Done(AgentRun.of(data));
            case "text" -> new Event.Text(data.get("text").text());
            default -> new Event.Other(event.name(), data);
        };
    }

    private void reconnect(IOException lost) {
        close();
        while (true) {
            if (run.isEmpty() || ++failures > TRIES) {
                done = true;
                throw BerthException.unreachable(
                        "the connection broke: " + lost.getMessage() + "; the run goes on, look for it later", lost);
            }
            Transport.pause(Transport.backOff(failures));
            try {
                Call call = Call.get(runs + Call.encode(run) + "/events").header("Last-Event-ID", last);
                InputStream body = berth.stream(call.header("Accept", Call.EVENTS));
                alarm = new SilenceAlarm(EventStream.SILENCE, () -> quietly(body));
                reader = new SseReader(new EventStream.Heard(body, alarm));
                return;
            } catch (BerthException e) {
                if (!e.is(BerthException.UNAVAILABLE)) {
                    throw e;
                }
            }
        }
    }

    private static void quietly(InputStream body) {
        try {
            body.close();
        } catch (IOException e) {
            // Whoever reads it hears of it.
        }
    }

    @Override
    public void close() {
        alarm.close();
        try {
            reader.close();
        } catch (IOException e) {
            // It is not read any more.
        }
    }
}
