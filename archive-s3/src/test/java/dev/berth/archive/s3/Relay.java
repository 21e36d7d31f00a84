package dev.berth.archive.s3;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

/** The network between a client and a server, for tests of what happens when it, or the server, fails at a certain byte. */
final class Relay implements AutoCloseable {
    private final ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private final CountDownLatch closed = new CountDownLatch(1);
    private volatile boolean stalled;
    private final Watch up;
    private final Watch down;
    private final int port;

    /** What to do, once, when so many bytes have passed in one direction. */
    record Watch(AtomicLong left, Runnable action) {
        static Watch after(long bytes, Runnable action) {
            return new Watch(new AtomicLong(bytes), action);
        }

        static Watch none() {
            return after(Long.MAX_VALUE, () -> {});
        }

        void passed(int bytes) {
            long before = left.getAndAdd(-bytes);
            if (before > 0 && before <= bytes) {
                action.run();
            }
        }
    }

    Relay(int port, Watch up, Watch down) throws IOException {
        this.port = port;
        this.up = up;
        this.down = down;
        Thread.ofPlatform().daemon().name("relay").start(this::accept);
    }

    int port() {
        return listener.getLocalPort();
    }

    /** Breaks every connection there is; new ones are taken. */
    void cut() {
        sockets.forEach(Relay::quietly);
    }

    /** From now on nothing passes, and no connection breaks. */
    void stall() {
        stalled = true;
    }

    private void accept() {
        while (!listener.isClosed()) {
            try {
                Socket client = listener.accept();
                sockets.add(client);
                Thread.ofPlatform().daemon().name("relay up").start(() -> connect(client));
            } catch (IOException e) {
                return; // closed
            }
        }
    }

    private void connect(Socket client) {
        try (client;
                Socket server = new Socket(InetAddress.getLoopbackAddress(), port)) {
            sockets.add(server);
            Thread answers = Thread.ofPlatform().daemon().name("relay down").start(() -> copy(server, client, down));
            copy(client, server, up);
            answers.join();
        } catch (IOException | InterruptedException e) {
            // The other side sees its end closed, which is all that a network would tell it.
        }
    }

    private void copy(Socket from, Socket to, Watch watch) {
        byte[] buffer = new byte[32 * 1024];
        try {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
                watch.passed(n);
                if (stalled) {
                    closed.await();
                }
                out.write(buffer, 0, n);
            }
        } catch (IOException | InterruptedException e) {
            // as above
        } finally {
            quietly(from);
            quietly(to);
        }
    }

    private static void quietly(Closeable closeable) {
        try {
            closeable.close();
        } catch (IOException e) {
            // It is as closed as it gets.
        }
    }

    @Override
    public void close() {
        quietly(listener);
        closed.countDown();
        cut();
    }
}
