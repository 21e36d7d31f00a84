package dev.berth.bench;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/**
 * A connection that is kept, and the least of HTTP/1.1 that speaks with our own server: a client that costs next to
 * nothing, so that the server is what is measured. For one thread at a time, which should not be a virtual one.
 */
final class HttpConnection implements AutoCloseable {
    private static final int BUFFER = 128 << 10;
    private static final String LENGTH = "content-length:";
    private static final String CHUNKED = "transfer-encoding: chunked";

    private final Socket socket;
    private final InputStream in;
    private final OutputStream out;
    private final byte[] buffer = new byte[BUFFER];

    HttpConnection(int port) throws IOException {
        socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket.setTcpNoDelay(true);
        in = new BufferedInputStream(socket.getInputStream());
        out = socket.getOutputStream();
    }

    /** Sends a complete request and returns the body of the answer. */
    String call(byte[] request) throws IOException {
        return call(request, InputStream.nullInputStream());
    }

    /** Sends a request whose body comes after the head, and returns the body of the answer. */
    String call(byte[] head, InputStream body) throws IOException {
        ByteArrayOutputStream answer = new ByteArrayOutputStream();
        call(head, body, answer);
        return answer.toString(StandardCharsets.UTF_8);
    }

    /** Sends a complete request and passes the body of the answer on. */
    void call(byte[] request, OutputStream answer) throws IOException {
        call(request, InputStream.nullInputStream(), answer);
    }

    private void call(byte[] head, InputStream body, OutputStream answer) throws IOException {
        out.write(head);
        for (int n = body.read(buffer); n >= 0; n = body.read(buffer)) {
            out.write(buffer, 0, n);
        }
        String status = line();
        if (status.startsWith("HTTP/1.1 200 ")) {
            receive(answer);
        } else {
            ByteArrayOutputStream problem = new ByteArrayOutputStream();
            receive(problem);
            throw new IOException(status + ": " + problem.toString(StandardCharsets.UTF_8));
        }
    }

    private void receive(OutputStream body) throws IOException {
        long length = 0;
        boolean chunked = false;
        for (String header = line(); !header.isEmpty(); header = line()) {
            String lower = header.toLowerCase(Locale.ROOT);
            chunked |= lower.equals(CHUNKED);
            if (lower.startsWith(LENGTH)) {
                length = Long.parseLong(lower, LENGTH.length() + 1, lower.length(), 10);
            }
        }
        if (!chunked) {
            copy(length, body);
            return;
        }
        for (long chunk = Long.parseLong(line(), 16); chunk > 0; chunk = Long.parseLong(line(), 16)) {
            copy(chunk, body);
            line();
        }
        line();
    }

    private void copy(long length, OutputStream to) throws IOException {
        for (long left = length; left > 0; ) {
            int n = in.read(buffer, 0, (int) Math.min(buffer.length, left));
            if (n < 0) {
                throw closed();
            }
            to.write(buffer, 0, n);
            left -= n;
        }
    }

    private String line() throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c = in.read(); c != '\n'; c = in.read()) {
            if (c < 0) {
                throw closed();
            }
            if (c != '\r') {
                line.append((char) c);
            }
        }
        return line.toString();
    }

    private static EOFException closed() {
        return new EOFException("the server closed the connection in the middle of an answer");
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
