package dev.berth.egress.http;

import dev.berth.egress.policy.Binding;
import dev.berth.egress.policy.Gate.Way;
import dev.berth.egress.policy.Passage;
import dev.berth.sandbox.Connection;
import dev.berth.sandbox.Network;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.eclipse.jetty.io.AbstractEndPoint;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.io.EofException;
import org.eclipse.jetty.util.BufferUtil;
import org.eclipse.jetty.util.thread.Scheduler;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Two blocking streams, as Jetty wants to see a connection: nothing that it calls here blocks. A thread reads ahead into
 * a buffer and waits until that was taken; another one writes out what was put into a second buffer.
 */
final class StreamEndPoint extends AbstractEndPoint {
    private static final Logger LOG = LoggerFactory.getLogger(StreamEndPoint.class);
    private static final int BUFFER = 64 << 10;
    /** How long what was written before a close may take to be read by the other side. */
    private static final long LINGER_SECONDS = 10;

    private final Passage passage;
    private final Optional<Way> way;
    private final Network network;
    private final List<Binding> bindings;
    private final Executor executor;
    private final Consumer<EndPoint> over;
    private final SocketAddress nominal = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    // All below is guarded by the lock.
    private byte[] in = new byte[BUFFER];
    private int inFrom;
    private int inTo;
    private boolean ended;
    private @Nullable IOException broken;
    private byte[] out = new byte[BUFFER];
    private int outTo;
    private boolean awaitsRoom;
    private boolean shut;
    private boolean closed;
    private boolean written;
    private Scheduler.@Nullable Task patience;

    /**
     * @param way what all its requests are for, unless each says so itself
     * @param over called when it was closed
     */
    StreamEndPoint(
            Passage passage, Optional<Way> way, Scheduler scheduler, Executor executor, Consumer<EndPoint> over) {
        super(scheduler);
        this.passage = passage;
        this.way = way;
        this.network = passage.policy().network();
        this.bindings = passage.policy().bindings();
        this.executor = executor;
        this.over = over;
    }

    Passage passage() {
        return passage;
    }

    Optional<Way> way() {
        return way;
    }

    /** Whether what may be reached is as it was when the connection began. */
    boolean unchanged(Network now, List<Binding> bound) {
        return network.equals(now) && bindings.equals(bound);
    }

    /** Moves bytes until the connection is over. */
    void carry() {
        Thread writer = Thread.ofVirtual().name("egress-http-out").start(this::writeAll);
        try {
            readAll();
            writer.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            passage.connection().close();
        }
    }

    // ---- in ------------------------------------------------------------------------------------------------------

    private void readAll() throws InterruptedException {
        byte[] spare = new byte[BUFFER];
        while (true) {
            int n;
            try {
                n = passage.connection().input().read(spare);
            } catch (IOException e) {
                readingFailed(e);
                return;
            }
            lock.lock();
            try {
                while (inFrom < inTo && !closed) {
                    changed.await();
                }
                if (n > 0) {
                    byte[] taken = in;
                    in = spare;
                    inFrom = 0;
                    inTo = n;
                    spare = taken;
                } else if (n < 0) {
                    ended = true;
                }
            } finally {
                lock.unlock();
            }
            tellReader();
            if (n < 0) {
                return;
            }
        }
    }

    private void readingFailed(IOException e) {
        boolean wasClosed;
        lock.lock();
        try {
            broken = e;
            wasClosed = closed;
        } finally {
            lock.unlock();
        }
        if (!wasClosed) {
            close(e);
        }
    }

    private void tellReader() {
        if (getFillInterest().isInterested()) {
            executor.execute(() -> getFillInterest().fillable());
        }
    }

    @Override
    protected void needsFillInterest() {
        boolean ready;
        lock.lock();
        try {
            ready = inFrom < inTo || ended || broken != null;
        } finally {
            lock.unlock();
        }
        if (ready) {
            executor.execute(() -> getFillInterest().fillable());
        }
    }

