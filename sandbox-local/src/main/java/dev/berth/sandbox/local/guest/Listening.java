package dev.berth.sandbox.local.guest;

import dev.berth.sandbox.Connection;
import dev.berth.sandbox.SandboxException;
import dev.berth.sandbox.local.linux.ErrnoException;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The port inside that the guest listens on, and the connections that it accepted there.
 *
 * <p>What is wanted is told whenever the guest connects, and when it changes. The guest accepts no more than 512 at a
 * time, and counts one until it was told CLOSE, which it is when the connection was dealt with.
 */
final class Listening {
    private static final Logger LOG = LoggerFactory.getLogger(Listening.class);
    /**
     * Connections that are being dealt with: those of the guest, and as many of one that was there before it and whose
     * end has not been noticed yet.
     */
    private static final int MOST = 2 * 512;

    private final String name;
    private final GuestLink link;
    private final Consumer<Connection> taker;
    private final Set<GuestConnection> accepted = ConcurrentHashMap.newKeySet();
    private final AtomicInteger dealtWith = new AtomicInteger();
    /** Held while the guest is asked for a change. */
    private final ReentrantLock changing = new ReentrantLock();

    private volatile int port;
    private volatile boolean toldFrozen;
    private volatile CompletableFuture<Integer> answer = CompletableFuture.completedFuture(0);

    /** @param taker called for each connection, on a virtual thread of its own; the connection is closed afterwards */
    Listening(String name, GuestLink link, int port, Consumer<Connection> taker) {
        this.name = name;
        this.link = link;
        this.port = port;
        this.taker = taker;
    }

    /** What the guest has to be told when it connects: the port, or that there is none. */
    Wire.Out wanted() {
        return new Wire.Out(Wire.LISTEN, 0, 2).u16(port);
    }

    boolean wantsPort() {
        return port != 0;
    }

    void change(int newPort, boolean frozen) {
        changing.lock();
        try {
            change(port, newPort, frozen);
        } finally {
            changing.unlock();
        }
    }

    private void change(int before, int newPort, boolean frozen) {
        try {
            port = newPort;
            if (newPort != before) {
                cut();
            }
            // One that is not there is told when it comes.
            if (!link.connected()) {
                return;
            }
            if (link.canListen()) {
                tell(frozen);
            } else if (newPort != 0) {
                throw SandboxException.conflict(
                        "the sandbox was started before this version of Berth, and is not ready for a network; stop it"
                                + " and wake it again, its files are kept");
            }
        } catch (SandboxException e) {
            port = before;
            Thread.startVirtualThread(link::tellPort);
            throw e;
        }
    }

    private void tell(boolean frozen) {
        if (frozen) {
            // It may have left so much unread that this waits until it is thawed.
            toldFrozen = true;
            Thread.startVirtualThread(link::tellPort);
            return;
        }
        answer = new CompletableFuture<>();
        link.tellPort();
        int errno = link.await(answer, "the guest did not open a port for the sandbox's network");
        if (errno != 0) {
            throw refused(port, errno);
        }
    }

    /** What runs in the sandbox from now on is to find the port as it was told to be meanwhile. */
    void thawed() {
        if (!toldFrozen || !link.connected()) {
            return;
        }
        toldFrozen = false;
        try {
            link.tellPort();
            link.commands(); // when that is answered, so is all that was said before
        } catch (SandboxException e) {
            LOG.warn("sandbox {}: its network may take a moment to be as it should: {}", name, e.getMessage());
        }
    }

    private static SandboxException refused(int port, int errno) {
        return errno == ErrnoException.EADDRINUSE
                ? SandboxException.conflict("a program in the sandbox listens on port " + port
                        + ", which its network needs; end that program and try again")
                : SandboxException.unavailable("could not open port " + port + " in the sandbox for its network: "
                        + ErrnoException.describe(errno));
    }

    /** The guest's answer. When it has no port any more it has dropped what it had accepted. */
    void answered(int answeredPort, int errno) {
        if (answeredPort == 0) {
            fail(cutOff());
        }
        boolean awaited = answeredPort == port && answer.complete(errno);
        if (!awaited && errno != 0) {
            LOG.warn("sandbox {}: {}", name, refused(answeredPort, errno).getMessage());
        }
    }

    /** Takes a connection. Called by the link's thread alone. */
    void take(int id) throws ProtocolException {
        GuestConnection connection = GuestConnection.accepted(id, link);
        if (id >= 0 || id == Wire.NO_ID || !link.add(connection)) {
            throw new ProtocolException("a connection of id " + Integer.toUnsignedString(id));
        }
        if (dealtWith.incrementAndGet() > MOST) {
            dealtWith.decrementAndGet();
            throw new ProtocolException("more connections than a guest may have");
        }
        accepted.add(connection);
        Thread.ofVirtual().name("outlet-" + name).start(() -> deal(connection));
    }

    private void deal(GuestConnection connection) {
        try (connection) {
            taker.accept(connection);
        } catch (RuntimeException e) {
            LOG.warn("sandbox {}: a connection out of it was not dealt with", name, e);
        } finally {
            accepted.remove(connection);
            dealtWith.decrementAndGet();
        }
    }

    /** Ends all that was accepted; nobody here waits for a guest that does not read. */
    void cut() {
        SandboxException why = cutOff();
        for (GuestConnection connection : accepted) {
            connection.fail(why);
            Thread.startVirtualThread(connection::close);
        }
    }

    void fail(SandboxException why) {
        accepted.forEach(connection -> connection.fail(why));
    }

    void close(SandboxException why) {
        answer.completeExceptionally(why);
        fail(why);
    }

    private static SandboxException cutOff() {
        return SandboxException.gone("the sandbox's network was changed");
    }
}
