package dev.berth.gateway.preview;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jetty.io.AbstractConnection;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.util.Blocker;
import org.eclipse.jetty.util.BufferUtil;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a connection becomes when the sandbox agreed to speak something else than HTTP on it: bytes both ways, until both
 * sides have said that there are no more, one of them breaks off, or nothing was said for a while.
 */
final class Tunnel extends AbstractConnection implements Connection.UpgradeTo {
    private static final Logger LOG = LoggerFactory.getLogger(Tunnel.class);
    private static final Duration IDLE = Duration.ofMinutes(10);
    private static final int BUFFER = 16 << 10;

    private final InputStream fromSandbox;
    private final OutputStream toSandbox;
    private final dev.berth.sandbox.Connection sandbox;
    private final Runnable over;
    private final AtomicInteger open = new AtomicInteger(2);
    private ByteBuffer early = BufferUtil.EMPTY_BUFFER;

    /** @param over done once, when nothing more goes through */
    Tunnel(
            EndPoint client,
            Executor executor,
            InputStream fromSandbox,
            OutputStream toSandbox,
            dev.berth.sandbox.Connection sandbox,
            Runnable over) {
        super(client, executor);
        this.sandbox = sandbox;
        this.fromSandbox = fromSandbox;
        this.toSandbox = toSandbox;
        this.over = over;
    }

    /** What the client sent already, behind its request. */
    @Override
    public void onUpgradeTo(ByteBuffer buffer) {
        early = BufferUtil.copy(buffer);
        BufferUtil.clear(buffer);
    }

    @Override
    public void onOpen() {
        super.onOpen();
        getEndPoint().setIdleTimeout(IDLE.toMillis());
        Thread.ofVirtual().name("tunnel-in").start(() -> carry(this::carryIn));
        Thread.ofVirtual().name("tunnel-out").start(() -> carry(this::carryOut));
    }

    private interface Way {
        void carry() throws IOException;
    }

    private void carry(Way way) {
        try {
            way.carry();
        } catch (IOException e) {
            LOG.debug("a tunnel broke", e);
            end();
        }
        if (open.decrementAndGet() == 0) {
            end();
            over.run();
        }
    }

    private void carryIn() throws IOException {
        if (early.hasRemaining()) {
            toSandbox.write(BufferUtil.toArray(early));
        }
        byte[] bytes = new byte[BUFFER];
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        while (true) {
            BufferUtil.clear(buffer); // empty, in the sense of Jetty's fill
            int n = getEndPoint().fill(buffer);
            if (n < 0) {
                toSandbox.close();
                return;
            }
            if (n == 0) {
                try (Blocker.Callback fillable = Blocker.callback()) {
                    getEndPoint().fillInterested(fillable);
                    fillable.block();
                }
            } else {
                toSandbox.write(bytes, 0, n);
            }
        }
    }

    private void carryOut() throws IOException {
        byte[] bytes = new byte[BUFFER];
        for (int n = fromSandbox.read(bytes); n >= 0; n = fromSandbox.read(bytes)) {
            try (Blocker.Callback written = Blocker.callback()) {
                getEndPoint().write(written, ByteBuffer.wrap(bytes, 0, n));
                written.block();
            }
        }
        getEndPoint().shutdownOutput();
    }

    /** Ends both ways, whatever they wait for. */
    private void end() {
        getEndPoint().close();
        sandbox.close();
    }

    @Override
    public void onClose(Throwable cause) {
        super.onClose(cause);
        end();
    }

    /** Not called: whoever reads waits for bytes itself. */
    @Override
    public void onFillable() {
        throw new IllegalStateException("a tunnel is read by its own thread");
    }
}