    @Override
    public int fill(ByteBuffer buffer) throws IOException {
        if (!isOpen()) {
            throw new EofException("closed");
        }
        if (isInputShutdown()) {
            return -1;
        }
        int filled;
        lock.lock();
        try {
            if (broken != null) {
                throw new EofException(broken);
            }
            int position = BufferUtil.flipToFill(buffer);
            filled = Math.min(inTo - inFrom, buffer.remaining());
            buffer.put(in, inFrom, filled);
            BufferUtil.flipToFlush(buffer, position);
            inFrom += filled;
            if (filled > 0) {
                changed.signalAll();
            } else if (ended && inFrom == inTo) {
                filled = -1;
            }
        } finally {
            lock.unlock();
        }
        if (filled > 0) {
            notIdle();
        } else if (filled < 0) {
            shutdownInput();
        }
        return filled;
    }

    // ---- out -----------------------------------------------------------------------------------------------------

    @Override
    public boolean flush(ByteBuffer... buffers) throws IOException {
        if (!isOpen() || isOutputShutdown()) {
            throw new EofException("closed");
        }
        boolean all = true;
        boolean some = false;
        lock.lock();
        try {
            for (ByteBuffer buffer : buffers) {
                int n = Math.min(buffer.remaining(), out.length - outTo);
                buffer.get(out, outTo, n);
                outTo += n;
                some |= n > 0;
                all &= !buffer.hasRemaining();
            }
            if (some) {
                changed.signalAll();
            }
        } finally {
            lock.unlock();
        }
        if (some) {
            notIdle();
        }
        return all;
    }

    @Override
    protected void onIncompleteFlush() {
        boolean room;
        lock.lock();
        try {
            room = outTo < out.length;
            awaitsRoom = !room;
        } finally {
            lock.unlock();
        }
        if (room) {
            executor.execute(() -> getWriteFlusher().completeWrite());
        }
    }

    private void writeAll() {
        Connection connection = passage.connection();
        byte[] spare = new byte[BUFFER];
        boolean shutSent = false;
        try {
            while (true) {
                int n;
                boolean finish;
                boolean tell;
                lock.lock();
                try {
                    while (outTo == 0 && !closed && (!shut || shutSent)) {
                        changed.await();
                    }
                    n = outTo;
                    byte[] full = out;
                    out = spare;
                    outTo = 0;
                    spare = full;
                    tell = awaitsRoom;
                    awaitsRoom = false;
                    finish = closed;
                } finally {
                    lock.unlock();
                }
                if (tell) {
                    executor.execute(() -> getWriteFlusher().completeWrite());
                }
                if (n > 0) {
                    connection.output().write(spare, 0, n);
                    connection.output().flush();
                } else if (finish) {
                    return;
                } else {
                    connection.output().close();
                    shutSent = true;
                }
            }
        } catch (IOException e) {
            LOG.debug("a program stopped reading", e);
            close(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            close(new InterruptedIOException("the proxy stops"));
        } finally {
            connection.close();
            writerEnded();
        }
    }

    private void writerEnded() {
        lock.lock();
        try {
            written = true;
            if (patience != null) {
                patience.cancel();
            }
        } finally {
            lock.unlock();
        }
    }

    @Override
    protected void doShutdownOutput() {
        lock.lock();
        try {
            shut = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    protected void doClose() {
        lock.lock();
        try {
            closed = true;
            if (!written) {
                patience =
                        getScheduler().schedule(() -> passage.connection().close(), LINGER_SECONDS, TimeUnit.SECONDS);
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void onClose(@Nullable Throwable cause) {
        super.onClose(cause);
        executor.execute(() -> {
            getConnection().onClose(cause);
            over.accept(this);
        });
    }

    // ---- what Jetty wants to know --------------------------------------------------------------------------------

    @Override
    public Object getTransport() {
        return passage.connection();
    }

    @Override
    public SocketAddress getLocalSocketAddress() {
        return nominal;
    }

    @Override
    public SocketAddress getRemoteSocketAddress() {
        return nominal;
    }
}
