package dev.berth.gateway.http;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.MDC;
import tools.jackson.core.type.TypeReference;

/**
 * A call whose caller hears what happens in it, ending with {@code done} and what would have been the answer. The call has
 * a thread of its own and never waits for the client: output that the client is too slow for is left out, and it is told
 * how much that was.
 */
final class CallStream implements EventStream.Source, CallEvents {
    static final String OUTPUT = "output";

    private static final TypeReference<Map<String, Object>> FIELDS = new TypeReference<>() {};
    /** Characters of output that wait for the client. */
    private static final int MOST_WAITING = 1 << 20;

    private record Event(String name, Map<String, Object> data, int size) {}

    private final Exchange exchange;
    private final Endpoint endpoint;
    private final Duration heartbeat;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Deque<Event> waiting = new ArrayDeque<>();
    private int waitingSize;
    private long skipped;
    private boolean ended;
    private @Nullable Exception failure;

    private CallStream(Exchange exchange, Endpoint endpoint, Duration heartbeat) {
        this.exchange = exchange;
        this.endpoint = endpoint;
        this.heartbeat = heartbeat;
    }

    /** The endpoint, for those who want one answer and for those who want events. */
    static Endpoint around(Endpoint endpoint, Duration heartbeat) {
        return exchange -> exchange.wantsEvents()
                ? new Answer.Events(new CallStream(exchange, endpoint, heartbeat))
                : endpoint.answer(exchange);
    }

    @Override
    public void send(EventStream events) throws IOException, InterruptedException {
        Map<String, String> context = MDC.getCopyOfContextMap();
        Thread.ofVirtual().name("call " + exchange.operation()).start(() -> run(context));
        for (Event event = next(events); event != null; event = next(events)) {
            events.event(event.name(), event.data());
        }
        switch (failure) {
            case null -> {}
            case SandboxException known -> throw known;
            default -> throw new IllegalStateException(failure);
        }
    }

    private void run(@Nullable Map<String, String> context) {
        if (context != null) {
            MDC.setContextMap(context);
        }
        try {
            switch (endpoint.answer(exchange.heardBy(this))) {
                case Answer.Json json -> event("done", json.fields());
                case Answer.Raw raw ->
                    event(raw.status() < 400 ? "done" : "error", Bodies.JSON.readValue(raw.body(), FIELDS));
                default -> {} // has nothing to tell
            }
        } catch (Exception e) {
            failure = e; // seen by the other thread, which looks after it has seen the end
        } finally {
            lock.lock();
            try {
                ended = true;
                changed.signalAll();
            } finally {
                lock.unlock();
            }
        }
    }

    @Override
    public void event(String name, Map<String, Object> data) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("call_id", exchange.id());
        shown.putAll(data);
        int size = data.get("text") instanceof String text ? text.length() : 0;
        lock.lock();
        try {
            if (name.equals(OUTPUT)) {
                if (waitingSize > MOST_WAITING) {
                    skipped += size;
                    return;
                }
                if (skipped > 0) {
                    shown.put("skipped", skipped);
                    skipped = 0;
                }
            }
            waiting.add(new Event(name, shown, size));
            waitingSize += size;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** The next event, with a heartbeat whenever there is none for a while; null at the end. */
    private @Nullable Event next(EventStream events) throws IOException, InterruptedException {
        while (true) {
            lock.lock();
            try {
                long left = heartbeat.toNanos();
                while (waiting.isEmpty() && !ended && left > 0) {
                    left = changed.awaitNanos(left);
                }
                Event event = waiting.poll();
                if (event != null) {
                    waitingSize -= event.size();
                    return event;
                }
                if (ended) {
                    return null;
                }
            } finally {
                lock.unlock();
            }
            events.heartbeat();
        }
    }
}
