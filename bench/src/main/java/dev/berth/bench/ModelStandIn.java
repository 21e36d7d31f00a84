package dev.berth.bench;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/**
 * In place of a model, so that no time of a model is measured: whatever it is asked in the way of OpenAI's chat
 * completions, it answers one short text at once. On platform threads, which have nothing in common with those of the way
 * that is measured.
 */
final class ModelStandIn implements AutoCloseable {
    static final String TEXT = "Yes.";

    private static final String LENGTH = "content-length:";
    private static final String CHUNKED = "transfer-encoding: chunked";
    private static final int LONGEST_LINE = 64 << 10;
    private static final byte[] ANSWER = answer();

    private final ServerSocket listening;

    ModelStandIn() throws IOException {
        listening = new ServerSocket(0, 50, InetAddress.ofLiteral("127.0.0.1"));
        Thread.ofPlatform().name("model").daemon().start(this::accept);
    }

    int port() {
        return listening.getLocalPort();
    }

    private static byte[] answer() {
        String events = event("{\"role\":\"assistant\",\"content\":\"" + TEXT + "\"}", "null")
                + event("{}", "\"stop\"")
                + "data: [DONE]\n\n";
        String head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: " + events.length();
        return (head + "\r\n\r\n" + events).getBytes(StandardCharsets.US_ASCII);
    }

    private static String event(String delta, String end) {
        return "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"stand-in\","
                + "\"choices\":[{\"index\":0,\"delta\":" + delta + ",\"finish_reason\":" + end + "}]}\n\n";
    }

    private void accept() {
        try {
            while (true) {
                Socket socket = listening.accept();
                Thread.ofPlatform().name("model-answer").daemon().start(() -> serve(socket));
            }
        } catch (IOException e) {
            // The measurement is over; an agent that still waits tells of it.
        }
    }

    private static void serve(Socket socket) {
        try (socket) {
            socket.setTcpNoDelay(true);
            InputStream in = new BufferedInputStream(socket.getInputStream());
            while (true) {
                passRequest(in);
                socket.getOutputStream().write(ANSWER);
            }
        } catch (IOException e) {
            // The agent has left, or gets no answer and tells of it.
        }
    }

    /** Reads a request to its end. What it says does not matter. */
    private static void passRequest(InputStream in) throws IOException {
        long length = 0;
        boolean chunked = false;
        for (String header = line(in); !header.isEmpty(); header = line(in)) {
            String lower = header.toLowerCase(Locale.ROOT);
            chunked |= lower.equals(CHUNKED);
            if (lower.startsWith(LENGTH)) {
                length = Long.parseLong(lower.substring(LENGTH.length()).strip());
            }
        }
        if (!chunked) {
            in.skipNBytes(length);
            return;
        }
        for (long chunk = Long.parseLong(line(in), 16); chunk > 0; chunk = Long.parseLong(line(in), 16)) {
            in.skipNBytes(chunk);
            line(in);
        }
        line(in);
    }

    private static String line(InputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c = in.read(); c != '\n'; c = in.read()) {
            if (c < 0 || line.length() == LONGEST_LINE) {
                throw new EOFException("there is no whole request");
            }
            if (c != '\r') {
                line.append((char) c);
            }
        }
        return line.toString();
    }

    @Override
    public void close() throws IOException {
        listening.close();
    }
}
