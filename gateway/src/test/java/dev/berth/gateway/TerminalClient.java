package dev.berth.gateway;

import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;

/** A terminal as a program has it that shows one: what came from it, and a keyboard. */
final class TerminalClient implements AutoCloseable, WebSocket.Listener {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int TAIL = 8 << 10;
    private static final long PATIENCE = TimeUnit.SECONDS.toNanos(60);

    private final HttpClient client = HttpClient.newHttpClient();
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final ByteArrayOutputStream shown = new ByteArrayOutputStream();
    private final StringBuilder tail = new StringBuilder();
    private final StringBuilder text = new StringBuilder();
    private final ArrayNode said = JSON.createArrayNode();
    private boolean reading;
    private int closed = -1;
    private String reason = "";
    private @Nullable WebSocket socket;

    private TerminalClient(boolean reading) {
        this.reading = reading;
    }

    static TerminalClient open(String url, String key, String path) {
        return open(url, key, path, true);
    }

    /** One that takes nothing until it is told to read. */
    static TerminalClient slow(String url, String key, String path) {
        return open(url, key, path, false);
    }

    private static TerminalClient open(String url, String key, String path, boolean reading) {
        TerminalClient terminal = new TerminalClient(reading);
        terminal.socket = terminal.client
                .newWebSocketBuilder()
                .header("Authorization", "Bearer " + key)
                .buildAsync(URI.create(url.replace("http", "ws") + path), terminal)
                .join();
        return terminal;
    }

    void type(String keys) {
        send(keys.getBytes(StandardCharsets.UTF_8));
    }

    void send(byte[] bytes) {
        socket().sendBinary(ByteBuffer.wrap(bytes), true).join();
    }

    void say(String json) {
        socket().sendText(json, true).join();
    }

    private WebSocket socket() {
        return Objects.requireNonNull(socket);
    }

    /** Takes what comes, from now on. */
    void read() {
        lock.lock();
        try {
            reading = true;
        } finally {
            lock.unlock();
        }
        socket().request(1);
    }

    /** The last of what it showed, once that is as it should be. */
    String until(Predicate<String> right) {
        return await("the terminal", () -> right.test(shown()), this::shown);
    }

    String until(String part) {
        return until(all -> all.contains(part));
    }

    /** What the server said that is of a type. */
    JsonNode told(String type) {
        await("'" + type + "'", () -> find(type) != null, said::toString);
        return Objects.requireNonNull(find(type));
    }

    /** How many bytes the server says it left out. */
    long skipped() {
        lock.lock();
        try {
            long sum = 0;
            for (JsonNode message : said) {
                sum += message.path("type").asString().equals("skipped")
                        ? message.path("bytes").asLong()
                        : 0;
            }
            return sum;
        } finally {
            lock.unlock();
        }
    }

    private @Nullable JsonNode find(String type) {
        for (JsonNode message : said) {
            if (message.path("type").asString().equals(type)) {
                return message;
            }
        }
        return null;
    }

    int closed() {
        await("the end", () -> closed >= 0, this::shown);
        return closed;
    }

    String reason() {
        return reason;
    }

    byte[] bytes() {
        lock.lock();
        try {
            return shown.toByteArray();
        } finally {
            lock.unlock();
        }
    }

    /** The last of what was shown. */
    private String shown() {
        return tail.toString();
    }

    private interface Question {
        boolean holds();
    }

    private interface State {
        String now();
    }

    private String await(String what, Question question, State state) {
        lock.lock();
        try {
            long left = PATIENCE;
            while (!question.holds()) {
                if (left <= 0 || (closed >= 0 && !what.equals("the end"))) {
                    throw new AssertionError(
                            "waited in vain for " + what + " (closed " + closed + " " + reason + "): " + state.now());
                }
                left = changed.awaitNanos(left);
            }
            return state.now();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        } finally {
            lock.unlock();
        }
    }

    // ---- what comes ----------------------------------------------------------------------------------------------

    private @Nullable CompletionStage<?> note(WebSocket from, Runnable what) {
        lock.lock();
        try {
            what.run();
            changed.signalAll();
            if (reading) {
                from.request(1);
            }
            return null;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void onOpen(WebSocket from) {
        if (reading) {
            from.request(1);
        }
    }

    @Override
    public @Nullable CompletionStage<?> onBinary(WebSocket from, ByteBuffer data, boolean last) {
        byte[] bytes = new byte[data.remaining()];
        data.get(bytes);
        return note(from, () -> {
            shown.writeBytes(bytes);
            tail.append(new String(bytes, StandardCharsets.UTF_8));
            if (tail.length() > 2 * TAIL) {
                tail.delete(0, tail.length() - TAIL);
            }
        });
    }

    @Override
    public @Nullable CompletionStage<?> onText(WebSocket from, CharSequence data, boolean last) {
        return note(from, () -> {
            text.append(data);
            if (last) {
                said.add(JSON.readTree(text.toString()));
                text.setLength(0);
            }
        });
    }

    @Override
    public @Nullable CompletionStage<?> onClose(WebSocket from, int code, String why) {
        return note(from, () -> {
            closed = code;
            reason = why;
        });
    }

    @Override
    public void onError(WebSocket from, Throwable error) {
        note(from, () -> {
            closed = 1006;
            reason = String.valueOf(error);
        });
    }

    @Override
    public void close() {
        socket().abort();
        client.shutdownNow();
    }
}
