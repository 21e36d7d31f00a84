package dev.berth.demo;

import com.sun.net.httpserver.HttpServer;
import dev.berth.channel.webhook.Signature;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** A chat system of somebody's own: it is posted boards, and posts what people say. */
final class ChatSystem implements AutoCloseable {
    static final String SECRET = "a-secret-of-both-sides";

    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final HttpServer server;
    private final HttpClient client = HttpClient.newHttpClient();
    /** Guarded by this. */
    private final List<JsonNode> boards = new ArrayList<>();

    ChatSystem() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/boards", exchange -> {
            byte[] body = exchange.getRequestBody().readAllBytes();
            String signature = exchange.getRequestHeaders().getFirst(Signature.HEADER);
            long seconds = Long.parseLong(signature.replaceAll("t=([0-9]+),.*", "$1"));
            boolean good = signature.equals(Signature.of(SECRET, Instant.ofEpochSecond(seconds), body));
            if (good) {
                add(JSON.readTree(body));
            }
            exchange.sendResponseHeaders(good ? 204 : 401, -1);
            exchange.close();
        });
        server.start();
    }

    URI url() {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/boards");
    }

    HttpResponse<String> says(URI door, Map<String, Object> message, String secret)
            throws IOException, InterruptedException {
        byte[] body = JSON.writeValueAsBytes(message);
        HttpRequest request = HttpRequest.newBuilder(door)
                .header(Signature.HEADER, Signature.of(secret, Instant.now(), body))
                .POST(HttpRequest.BodyPublishers.ofByteArray(body))
                .build();
        return client.send(request, HttpResponse.BodyHandlers.ofString());
    }

    private synchronized void add(JsonNode board) {
        boards.add(board);
        notifyAll();
    }

    synchronized JsonNode awaitBoard(Predicate<JsonNode> wanted) throws InterruptedException {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (true) {
            Optional<JsonNode> found = boards.stream().filter(wanted).findFirst();
            if (found.isPresent()) {
                return found.get();
            }
            long left = Duration.ofNanos(deadline - System.nanoTime()).toMillis();
            if (left <= 0) {
                throw new AssertionError("it did not come to that; there are " + boards);
            }
            wait(left);
        }
    }

    @Override
    public void close() {
        server.stop(0);
        client.close();
    }
}
