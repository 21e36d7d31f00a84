package dev.berth.gateway.mcp;

import dev.berth.gateway.http.EventStream;
import io.modelcontextprotocol.json.TypeRef;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCMessage;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCNotification;
import io.modelcontextprotocol.spec.McpStreamableServerTransport;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import tools.jackson.databind.JsonNode;

/**
 * Messages on their way to the client, in one stream of events. Whoever has something to say never waits for the client:
 * what it is too slow for is left out if it is a notification, and kept if it is an answer, of which there is one.
 */
final class Reply implements McpStreamableServerTransport, EventStream.Source {
    private static final Duration HEARTBEAT = Duration.ofSeconds(15);
    private static final int MOST_WAITING = 100;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Deque<JsonNode> waiting = new ArrayDeque<>(); // guarded by lock
    private boolean ended; // guarded by lock
    private boolean closed; // guarded by lock
    private final List<Runnable> afterwards = new ArrayList<>(); // guarded by lock

    // ---- what is said --------------------------------------------------------------------------------------------

    @Override
    public Mono<Void> sendMessage(JSONRPCMessage message) {
        // As JSON here already: who says what cannot be said is told so, and the stream goes on.
        return Mono.fromRunnable(() -> add(Messages.JSON.valueToTree(message), message instanceof JSONRPCNotification));
    }

    @Override
    public Mono<Void> sendMessage(JSONRPCMessage message, @Nullable String id) {
        return sendMessage(message);
    }

    private void add(JsonNode message, boolean notification) {
        lock.lock();
        try {
            if (ended || (waiting.size() >= MOST_WAITING && notification)) {
                return;
            }
            waiting.add(message);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public <T> T unmarshalFrom(Object data, TypeRef<T> type) {
        return Messages.JSON.convertValue(data, Messages.JSON.constructType(type.getType()));
    }

    @Override
    public Mono<Void> closeGracefully() {
        return Mono.fromRunnable(this::end);
    }

    /** What was said is still sent. */
    void end() {
        lock.lock();
        try {
            ended = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    // ---- what is sent --------------------------------------------------------------------------------------------

    @Override
    public void send(EventStream events) throws IOException, InterruptedException {
        for (JsonNode message = next(events); message != null; message = next(events)) {
            events.event("message", message);
        }
    }

    /** Both of those that end a stream call it: the server's side, and the connection's. */
    @Override
    public void close() {
        end();
        List<Runnable> due;
        lock.lock();
        try {
            closed = true;
            due = List.copyOf(afterwards);
            afterwards.clear();
        } finally {
            lock.unlock();
        }
        due.forEach(Runnable::run);
    }

    /** Has something done when everything was sent or nobody reads on. */
    void afterwards(Runnable work) {
        lock.lock();
        try {
            if (!closed) {
                afterwards.add(work);
                return;
            }
        } finally {
            lock.unlock();
        }
        work.run();
    }

    private @Nullable JsonNode next(EventStream events) throws IOException, InterruptedException {
        while (true) {
            lock.lock();
            try {
                long left = HEARTBEAT.toNanos();
                while (waiting.isEmpty() && !ended && left > 0) {
                    left = changed.awaitNanos(left);
                }
                JsonNode message = waiting.poll();
                if (message != null || ended) {
                    return message;
                }
            } finally {
                lock.unlock();
            }
            events.heartbeat();
        }
    }
}
