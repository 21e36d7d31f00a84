package dev.berth.gateway.http;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadPendingException;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.concurrent.Executor;
import org.eclipse.jetty.io.ManagedSelector;
import org.eclipse.jetty.io.SocketChannelEndPoint;
import org.eclipse.jetty.server.ConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.BufferUtil;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.thread.Scheduler;
import org.jspecify.annotations.Nullable;

/**
 * A client's connection that can also be watched while nobody reads from it.
 *
 * <p>In HTTP/1.1 nothing more is expected from a client while it is answered, so Jetty does not read, and does not learn
 * that the client has left before it writes again. An answer can be silent for long. Here the selector is asked all the
 * same: what comes then is kept for whoever reads next, and the end of the stream is told at once. There is one interest
 * in reading at a time below this class, which stands for the reader and for the watch; a reader has precedence.
 */
final class ClientEndPoint extends SocketChannelEndPoint {
    /** The next request of a client that does not wait for answers. With so much of it nobody is gone, for now. */
    private static final int MOST_AHEAD = 16 << 10;

    private final Executor executor;
    private final Object lock = new Object();
    private final Callback readable = new WhenReadable();

    // All of these are guarded by the lock.
    private @Nullable Callback reader;
    private @Nullable Runnable left;
    private boolean asked;
    /** Ready to be read from. */
    private ByteBuffer ahead = BufferUtil.EMPTY_BUFFER;

    private ClientEndPoint(
            SocketChannel channel, ManagedSelector selector, SelectionKey key, Scheduler scheduler, Executor executor) {
        super(channel, selector, key, scheduler);
        this.executor = executor;
    }

    /** A connector whose clients can be watched. */
    static ServerConnector connector(Server server, ConnectionFactory... protocols) {
        return new ServerConnector(server, protocols) {
            @Override
            protected SocketChannelEndPoint newEndPoint(
                    SocketChannel channel, ManagedSelector selector, SelectionKey key) {
                SocketChannelEndPoint client =
                        new ClientEndPoint(channel, selector, key, getScheduler(), getExecutor());
                client.setIdleTimeout(getIdleTimeout());
                return client;
            }
        };
    }

    /** Watches for the client to leave, which is told at most once; null ends that. */
    void watch(@Nullable Runnable newLeft) {
        synchronized (lock) {
            left = newLeft;
        }
        if (newLeft != null) {
            ask();
        }
    }

    /** Not with the lock, as a connection that is closed answers at once. */
    private void ask() {
        synchronized (lock) {
            if (asked) {
                return;
            }
            asked = true;
        }
        super.fillInterested(readable);
    }

    // ---- for those who read ----------------------------------------------------------------------------------------

    @Override
    public void fillInterested(Callback callback) {
        if (!tryFillInterested(callback)) {
            throw new ReadPendingException();
        }
    }

    @Override
    public boolean tryFillInterested(Callback callback) {
        synchronized (lock) {
            if (reader != null) {
                return false;
            }
            if (ahead.hasRemaining()) {
                executor.execute(callback::succeeded);
                return true;
            }
            reader = callback;
        }
        ask();
        return true;
    }

    @Override
    public boolean isFillInterested() {
        synchronized (lock) {
            return reader != null;
        }
    }

    @Override
    public int fill(ByteBuffer buffer) throws IOException {
        synchronized (lock) {
            if (!ahead.hasRemaining()) {
                return super.fill(buffer);
            }
            int count = BufferUtil.append(buffer, ahead);
            if (!ahead.hasRemaining()) {
                ahead = BufferUtil.EMPTY_BUFFER;
            }
            notIdle();
            return count;
        }
    }

    // ---- what the selector says ------------------------------------------------------------------------------------

    private final class WhenReadable implements Callback {
        @Override
        public void succeeded() {
            Callback next = next();
            if (next != null) {
                next.succeeded();
            } else {
                look();
            }
        }

        @Override
        public void failed(Throwable why) {
            Callback next = next();
            if (next != null) {
                next.failed(why);
            } else {
                tell();
            }
        }

        /** Without a reader too, one may come until this is called. */
        @Override
        public InvocationType getInvocationType() {
            synchronized (lock) {
                return reader == null ? InvocationType.BLOCKING : reader.getInvocationType();
            }
        }
    }

    private @Nullable Callback next() {
        synchronized (lock) {
            asked = false;
            Callback next = reader;
            reader = null;
            return next;
        }
    }

    private void look() {
        boolean there;
        boolean room;
        synchronized (lock) {
            if (left == null || reader != null) {
                return;
            }
            there = readAhead();
            room = ahead.remaining() < MOST_AHEAD;
        }
        if (!there) {
            tell();
        } else if (room) {
            ask();
        }
    }

    /** Whether the client is still there. Called with the lock. */
    private boolean readAhead() {
        try {
            if (!ahead.hasRemaining()) {
                ahead = BufferUtil.allocate(MOST_AHEAD);
            }
            boolean there = super.fill(ahead) >= 0;
            if (!ahead.hasRemaining()) {
                ahead = BufferUtil.EMPTY_BUFFER;
            }
            return there;
        } catch (IOException e) {
            return false; // it was reset
        }
    }

    private void tell() {
        Runnable told;
        synchronized (lock) {
            told = left;
            left = null;
        }
        if (told != null) {
            told.run();
        }
    }
}
