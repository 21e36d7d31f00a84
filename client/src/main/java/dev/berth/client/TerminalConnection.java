package dev.berth.client;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpResponse;
import java.net.http.WebSocket;
import java.net.http.WebSocketHandshakeException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * A terminal of a session over a WebSocket. One thread receives while others send. Messages that are not received yet are
 * few: then the server waits.
 */
public final class TerminalConnection implements AutoCloseable {
    private static final int AHEAD = 16;
    private static final int MOST_CONTROL = 1 << 20;
    private static final Duration CONNECT = Duration.ofMinutes(1);

    /** What comes from the terminal. */
    public sealed interface Message {
        /** Bytes as a program wrote them. */
        record Output(byte[] bytes) implements Message {}

        /** The first message: how large it is, and how much of what follows was there before. */
        record Attached(String terminal, int cols, int rows, long replayedBytes) implements Message {}

        /** The program on it has ended. */
        record Exit(int exitCode) implements Message {}

        /** Output that was passed over, as we were too slow for it. */
        record Skipped(long bytes) implements Message {}

        /** The connection is over. */
        record Closed(int code, String reason) implements Message {}
    }

    private final Receiver receiver;
    private final WebSocket socket;
    private boolean closed;

    private TerminalConnection(Receiver receiver, WebSocket socket) {
        this.receiver = receiver;
        this.socket = socket;
    }

    static TerminalConnection open(BerthClient berth, Call call) {
        Transport transport = berth.transport();
        String uri = transport.uri(call).toString();
        Receiver receiver = new Receiver();
        try {
            WebSocket socket = transport
                    .http()
                    .newWebSocketBuilder()
                    .connectTimeout(CONNECT)
                    .header("Authorization", transport.authorization())
                    .buildAsync(URI.create("ws" + uri.substring("http".length())), receiver)
                    .join();
            return new TerminalConnection(receiver, socket);
        } catch (CompletionException e) {
            throw failure(transport, e.getCause() == null ? e : e.getCause());
        }
    }

    private static BerthException failure(Transport transport, Throwable cause) {
        if (cause instanceof WebSocketHandshakeException handshake) {
            HttpResponse<?> response = handshake.getResponse();
            Json said = Json.object();
            if (response.statusCode() == 404) {
                said = said.with("detail", "there is no such session; 'session ls' lists those there are");
            }
            BerthException e = BerthException.of(response.statusCode(), response.headers(), said);
            e.initCause(handshake);
            return e;
        }
        return BerthException.unreachable(
                "could not connect to " + transport.base() + ": " + cause.getMessage(), cause);
    }

    /** The next message, waited for. The last one is {@link Message.Closed}. */
    public Message receive() throws InterruptedException {
        if (closed) {
            throw new IllegalStateException("the last message was received");
        }
        Message message = receiver.messages.take();
        closed = message instanceof Message.Closed;
        if (!closed) {
            socket.request(1);
        }
        return message;
    }

    /** Sends bytes as if they were typed. */
    public void send(byte[] bytes, int offset, int length) throws IOException {
        ByteBuffer copy = ByteBuffer.allocate(length).put(bytes, offset, length).flip();
        await(() -> socket.sendBinary(copy, true));
    }

    /** Tells how large the window is now. */
    public void resize(int cols, int rows) throws IOException {
        Json resize = Json.object().with("type", "resize").with("cols", cols).with("rows", rows);
        await(() -> socket.sendText(resize.toString(), true));
    }

    private interface Sending {
        CompletionStage<WebSocket> send();
    }

    /** One after the other, as a WebSocket of the JDK wants it. */
    private synchronized void await(Sending sending) throws IOException {
        try {
            sending.send().toCompletableFuture().join();
        } catch (CompletionException e) {
            throw new IOException("the connection to the terminal is lost", e.getCause());
        }
    }

    /** Leaves, so that whoever receives gets {@link Message.Closed}; the terminal goes on. For any thread. */
    public void leave() {
        receiver.messages.add(new Message.Closed(WebSocket.NORMAL_CLOSURE, "left"));
        socket.abort();
    }

    /** Leaves; the terminal goes on. */
    @Override
    public void close() {
        socket.abort();
    }

    private static final class Receiver implements WebSocket.Listener {
        /** Never holds more than was asked for, and the end. */
        private final BlockingQueue<Message> messages = new LinkedBlockingQueue<>();

        private final StringBuilder text = new StringBuilder();

        @Override
        public void onOpen(WebSocket socket) {
            socket.request(AHEAD);
        }

        @Override
        public CompletionStage<?> onBinary(WebSocket socket, ByteBuffer data, boolean last) {
            byte[] bytes = new byte[data.remaining()];
            data.get(bytes);
            messages.add(new Message.Output(bytes));
            return Done.NOW;
        }

        @Override
        public CompletionStage<?> onText(WebSocket socket, CharSequence data, boolean last) {
            text.append(data);
            Optional<Message> message = Optional.empty();
            if (text.length() > MOST_CONTROL) {
                onError(socket, new IOException("a message of more than " + MOST_CONTROL + " characters"));
                socket.abort();
            } else if (last) {
                message = control(text.toString());
                text.setLength(0);
            }
            message.ifPresentOrElse(messages::add, () -> socket.request(1));
            return Done.NOW;
        }

        /** What this version does not know is passed over. */
        private static Optional<Message> control(String text) {
            Json json;
            try {
                json = Json.parse(text);
            } catch (IllegalArgumentException e) {
                return Optional.empty();
            }
            return switch (json.get("type").text()) {
                case "attached" ->
                    Optional.of(new Message.Attached(
                            json.get("terminal").text(),
                            json.get("cols").optionalInt().orElse(0),
                            json.get("rows").optionalInt().orElse(0),
                            json.get("replayed_bytes").whole()));
                case "exit" ->
                    Optional.of(
                            new Message.Exit(json.get("exit_code").optionalInt().orElse(0)));
                case "skipped" ->
                    Optional.of(new Message.Skipped(json.get("bytes").whole()));
                default -> Optional.empty();
            };
        }

        @Override
        public CompletionStage<?> onClose(WebSocket socket, int code, String reason) {
            messages.add(new Message.Closed(code, reason));
            return Done.NOW;
        }

        @Override
        public void onError(WebSocket socket, Throwable error) {
            messages.add(new Message.Closed(1006, String.valueOf(error.getMessage()))); // "abnormal", by RFC 6455
        }
    }

    /** What a listener returns when it is done with the data. */
    private static final class Done {
        static final CompletionStage<Boolean> NOW = java.util.concurrent.CompletableFuture.completedStage(true);
    }
}
