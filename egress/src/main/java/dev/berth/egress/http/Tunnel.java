package dev.berth.egress.http;

import dev.berth.egress.policy.Account;
import dev.berth.egress.policy.Refusal;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.eclipse.jetty.io.AbstractConnection;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.util.Blocker;
import org.eclipse.jetty.util.BufferUtil;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What two connections become when both sides agreed to speak something else than HTTP: bytes both ways, until both have
 * said that there are no more, one of them breaks off, or nothing was said for a while.
 */
final class Tunnel {
    /** Told once, when nothing more goes through. */
    interface Over {
        void over(long sent, long received, Optional<Refusal> refusal);
    }

    private static final Logger LOG = LoggerFactory.getLogger(Tunnel.class);
    private static final int BUFFER = 16 << 10;

    private final Account account;
    private final long idleMillis;
    private final Over over;
    private final Side program;
    private final Side server;
    private final AtomicBoolean ended = new AtomicBoolean();
    private final AtomicReference<@Nullable Refusal> refusal = new AtomicReference<>();

    Tunnel(EndPoint program, EndPoint server, Executor executor, Account account, long idleMillis, Over over) {
        this.account = account;
        this.idleMillis = idleMillis;
        this.over = over;
        this.program = new Side(program, executor);
        this.server = new Side(server, executor);
    }

    /** What the connection of the program becomes. Once it has, bytes move. */
    Connection program() {
        return program;
    }

    /** The connection of the program did not become it. */
    void abandon() {
        end();
        tell();
    }

    private void begin() {
        try {
            server.getEndPoint().upgrade(server);
            Thread out = Thread.ofVirtual().name("egress-tunnel-out").start(() -> carry(program, server));
            carry(server, program);
            out.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            end();
            tell();
        }
    }

    private void carry(Side from, Side to) {
        try {
            if (from.early.hasRemaining()) {
                pass(from, to, from.early);
            }
            ByteBuffer buffer = BufferUtil.allocate(BUFFER);
            while (true) {
                BufferUtil.clear(buffer);
                int n = from.getEndPoint().fill(buffer);
                if (n < 0) {
                    to.getEndPoint().shutdownOutput();
                    return;
                }
                if (n == 0) {
                    try (Blocker.Callback fillable = Blocker.callback()) {
                        from.getEndPoint().fillInterested(fillable);
                        fillable.block();
                    }
                } else {
                    pass(from, to, buffer);
                }
            }
        } catch (IOException e) {
            LOG.debug("a tunnel broke", e);
            end();
        } catch (Refusal e) {
            refusal.compareAndSet(null, e);
            end();
        }
    }

    private void pass(Side from, Side to, ByteBuffer bytes) throws IOException, Refusal {
        int n = bytes.remaining();
        account.pass(n);
        try (Blocker.Callback written = Blocker.callback()) {
            to.getEndPoint().write(written, bytes);
            written.block();
        }
        from.said.addAndGet(n);
    }

    /** Ends both ways, whatever they wait for. */
    private void end() {
        program.getEndPoint().close();
        server.getEndPoint().close();
    }

    private void tell() {
        if (ended.compareAndSet(false, true)) {
            over.over(program.said.get(), server.said.get(), Optional.ofNullable(refusal.get()));
        }
    }

    private final class Side extends AbstractConnection implements Connection.UpgradeTo {
        private final AtomicLong said = new AtomicLong();
        private ByteBuffer early = BufferUtil.EMPTY_BUFFER;

        Side(EndPoint endPoint, Executor executor) {
            super(endPoint, executor);
        }

        /** What was said already, behind the last of HTTP. */
        @Override
        public void onUpgradeTo(ByteBuffer buffer) {
            early = BufferUtil.copy(buffer);
            BufferUtil.clear(buffer);
        }

        @Override
        public void onOpen() {
            super.onOpen();
            getEndPoint().setIdleTimeout(idleMillis);
            if (this == program) {
                Thread.ofVirtual().name("egress-tunnel-in").start(() -> begin());
            }
        }

        @Override
        public void onClose(Throwable cause) {
            super.onClose(cause);
            end();
        }

        /** Not called: whoever reads waits for bytes itself. */
        @Override
        public void onFillable() {
            throw new IllegalStateException("a tunnel is read by its own threads");
        }
    }
}
