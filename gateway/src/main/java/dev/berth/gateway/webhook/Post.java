package dev.berth.gateway.webhook;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;

/**
 * One POST of HTTP/1.1 to the address that was checked, and not to wherever a name leads by then, which is what the
 * JDK's client would do. Of the answer nothing counts but its status: redirects are not followed, the body is not read.
 */
final class Post {
    private static final Duration PATIENCE = Duration.ofSeconds(10);
    private static final int MOST_OF_ANSWER = 4096;
    private static final Pattern STATUS = Pattern.compile("HTTP/1\\.[01] ([1-5][0-9]{2})(?: .*)?");

    private final Target target;
    private final long deadline = System.nanoTime() + PATIENCE.toNanos();

    private Post(Target target) {
        this.target = target;
    }

    /** Returns the status that was answered. */
    static int send(Target target, Map<String, String> headers, String body) throws IOException {
        return new Post(target).send(headers, body.getBytes(UTF_8));
    }

    private int send(Map<String, String> headers, byte[] body) throws IOException {
        try (Socket plain = new Socket()) {
            plain.connect(new InetSocketAddress(target.address(), target.port()), remaining());
            plain.setSoTimeout(remaining());
            if (!target.secure()) {
                return exchange(plain, headers, body);
            }
            SSLSocketFactory factory = (SSLSocketFactory) SSLSocketFactory.getDefault();
            try (SSLSocket socket = (SSLSocket) factory.createSocket(plain, target.host(), target.port(), true)) {
                SSLParameters parameters = socket.getSSLParameters();
                parameters.setEndpointIdentificationAlgorithm("HTTPS");
                socket.setSSLParameters(parameters);
                socket.startHandshake();
                return exchange(socket, headers, body);
            }
        }
    }

    private int exchange(Socket socket, Map<String, String> headers, byte[] body) throws IOException {
        StringBuilder head = new StringBuilder("POST " + target.pathAndQuery() + " HTTP/1.1\r\n");
        head.append("Host: ").append(target.authority()).append("\r\n");
        headers.forEach(
                (name, value) -> head.append(name).append(": ").append(value).append("\r\n"));
        head.append("Content-Length: ").append(body.length).append("\r\nConnection: close\r\n\r\n");
        OutputStream out = socket.getOutputStream();
        out.write(head.toString().getBytes(ISO_8859_1));
        out.write(body);
        out.flush();
        Matcher status = STATUS.matcher(firstLine(socket));
        if (!status.matches()) {
            throw new IOException("what answers there does not speak HTTP/1.1");
        }
        return Integer.parseInt(status.group(1));
    }

    private String firstLine(Socket socket) throws IOException {
        InputStream in = socket.getInputStream();
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        while (line.size() < MOST_OF_ANSWER) {
            socket.setSoTimeout(remaining());
            int b = in.read();
            if (b < 0 || b == '\n') {
                break;
            }
            line.write(b);
        }
        return line.toString(ISO_8859_1).stripTrailing();
    }

    private int remaining() throws IOException {
        long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
        if (left <= 0) {
            throw new SocketTimeoutException("no answer within " + PATIENCE.toSeconds() + " s");
        }
        return Math.toIntExact(left);
    }
}
