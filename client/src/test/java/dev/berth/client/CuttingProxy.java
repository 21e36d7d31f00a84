package dev.berth.client;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.URI;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** Stands between a client and a server, and breaks all of its connections when it is told to. */
final class CuttingProxy implements AutoCloseable {
    private final URI server;
    private final ServerSocket listener;
    private final Queue<Socket> sockets = new ConcurrentLinkedQueue<>();
    private final AtomicInteger connections = new AtomicInteger();

    CuttingProxy(String server) throws IOException {
        this.server = URI.create(server);
        this.listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        Thread.ofVirtual().start(this::accept);
    }

    String url() {
        return "http://127.0.0.1:" + listener.getLocalPort();
    }

    int connections() {
        return connections.get();
    }

    void cutAll() throws IOException {
        for (Socket socket = sockets.poll(); socket != null; socket = sockets.poll()) {
            socket.close();
        }
    }

    private void accept() {
        try {
            while (true) {
                Socket client = listener.accept();
                Socket to = new Socket(server.getHost(), server.getPort());
                connections.incrementAndGet();
                sockets.add(client);
                sockets.add(to);
                Thread.ofVirtual().start(() -> copy(client, to));
                Thread.ofVirtual().start(() -> copy(to, client));
            }
        } catch (SocketException e) {
            // closed
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void copy(Socket from, Socket to) {
        try (from;
                to) {
            from.getInputStream().transferTo(to.getOutputStream());
        } catch (IOException e) {
            // cut
        }
    }

    @Override
    public void close() throws IOException {
        listener.close();
        cutAll();
    }
}
