package dev.berth.gateway.e2b;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.berth.gateway.TestingBerth;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import tools.jackson.databind.JsonNode;

/** A sandbox as E2B's clients use it, over HTTP and byte by byte, so that tests can do what no client would. */
final class SandboxClient implements AutoCloseable {
    private final HttpClient http =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final TestingBerth berth;
    private final String key;
    final String id;
    final String token;

    private SandboxClient(TestingBerth berth, String key, String create) {
        this.berth = berth;
        this.key = key;
        JsonNode made = json(api("POST", create.contains("secure") ? "/sandboxes" : "/v2/sandboxes", create));
        this.id = made.path("sandboxID").asString("");
        this.token = made.path("envdAccessToken").asString("");
        if (id.isEmpty()) {
            throw new AssertionError(made);
        }
    }

    static SandboxClient create(TestingBerth berth, String key) {
        return create(berth, key, "{\"templateID\":\"host\",\"allow_internet_access\":false}");
    }

    static SandboxClient create(TestingBerth berth, String key, String json) {
        return new SandboxClient(berth, key, json);
    }

    static JsonNode json(HttpResponse<byte[]> response) {
        return Json.MAPPER.readTree(new String(response.body(), UTF_8));
    }

    static String text(HttpResponse<byte[]> response) {
        return new String(response.body(), UTF_8);
    }

    /** Of the control plane. */
    HttpResponse<byte[]> api(String method, String path, String json) {
        return send(HttpRequest.newBuilder(URI.create(berth.url() + path))
                .header("X-API-Key", key)
                .header("Content-Type", "application/json")
                .method(method, BodyPublishers.ofString(json)));
    }

    /** To this sandbox, without its token. */
    HttpRequest.Builder open(String path) {
        return HttpRequest.newBuilder(URI.create(berth.url() + path))
                .header("E2b-Sandbox-Id", id)
                .header("E2b-Sandbox-Port", "49983");
    }

    HttpRequest.Builder request(String path) {
        return open(path).header("X-Access-Token", token);
    }

    HttpResponse<byte[]> get(String path, String... headers) {
        HttpRequest.Builder request = request(path);
        return send(headers.length == 0 ? request : request.headers(headers));
    }

    HttpResponse<byte[]> send(HttpRequest.Builder request) {
        return send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
    }

    private <T> HttpResponse<T> send(HttpRequest request, HttpResponse.BodyHandler<T> handler) {
        try {
            return http.send(request, handler);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    HttpResponse<byte[]> rpc(String method, String json) {
        return send(request("/" + method)
                .header("Content-Type", "application/json")
                .header("Connect-Protocol-Version", "1")
                .POST(BodyPublishers.ofString(json)));
    }

    Stream stream(String method, String json, String... headers) {
        byte[] message = json.getBytes(UTF_8);
        return raw(
                method,
                ByteBuffer.allocate(5 + message.length)
                        .put((byte) 0)
                        .putInt(message.length)
                        .put(message)
                        .array(),
                headers);
    }

    Stream raw(String method, byte[] body, String... headers) {
        HttpRequest.Builder request = request("/" + method)
                .header("Content-Type", "application/connect+json")
                .header("Connect-Protocol-Version", "1")
                .POST(BodyPublishers.ofByteArray(body));
        return new Stream(send(
                (headers.length == 0 ? request : request.headers(headers)).build(),
                HttpResponse.BodyHandlers.ofInputStream()));
    }

    HttpResponse<byte[]> write(String path, String content, String... headers) {
        HttpRequest.Builder request = request("/files?path=" + URLEncoder.encode(path, UTF_8))
                .header("Content-Type", "application/octet-stream")
                .POST(BodyPublishers.ofString(content));
        return send(headers.length == 0 ? request : request.headers(headers));
    }

    static String header(HttpResponse<byte[]> response, String name) {
        return response.headers().firstValue(name).orElse("");
    }

    /** Asks until it is so. */
    static void until(BooleanSupplier condition) {
        Instant end = Instant.now().plus(Duration.ofSeconds(20));
        while (!condition.getAsBoolean()) {
            if (Instant.now().isAfter(end)) {
                throw new AssertionError("it never came to that");
            }
            LockSupport.parkNanos(Duration.ofMillis(20).toNanos());
        }
    }

    /** Runs a line and returns what it printed. */
    String run(String line) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (Stream stream = stream("process.Process/Start", start("/bin/bash", "-c", line))) {
            for (JsonNode event = stream.next(); !stream.over(); event = stream.next()) {
                JsonNode data = event.path("event").path("data").path("stdout");
                if (data.isString()) {
                    out.writeBytes(data.binaryValue());
                }
            }
        }
        return out.toString(UTF_8);
    }

    static String start(String... argv) {
        return Json.MAPPER.writeValueAsString(Map.of(
                "process",
                Map.of("cmd", argv[0], "args", java.util.Arrays.copyOfRange(argv, 1, argv.length)),
                "stdin",
                false));
    }

    @Override
    public void close() {
        http.close();
    }

    /** What comes back as a stream. */
    static final class Stream implements AutoCloseable {
        final HttpResponse<InputStream> response;
        private final DataInputStream in;
        private boolean over;

        Stream(HttpResponse<InputStream> response) {
            this.response = response;
            this.in = new DataInputStream(response.body());
        }

        /** The next message; the last is what the end of the stream says. */
        JsonNode next() {
            try {
                int flags = in.readUnsignedByte();
                byte[] message = new byte[in.readInt()];
                in.readFully(message);
                over = (flags & 2) != 0;
                return Json.MAPPER.readTree(new String(message, UTF_8));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        boolean over() {
            return over;
        }

        /** The code of the error at the end, reading up to it. */
        String error() {
            JsonNode last = next();
            while (!over) {
                last = next();
            }
            return last.path("error").path("code").asString("none");
        }

        /** Whether it breaks off before its end, and not in the way that HTTP ends an answer. */
        boolean broken() {
            try {
                while (!over) {
                    next();
                }
                return false;
            } catch (UncheckedIOException e) {
                return !(e.getCause() instanceof EOFException);
            }
        }

        @Override
        public void close() {
            try {
                in.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
