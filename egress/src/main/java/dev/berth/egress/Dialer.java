package dev.berth.egress;

import dev.berth.egress.policy.Gate.Way;
import dev.berth.egress.policy.Refusal;
import dev.berth.egress.policy.Refusal.Reason;
import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Connects to a server that may have several addresses, some of which may be dead: each is given a moment before the
 * next one is tried besides it, the two kinds of addresses in turn, and the first to answer is taken (RFC 8305).
 */
final class Dialer {
    private static final Duration HEAD_START = Duration.ofMillis(250);
    private static final int MOST_ADDRESSES = 8;

    private final Duration patience;

    Dialer(Duration patience) {
        this.patience = patience;
    }

    Socket dial(Way way) throws Refusal {
        List<InetAddress> addresses = inTurn(way.addresses());
        Race race = new Race();
        long deadline = System.nanoTime() + patience.toNanos();
        for (int i = 0; i < addresses.size(); i++) {
            boolean last = i == addresses.size() - 1;
            InetSocketAddress address =
                    new InetSocketAddress(addresses.get(i), way.target().port());
            race.enter(() -> connected(address));
            Socket winner = race.await(last ? deadline : System.nanoTime() + HEAD_START.toNanos());
            if (winner != null) {
                return winner;
            }
        }
        throw race.lost(way);
    }

    private Socket connected(InetSocketAddress address) throws IOException {
        Socket socket = new Socket();
        try {
            socket.setTcpNoDelay(true);
            socket.connect(address, (int) patience.toMillis());
            return socket;
        } catch (IOException e) {
            socket.close();
            throw e;
        }
    }

    /** Begins with the kind that the resolver prefers. */
    private static List<InetAddress> inTurn(List<InetAddress> addresses) {
        boolean six = addresses.getFirst() instanceof Inet6Address;
        List<InetAddress> preferred = addresses.stream()
                .filter(it -> it instanceof Inet6Address == six)
                .toList();
        List<InetAddress> others = addresses.stream()
                .filter(it -> it instanceof Inet6Address != six)
                .toList();
        List<InetAddress> all = new ArrayList<>();
        for (int i = 0; i < Math.max(preferred.size(), others.size()); i++) {
            preferred.stream().skip(i).findFirst().ifPresent(all::add);
            others.stream().skip(i).findFirst().ifPresent(all::add);
        }
        return all.stream().distinct().limit(MOST_ADDRESSES).toList();
    }

    private interface Attempt {
        Socket connect() throws IOException;
    }

    /** Attempts at the same time, of which one wins. */
    private static final class Race {
        private final ReentrantLock lock = new ReentrantLock();
        private final Condition changed = lock.newCondition();
        // All guarded by lock.
        private int running;
        private boolean over;
        private @Nullable Socket winner;
        private @Nullable IOException failure;

        void enter(Attempt attempt) {
            lock.lock();
            try {
                running++;
            } finally {
                lock.unlock();
            }
            Thread.ofVirtual().name("egress-dial").start(() -> run(attempt));
        }

        private void run(Attempt attempt) {
            try {
                finish(attempt.connect(), null);
            } catch (IOException e) {
                finish(null, e);
            }
        }

        private void finish(@Nullable Socket socket, @Nullable IOException problem) {
            lock.lock();
            try {
                running--;
                if (socket != null && winner == null && !over) {
                    winner = socket;
                    socket = null;
                }
                failure = problem == null ? failure : problem;
                changed.signalAll();
            } finally {
                lock.unlock();
            }
            if (socket != null) {
                closeLate(socket);
            }
        }

        private static void closeLate(Socket socket) {
            try {
                socket.close();
            } catch (IOException e) {
                throw new java.io.UncheckedIOException("a connection that came too late could not be closed", e);
            }
        }

        /** The winner; nothing if the time is up, or all that ran so far have failed. */
        @Nullable
        Socket await(long deadline) throws Refusal {
            lock.lock();
            try {
                while (winner == null && running > 0 && System.nanoTime() < deadline) {
                    changed.await(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
                }
                return winner;
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                over = true;
                if (winner != null) {
                    closeLate(winner);
                }
                throw new Refusal(Reason.UNAVAILABLE, "the server is stopping; try again later", e);
            } finally {
                lock.unlock();
            }
        }

        Refusal lost(Way way) {
            lock.lock();
            try {
                if (winner != null) {
                    closeLate(winner);
                }
                over = true;
                IOException why = failure;
                if (why == null || why instanceof SocketTimeoutException) {
                    return new Refusal(Reason.UPSTREAM_TIMEOUT, way.target() + " does not answer; try again later");
                }
                return new Refusal(
                        Reason.UNREACHABLE, way.target() + " could not be reached: " + why.getMessage(), why);
            } finally {
                lock.unlock();
            }
        }
    }
}
