package dev.berth.gateway.http;

import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiConsumer;
import org.eclipse.jetty.websocket.api.Callback;
import org.eclipse.jetty.websocket.api.Session;
import tools.jackson.databind.node.ObjectNode;

/**
 * A WebSocket for blocking code. Messages that nobody receives yet are kept up to a bound, and then the client has to wait;
 * sending waits for the client.
 */
public final class Socket {
    private static final int MOST_WAITING = 32;
    /** In bytes: what a control frame can have, without the code. */
    private static final int MOST_REASON = 123;

    /** What a client sends. */
    public sealed interface Message {
        record Text(String text) implements Message {
            /** The JSON object that it has to be. */
            public ObjectNode json() {
                return Bodies.parse("a text message", text);
            }
        }

        record Binary(byte[] bytes) implements Message {}
    }

    private final Session session;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Deque<Message> waiting = new ArrayDeque<>();
    private boolean closed;
    private Runnable whenGone = () -> {};

    Socket(Session session) {
        this.session = session;
    }

    /** Whether the client is there, as far as is known. */
    public boolean open() {
        return session.isOpen();
    }

    /** The next message; empty when the client has gone. */
    public Optional<Message> receive() throws InterruptedException {
        lock.lockInterruptibly();
        try {
            while (waiting.isEmpty() && !closed) {
                changed.await();
            }
            changed.signalAll();
            return Optional.ofNullable(waiting.poll());
        } finally {
            lock.unlock();
        }
    }

    void received(Message message) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            while (waiting.size() >= MOST_WAITING && !closed) {
                changed.await();
            }
            waiting.add(message);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    void gone() {
        Runnable told;
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
            told = whenGone;
        } finally {
            lock.unlock();
        }
        told.run();
    }

    /** What to do, soon and on another thread, when the client has gone; at once if it has. It may be done twice. */
    public void whenGone(Runnable action) {
        boolean already;
        lock.lock();
        try {
            whenGone = action;
            already = closed;
        } finally {
            lock.unlock();
        }
        if (already) {
            action.run();
        }
    }

    public void send(String text) throws IOException, InterruptedException {
        await((it, done) -> it.sendText(text, done));
    }

    public void send(byte[] bytes, int offset, int length) throws IOException, InterruptedException {
        await((it, done) -> it.sendBinary(ByteBuffer.wrap(bytes, offset, length), done));
    }

    public void sendJson(Object value) throws IOException, InterruptedException {
        send(Bodies.JSON.writeValueAsString(value));
    }

    /** @param code 1000 for a usual end, 4000 to 4999 for our own reasons; see RFC 6455, section 7.4 */
    public void close(int code, String reason) {
        session.close(code, reason, Callback.NOOP);
    }

    /** Says why it is over: 4000 and the status that HTTP would have, in the application's own range of codes. */
    public void close(SandboxException why) {
        String reason = why.code().wireName() + ": " + why.getMessage();
        while (reason.getBytes(StandardCharsets.UTF_8).length > MOST_REASON) {
            reason = reason.substring(0, reason.length() - 1);
        }
        close(4000 + Problems.status(why.code()), reason);
    }

    private void await(BiConsumer<Session, Callback> send) throws IOException, InterruptedException {
        CompletableFuture<Void> sent = new CompletableFuture<>();
        send.accept(session, Callback.from(() -> sent.complete(null), sent::completeExceptionally));
        try {
            sent.get();
        } catch (ExecutionException e) {
            throw new IOException("the client has gone", e.getCause());
        }
    }
}
