package dev.berth.gateway.http;

import java.io.IOException;
import java.nio.ByteBuffer;
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

/**
 * A WebSocket for blocking code. Messages that nobody receives yet are kept up to a bound, and then the client has to wait;
 * sending waits for the client.
 */
public final class Socket {
    private static final int MOST_WAITING = 32;

    /** What a client sends. */
    public sealed interface Message {
        record Text(String text) implements Message {}

        record Binary(byte[] bytes) implements Message {}
    }

    private final Session session;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Deque<Message> waiting = new ArrayDeque<>();
    private boolean closed;

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
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
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
