package dev.berth.channel.webhook;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** A chat system on loopback: it checks and remembers what it is posted, and has files. */
final class ChatSystem implements AutoCloseable {
    static final String SECRET = "a secret that both sides know";
    private static final JsonMapper JSON = JsonMapper.builder().build();

    /** What to answer with instead of 200. */
    record Trouble(int status, Map<String, String> headers) {}

    private final HttpServer server;
    private final List<JsonNode> posted = new ArrayList<>();
    private final Deque<Trouble> troubles = new ArrayDeque<>();

    ChatSystem() {
        try {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        server.createContext("/post", this::post);
        server.createContext("/file", exchange -> file(exchange, 0));
        server.createContext("/sized", exchange -> file(exchange, 100_000));
        server.createContext("/moved", exchange -> {
            exchange.getResponseHeaders().add("Location", "/file");
            exchange.sendResponseHeaders(302, -1);
            exchange.close();
        });
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.start();
    }

    private synchronized void post(HttpExchange exchange) throws IOException {
        byte[] body = exchange.getRequestBody().readAllBytes();
        String signature = exchange.getRequestHeaders().getFirst(Signature.HEADER);
        Trouble trouble = troubles.poll();
        int status = 200;
        if (signature == null || !Signature.good(SECRET, Instant.now(), signature, body)) {
            status = 401;
        } else if (trouble != null) {
            trouble.headers()
                    .forEach((name, value) -> exchange.getResponseHeaders().add(name, value));
            status = trouble.status();
        } else {
            posted.add(JSON.readTree(body));
        }
        exchange.sendResponseHeaders(status, -1);
        exchange.close();
    }

    /** 0 is a length that is not told, for which this server sends chunks. */
    private static void file(HttpExchange exchange, long length) throws IOException {
        exchange.sendResponseHeaders(200, length);
        try (var out = exchange.getResponseBody()) {
            for (int i = 0; i < 10_000; i++) {
                out.write("0123456789".getBytes(UTF_8));
            }
        }
    }

    URI url(String path) {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort() + path);
    }

    synchronized void answerWith(Trouble... next) {
        troubles.addAll(List.of(next));
    }

    synchronized List<JsonNode> posted() {
        return List.copyOf(posted);
    }

    @Override
    public void close() {
        server.stop(0);
    }
}
