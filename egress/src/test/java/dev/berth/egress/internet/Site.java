package dev.berth.egress.internet;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;

/**
 * A web site (HTTP/1.1, with or without TLS). It answers every request with the request, as text; {@code /bytes/N} with
 * that many zeros; and keeps what it was asked.
 */
public final class Site implements AutoCloseable {
    private final HttpServer server;
    private final ExecutorService threads;
    private final String says;
    private final List<Seen> seen = new CopyOnWriteArrayList<>();

    /**
     * A request as it arrived.
     *
     * @param uri as it stood in the request
     * @param headers names in lower case; values of the same name joined with ", "
     */
    public record Seen(String method, String uri, Map<String, String> headers, String body) {}

    Site(HttpServer server, ExecutorService threads, String says) {
        this.server = server;
        this.threads = threads;
        this.says = says;
        server.createContext("/", this::handle);
        server.setExecutor(threads);
        server.start();
    }

    public InetSocketAddress address() {
        return server.getAddress();
    }

    /** All requests so far, in the order of their arrival. */
    public List<Seen> seen() {
        return List.copyOf(seen);
    }

    private void handle(HttpExchange exchange) throws IOException {
        try (exchange) {
            String uri = exchange.getRequestURI().toString();
            if (uri.startsWith("/bytes/")) {
                zeros(exchange, Long.parseLong(uri.substring("/bytes/".length())));
                return;
            }
            Map<String, String> headers = new TreeMap<>();
            exchange.getRequestHeaders()
                    .forEach((name, values) ->
                            headers.put(name.toLowerCase(java.util.Locale.ROOT), String.join(", ", values)));
            String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
            seen.add(new Seen(exchange.getRequestMethod(), uri, headers, body));
            StringBuilder text = new StringBuilder(says)
                    .append('\n')
                    .append(exchange.getRequestMethod())
                    .append(' ')
                    .append(uri)
                    .append('\n');
            headers.forEach((name, value) ->
                    text.append(name).append(": ").append(value).append('\n'));
            byte[] answer = text.append('\n').append(body).toString().getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("Content-Type", "text/plain; charset=utf-8");
            boolean head = exchange.getRequestMethod().equals("HEAD");
            exchange.sendResponseHeaders(200, head ? -1 : answer.length);
            if (!head) {
                exchange.getResponseBody().write(answer);
            }
        }
    }

    private static void zeros(HttpExchange exchange, long count) throws IOException {
        byte[] some = new byte[256 << 10];
        exchange.sendResponseHeaders(200, count == 0 ? -1 : count);
        OutputStream body = exchange.getResponseBody();
        for (long left = count; left > 0; left -= some.length) {
            body.write(some, 0, (int) Math.min(left, some.length));
        }
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
