package dev.berth.gateway.egress;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import dev.berth.egress.internet.Internet;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;

/**
 * What package managers, git and others find in the small internet. Where a credential is wanted, it answers 401 to
 * whoever has not exactly this one.
 *
 * <p>{@code /zeros/N} is a body of that many bytes, {@code /count} tells how many it was sent, {@code /events} is a stream
 * whose second event comes when the first one was acknowledged at {@code /seen}, {@code /git/} has repositories.
 */
final class Shop implements AutoCloseable {
    private final HttpServer server;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final String wanted;
    private final Path repositories;
    private final Map<String, byte[]> files = new ConcurrentHashMap<>();
    private final CountDownLatch seen = new CountDownLatch(1);
    private volatile long liveHalfway;

    /**
     * @param wanted what the Authorization header has to be; empty for nothing
     * @param repositories of git
     */
    Shop(Internet internet, InetAddress address, String wanted, Path repositories, SSLContext tls) {
        HttpsServer secured = internet.inside(() -> HttpsServer.create(new InetSocketAddress(address, 443), 512));
        secured.setHttpsConfigurator(new HttpsConfigurator(tls));
        this.server = secured;
        this.wanted = wanted;
        this.repositories = repositories;
        begin();
    }

    /** Without TLS, open to all. */
    Shop(Internet internet, InetAddress address) {
        this.server = internet.inside(() -> HttpServer.create(new InetSocketAddress(address, 80), 512));
        this.wanted = "";
        this.repositories = Path.of("/nonexistent");
        begin();
    }

    private void begin() {
        server.createContext("/", this::handle);
        server.setExecutor(threads);
        server.start();
    }

    void file(String path, byte[] content) {
        files.put(path, content);
    }

    void file(String path, String content) {
        file(path, content.getBytes(StandardCharsets.UTF_8));
    }

    /** How much memory this whole program used, without garbage, halfway through the last large body. */
    long liveHalfway() {
        return liveHalfway;
    }

    static long live() {
        System.gc();
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }

    private void handle(HttpExchange exchange) throws IOException {
        try (exchange) {
            String authorization = exchange.getRequestHeaders().getFirst("Authorization");
            if (!wanted.isEmpty() && !wanted.equals(authorization)) {
                answer(
                        exchange,
                        401,
                        "the credential is not the one that is wanted\n".getBytes(StandardCharsets.UTF_8));
                return;
            }
            String path = exchange.getRequestURI().normalize().getPath();
            byte[] file = files.get(path);
            if (file != null) {
                if (path.endsWith("/")) {
                    exchange.getResponseHeaders().set("Content-Type", "text/html");
                }
                answer(exchange, 200, file);
            } else if (path.startsWith("/zeros/")) {
                zeros(exchange, Long.parseLong(path.substring("/zeros/".length())));
            } else if (path.equals("/count")) {
                answer(exchange, 200, (count(exchange.getRequestBody()) + "\n").getBytes(StandardCharsets.UTF_8));
            } else if (path.equals("/events")) {
                events(exchange);
            } else if (path.equals("/seen")) {
                seen.countDown();
                answer(exchange, 200, "thanks\n".getBytes(StandardCharsets.UTF_8));
            } else if (path.startsWith("/git/")) {
                git(exchange, path.substring("/git".length()));
            } else {
                answer(exchange, 404, "no such thing\n".getBytes(StandardCharsets.UTF_8));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void answer(HttpExchange exchange, int status, byte[] body) throws IOException {
        boolean none = body.length == 0 || exchange.getRequestMethod().equals("HEAD");
        exchange.sendResponseHeaders(status, none ? -1 : body.length);
        if (!none) {
            exchange.getResponseBody().write(body);
        }
    }

    private void zeros(HttpExchange exchange, long count) throws IOException {
        byte[] some = new byte[256 << 10];
        exchange.sendResponseHeaders(200, count);
        OutputStream body = exchange.getResponseBody();
        boolean measured = false;
        for (long left = count; left > 0; left -= some.length) {
            if (!measured && left <= count / 2) {
                liveHalfway = live();
                measured = true;
            }
            body.write(some, 0, (int) Math.min(left, some.length));
        }
    }

    private long count(InputStream body) throws IOException {
        byte[] buffer = new byte[256 << 10];
        long total = 0;
        liveHalfway = 0;
        for (int n = body.read(buffer); n >= 0; n = body.read(buffer)) {
            total += n;
            if (total > 128 << 20 && liveHalfway == 0) {
                liveHalfway = live();
            }
        }
        return total;
    }

    private void events(HttpExchange exchange) throws IOException, InterruptedException {
        exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
        exchange.sendResponseHeaders(200, 0);
        OutputStream body = exchange.getResponseBody();
        body.write("data: one\n\n".getBytes(StandardCharsets.UTF_8));
        body.flush();
        boolean acknowledged = seen.await(60, TimeUnit.SECONDS);
        body.write(
                ("data: " + (acknowledged ? "two" : "nobody saw the first") + "\n\n").getBytes(StandardCharsets.UTF_8));
    }

    /** By git-http-backend(1), as a web server does it. */
    private void git(HttpExchange exchange, String path) throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder("git", "http-backend");
        String query = exchange.getRequestURI().getRawQuery();
        builder.environment()
                .putAll(Map.of(
                        "GIT_PROJECT_ROOT",
                        repositories.toString(),
                        "GIT_HTTP_EXPORT_ALL",
                        "1",
                        "PATH_INFO",
                        path,
                        "QUERY_STRING",
                        query == null ? "" : query,
                        "REQUEST_METHOD",
                        exchange.getRequestMethod(),
                        "CONTENT_TYPE",
                        header(exchange, "Content-Type"),
                        "HTTP_CONTENT_ENCODING",
                        header(exchange, "Content-Encoding"),
                        "GIT_PROTOCOL",
                        header(exchange, "Git-Protocol"),
                        "REMOTE_USER",
                        "me",
                        "REMOTE_ADDR",
                        "192.0.2.1"));
        Process backend = builder.redirectError(ProcessBuilder.Redirect.DISCARD).start();
        try (OutputStream stdin = backend.getOutputStream()) {
            exchange.getRequestBody().transferTo(stdin);
        }
        InputStream stdout = backend.getInputStream();
        int status = 200;
        for (String line = line(stdout); !line.isEmpty(); line = line(stdout)) {
            String value = line.substring(line.indexOf(':') + 1).strip();
            if (line.startsWith("Status:")) {
                status = Integer.parseInt(value.substring(0, 3));
            } else {
                exchange.getResponseHeaders().add(line.substring(0, line.indexOf(':')), value);
            }
        }
        byte[] body = stdout.readAllBytes();
        backend.waitFor();
        answer(exchange, status, body);
    }

    private static String header(HttpExchange exchange, String name) {
        String value = exchange.getRequestHeaders().getFirst(name);
        return value == null ? "" : value;
    }

    private static String line(InputStream in) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int b = in.read(); b >= 0 && b != '\n'; b = in.read()) {
            if (b != '\r') {
                line.write(b);
            }
        }
        return line.toString(StandardCharsets.ISO_8859_1);
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
