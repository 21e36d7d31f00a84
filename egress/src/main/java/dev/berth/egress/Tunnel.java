package dev.berth.egress;

import dev.berth.egress.policy.Account;
import dev.berth.egress.policy.Refusal;
import dev.berth.egress.policy.Refusal.Reason;
import dev.berth.sandbox.Connection;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Carries bytes between a program inside and a server outside, until both have said that there are no more, one of them
 * breaks off, or it is cut.
 */
final class Tunnel {
    private static final Logger LOG = LoggerFactory.getLogger(Tunnel.class);
    /** Most connections say little; those that say much get the larger buffer, which saves them calls. */
    private static final int FIRST_BUFFER = 8 << 10;

    private static final int LARGEST_BUFFER = 128 << 10;

    private final Account account;
    private final Connection program;
    private final Socket server;
    private final Duration idle;
    private final Deadlines deadlines;
    private final AtomicReference<@Nullable End> end = new AtomicReference<>();
    private final AtomicLong sent = new AtomicLong();
    private final AtomicLong received = new AtomicLong();
    private volatile long lastWord = System.nanoTime();

    /** What the program says first, perhaps after it was looked at. */
    interface First {
        byte[] bytes() throws IOException, Refusal;
    }

    /** @param why empty if the program itself broke off */
    private record End(Optional<Refusal> why) {}

    /** What became of it. */
    record Outcome(Optional<Refusal> broken, long sent, long received) {}

    Tunnel(Account account, Connection program, Socket server, Duration idle, Deadlines deadlines) {
        this.account = account;
        this.program = program;
        this.server = server;
        this.idle = idle;
        this.deadlines = deadlines;
    }

    Outcome run(First first) {
        Thread down = Thread.ofVirtual().name("egress-down").start(() -> way(this::down));
        try (Watch watch = new Watch()) {
            watch.start();
            way(() -> up(first));
            down.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            cut(new Refusal(Reason.UNAVAILABLE, "the server is stopping", e));
        } finally {
            close();
        }
        End how = end.get();
        return new Outcome(how == null ? Optional.empty() : how.why(), sent.get(), received.get());
    }

    /** Ends it now, whatever its two ways wait for. */
    void cut(Refusal why) {
        end(Optional.of(why));
    }

    private void end(Optional<Refusal> why) {
        if (end.compareAndSet(null, new End(why))) {
            close();
        }
    }

    private void close() {
        program.close();
        try {
            server.close();
        } catch (IOException e) {
            LOG.debug("a connection to a server could not be closed", e);
        }
    }

    private interface Way {
        void go() throws Refusal, ProgramLeft;
    }

    /** The program broke off, which is its own affair. */
    private static final class ProgramLeft extends Exception {
        ProgramLeft(IOException cause) {
            super(cause);
        }
    }

    private void way(Way way) {
        try {
            way.go();
        } catch (Refusal e) {
            cut(e);
        } catch (ProgramLeft e) {
            LOG.debug("a program left its connection", e);
            end(Optional.empty());
        }
    }

    private void up(First first) throws Refusal, ProgramLeft {
        InputStream from = program.input();
        byte[] bytes;
        try {
            bytes = first.bytes();
        } catch (IOException e) {
            throw new ProgramLeft(e);
        }
        toServer(bytes, bytes.length);
        byte[] buffer = new byte[FIRST_BUFFER];
        while (true) {
            int n;
            try {
                n = from.read(buffer, 0, account.atOnce(buffer.length));
            } catch (IOException e) {
                throw new ProgramLeft(e);
            }
            if (n < 0) {
                break;
            }
            toServer(buffer, n);
            buffer = larger(buffer, n);
        }
        try {
            server.shutdownOutput();
        } catch (IOException e) {
            throw reset(e);
        }
    }

    private void toServer(byte[] bytes, int count) throws Refusal {
        account.pass(count);
        try {
            server.getOutputStream().write(bytes, 0, count);
        } catch (IOException e) {
            throw reset(e);
        }
        sent.addAndGet(count);
        lastWord = System.nanoTime();
    }

    private void down() throws Refusal, ProgramLeft {
        OutputStream to = program.output();
        byte[] buffer = new byte[FIRST_BUFFER];
        while (true) {
            int n;
            try {
                n = server.getInputStream().read(buffer, 0, account.atOnce(buffer.length));
            } catch (IOException e) {
                throw reset(e);
            }
            if (n < 0) {
                break;
            }
            account.pass(n);
            received.addAndGet(n);
            try {
                to.write(buffer, 0, n);
                to.flush();
            } catch (IOException e) {
                throw new ProgramLeft(e);
            }
            lastWord = System.nanoTime();
            buffer = larger(buffer, n);
        }
        try {
            to.close();
        } catch (IOException e) {
            throw new ProgramLeft(e);
        }
    }

    private static byte[] larger(byte[] buffer, int filled) {
        return filled == buffer.length && filled < LARGEST_BUFFER ? new byte[filled * 2] : buffer;
    }

    private static Refusal reset(IOException e) {
        return new Refusal(Reason.UPSTREAM_RESET, "the server broke the connection off: " + e.getMessage(), e);
    }

    /** Cuts the tunnel when nothing was said for too long. */
    private final class Watch implements AutoCloseable {
        private volatile boolean over;
        private volatile Deadlines.Standing standing = () -> {};

        void start() {
            standing = deadlines.in(idle, this::look);
            if (over) {
                standing.close();
            }
        }

        private void look() {
            long left = idle.toNanos() - (System.nanoTime() - lastWord);
            if (over || end.get() != null) {
                return;
            }
            if (left <= 0) {
                cut(new Refusal(Reason.UPSTREAM_TIMEOUT, "nothing was said for " + idle.toSeconds() + " s"));
                return;
            }
            standing = deadlines.in(Duration.ofNanos(left), this::look);
            if (over) {
                standing.close();
            }
        }

        @Override
        public void close() {
            over = true;
            standing.close();
        }
    }
}
