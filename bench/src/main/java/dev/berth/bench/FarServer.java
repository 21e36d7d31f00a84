package dev.berth.bench;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import javax.net.ssl.SSLContext;

/**
 * What programs visit: it gives, takes and echoes bytes, in clear and in TLS, and answers HTTP in TLS. On platform
 * threads, which have nothing in common with those of the way that is measured.
 */
final class FarServer implements AutoCloseable {
    private static final int REQUEST = 64;
    private static final int BUFFER = 1 << 20;
    private static final byte[] ANSWER =
            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nwell".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] REFUSAL =
            "HTTP/1.1 401 Unauthorized\r\nContent-Length: 4\r\n\r\nwell".getBytes(StandardCharsets.US_ASCII);

    private final String key;
    private final ServerSocketChannel plain;
    private final ServerSocket tls;
    private final ServerSocket http;

    /**
     * @param bytes who it is where it speaks of bytes
     * @param pages who it is where it speaks HTTP
     * @param key what requests over HTTP have to carry
     */
    FarServer(SSLContext bytes, SSLContext pages, String key) throws IOException {
        this.key = key;
        InetAddress here = InetAddress.ofLiteral("127.0.0.1");
        plain = ServerSocketChannel.open().bind(new InetSocketAddress(here, 0));
        tls = bytes.getServerSocketFactory().createServerSocket(0, 50, here);
        http = pages.getServerSocketFactory().createServerSocket(0, 50, here);
        accept("plain", () -> {
            SocketChannel channel = plain.accept();
            return () -> serve(channel);
        });
        accept("tls", () -> {
            Socket socket = tls.accept();
            return () -> serve(socket);
        });
        accept("http", () -> {
            Socket socket = http.accept();
            return () -> answer(socket);
        });
    }

    int plainPort() throws IOException {
        return ((InetSocketAddress) plain.getLocalAddress()).getPort();
    }

    int tlsPort() {
        return tls.getLocalPort();
    }

    int httpPort() {
        return http.getLocalPort();
    }

    private interface Accepting {
        Serving next() throws IOException;
    }

    private interface Serving {
        void run() throws IOException;
    }

    private static void accept(String kind, Accepting listener) {
        start(kind, () -> {
            while (true) {
                Serving next = listener.next();
                start(kind, next);
            }
        });
    }

    private static void start(String kind, Serving serving) {
        Thread.ofPlatform().name("far-" + kind).daemon().start(() -> {
            try {
                serving.run();
            } catch (IOException e) {
                // The visitor has left, or the measurement is over; a visitor that still waits tells of it.
            }
        });
    }

    private static void serve(SocketChannel channel) throws IOException {
        try (channel) {
            channel.socket().setTcpNoDelay(true);
            ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER);
            while (fill(channel, buffer.clear().limit(REQUEST))) {
                byte kind = buffer.get(0);
                long count = buffer.getLong(1);
                if (kind == 'G') {
                    for (long left = count; left > 0; left -= buffer.limit()) {
                        buffer.clear().limit((int) Math.min(left, BUFFER));
                        drain(channel, buffer);
                    }
                } else if (kind == 'P') {
                    long left = count;
                    while (left > 0) {
                        int n = channel.read(buffer.clear().limit((int) Math.min(left, BUFFER)));
                        if (n < 0) {
                            return;
                        }
                        left -= n;
                    }
                }
                if (kind != 'G') {
                    drain(channel, buffer.clear().limit(REQUEST));
                }
            }
        }
    }

    private static boolean fill(SocketChannel channel, ByteBuffer buffer) throws IOException {
        while (buffer.hasRemaining()) {
            if (channel.read(buffer) < 0) {
                return false;
            }
        }
        return true;
    }

    private static void drain(SocketChannel channel, ByteBuffer buffer) throws IOException {
        while (buffer.hasRemaining()) {
            channel.write(buffer);
        }
    }

    private static void serve(Socket socket) throws IOException {
        try (socket) {
            socket.setTcpNoDelay(true);
            DataInputStream in = new DataInputStream(socket.getInputStream());
            OutputStream out = socket.getOutputStream();
            byte[] buffer = new byte[BUFFER];
            while (true) {
                in.readFully(buffer, 0, REQUEST);
                byte kind = buffer[0];
                long count = ByteBuffer.wrap(buffer).getLong(1);
                if (kind == 'G') {
                    for (long left = count; left > 0; left -= BUFFER) {
                        out.write(buffer, 0, (int) Math.min(left, BUFFER));
                    }
                } else if (kind == 'P') {
                    long left = count;
                    while (left > 0) {
                        int n = in.read(buffer, 0, (int) Math.min(left, BUFFER));
                        if (n < 0) {
                            return;
                        }
                        left -= n;
                    }
                }
                if (kind != 'G') {
                    out.write(buffer, 0, REQUEST);
                }
            }
        }
    }

    private void answer(Socket socket) throws IOException {
        try (socket) {
            socket.setTcpNoDelay(true);
            InputStream in = new BufferedInputStream(socket.getInputStream());
            byte[] head = new byte[8192];
            while (true) {
                String request = new String(head, 0, readHead(in, head), StandardCharsets.ISO_8859_1);
                boolean known = Arrays.stream(request.split("\r\n", -1))
                        .anyMatch(("Authorization: Bearer " + key)::equalsIgnoreCase);
                socket.getOutputStream().write(known ? ANSWER : REFUSAL);
            }
        }
    }

    private static int readHead(InputStream in, byte[] head) throws IOException {
        int n = 0;
        while (n < 4 || head[n - 4] != '\r' || head[n - 3] != '\n' || head[n - 2] != '\r' || head[n - 1] != '\n') {
            int next = in.read();
            if (next < 0 || n == head.length) {
                throw new EOFException("there is no whole request");
            }
            head[n++] = (byte) next;
        }
        return n;
    }

    @Override
    public void close() throws IOException {
        plain.close();
        tls.close();
        http.close();
    }
}
