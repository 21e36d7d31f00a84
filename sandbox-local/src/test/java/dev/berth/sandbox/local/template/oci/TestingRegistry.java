package dev.berth.sandbox.local.template.oci;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import tools.jackson.databind.json.JsonMapper;

/** Debian's docker-registry on a free port of this machine, with storage of its own; and a door that wants a token. */
public final class TestingRegistry implements AutoCloseable {
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private static final int LARGEST_MANIFEST = 100_000;

    private final HttpClient http = HttpClient.newHttpClient();
    private final Process process;
    private final Path directory;
    private final int port;
    private final List<HttpServer> doors = new ArrayList<>();

    public TestingRegistry(Path directory) throws IOException, InterruptedException {
        this.directory = directory;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        Path config =
                Files.writeString(directory.resolve("config.yml"), """
                version: 0.1
                log: {level: error}
                storage:
                  filesystem: {rootdirectory: %s}
                http:
                  addr: 127.0.0.1:%d
                """.formatted(directory.resolve("storage"), port));
        process = new ProcessBuilder("docker-registry", "serve", config.toString())
                .redirectErrorStream(true)
                .redirectOutput(directory.resolve("log").toFile())
                .start();
        awaitAnswer();
    }

    private void awaitAnswer() throws InterruptedException, IOException {
        for (int i = 0; i < 600; i++) {
            try {
                if (http.send(get("/v2/"), HttpResponse.BodyHandlers.discarding())
                                .statusCode()
                        == 200) {
                    return;
                }
            } catch (IOException e) {
                if (!process.isAlive()) {
                    throw new IOException("docker-registry ended: " + Files.readString(directory.resolve("log")), e);
                }
            }
            Thread.sleep(50);
        }
        throw new IOException("docker-registry does not answer");
    }

    private HttpRequest get(String path) {
        return HttpRequest.newBuilder(URI.create("http://" + host() + path)).build();
    }

    public String host() {
        return "127.0.0.1:" + port;
    }

    /** Pushes an image and gives its digest. */
    public String push(String repository, String tag, List<String> env, byte[]... layers) throws Exception {
        List<Object> pushed = new ArrayList<>();
        for (byte[] layer : layers) {
            pushed.add(java.util.Map.of(
                    "mediaType",
                    "application/vnd.oci.image.layer.v1.tar",
                    "size",
                    layer.length,
                    "digest",
                    blob(repository, layer)));
        }
        byte[] config = JSON.writeValueAsBytes(
                java.util.Map.of("os", "linux", "architecture", "amd64", "config", java.util.Map.of("Env", env)));
        byte[] manifest = JSON.writeValueAsBytes(java.util.Map.of(
                "schemaVersion",
                2,
                "mediaType",
                "application/vnd.oci.image.manifest.v1+json",
                "config",
                java.util.Map.of(
                        "mediaType",
                        "application/vnd.oci.image.config.v1+json",
                        "size",
                        config.length,
                        "digest",
                        blob(repository, config)),
                "layers",
                pushed));
        return manifest(repository, tag, "application/vnd.oci.image.manifest.v1+json", manifest);
    }

    /** Pushes a list of images for several kinds of machines. */
    public String list(String repository, String tag, java.util.Map<String, String> digests) throws Exception {
        List<Object> entries = new ArrayList<>();
        for (var entry : digests.entrySet()) {
            byte[] manifest = http.send(
                            HttpRequest.newBuilder(URI.create("http://" + host() + "/v2/" + repository + "/manifests/"
                                            + entry.getValue()))
                                    .header("Accept", "application/vnd.oci.image.manifest.v1+json")
                                    .build(),
                            HttpResponse.BodyHandlers.ofByteArray())
                    .body();
            entries.add(java.util.Map.of(
                    "mediaType",
                    "application/vnd.oci.image.manifest.v1+json",
                    "size",
                    manifest.length,
                    "digest",
                    entry.getValue(),
                    "platform",
                    java.util.Map.of("os", "linux", "architecture", entry.getKey())));
        }
        return manifest(
                repository,
                tag,
                "application/vnd.oci.image.index.v1+json",
                JSON.writeValueAsBytes(java.util.Map.of(
                        "schemaVersion",
                        2,
                        "mediaType",
                        "application/vnd.oci.image.index.v1+json",
                        "manifests",
                        entries)));
    }

    private String manifest(String repository, String tag, String type, byte[] manifest) throws Exception {
        HttpResponse<String> answer = http.send(
                HttpRequest.newBuilder(URI.create("http://" + host() + "/v2/" + repository + "/manifests/" + tag))
                        .header("Content-Type", type)
                        .PUT(HttpRequest.BodyPublishers.ofByteArray(manifest))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() != 201) {
            throw new IOException("manifest: " + answer.statusCode() + " " + answer.body());
        }
        return Sha256.of(manifest);
    }

    private String blob(String repository, byte[] content) throws Exception {
        URI begin = URI.create("http://" + host() + "/v2/" + repository + "/blobs/uploads/");
        HttpResponse<Void> begun = http.send(
                HttpRequest.newBuilder(begin)
                        .POST(HttpRequest.BodyPublishers.noBody())
                        .build(),
                HttpResponse.BodyHandlers.discarding());
        String digest = Sha256.of(content);
        String to = begun.headers().firstValue("Location").orElseThrow();
        HttpResponse<String> done = http.send(
                HttpRequest.newBuilder(begin.resolve(to + (to.contains("?") ? "&" : "?") + "digest=" + digest))
                        .header("Content-Type", "application/octet-stream")
                        .PUT(HttpRequest.BodyPublishers.ofByteArray(content))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
        if (done.statusCode() != 201) {
            throw new IOException("blob: " + done.statusCode() + " " + done.body());
        }
        return digest;
    }

    /** Where the registry keeps a blob, so that a test can damage it. */
    public Path stored(byte[] content) {
        String digest = Sha256.of(content).substring("sha256:".length());
        return directory.resolve(
                "storage/docker/registry/v2/blobs/sha256/" + digest.substring(0, 2) + "/" + digest + "/data");
    }

    /** The same registry for those who have a token of its authority, which knows one user. */
    public String behindTokens(String user, String password) throws IOException {
        HttpServer door = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        String host = "127.0.0.1:" + door.getAddress().getPort();
        String basic =
                "Basic " + Base64.getEncoder().encodeToString((user + ":" + password).getBytes(StandardCharsets.UTF_8));
        door.createContext("/token", exchange -> {
            boolean known = basic.equals(exchange.getRequestHeaders().getFirst("Authorization"));
            boolean asked = exchange.getRequestURI().getQuery().contains("scope=repository:")
                    && exchange.getRequestURI().getQuery().contains(":pull");
            answer(exchange, known && asked ? 200 : 401, "{\"token\":\"let-me-in\"}".getBytes(StandardCharsets.UTF_8));
        });
        door.createContext("/v2/", exchange -> {
            if ("Bearer let-me-in".equals(exchange.getRequestHeaders().getFirst("Authorization"))) {
                forward(exchange);
            } else {
                exchange.getResponseHeaders()
                        .add(
                                "WWW-Authenticate",
                                "Bearer realm=\"http://" + host + "/token\",service=\"tests\",scope=\"x\"");
                answer(exchange, 401, new byte[0]);
            }
        });
        door.start();
        doors.add(door);
        return host;
    }

    /** The same registry for those who say their name and password each time. */
    public String behindPassword(String user, String password) throws IOException {
        HttpServer door = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        String basic =
                "Basic " + Base64.getEncoder().encodeToString((user + ":" + password).getBytes(StandardCharsets.UTF_8));
        door.createContext("/v2/", exchange -> {
            if (basic.equals(exchange.getRequestHeaders().getFirst("Authorization"))) {
                forward(exchange);
            } else {
                exchange.getResponseHeaders().add("WWW-Authenticate", "Basic realm=\"tests\"");
                answer(exchange, 401, new byte[0]);
            }
        });
        door.start();
        doors.add(door);
        return "127.0.0.1:" + door.getAddress().getPort();
    }

    /** What somebody can serve who knows an image's manifest and has none of its layers. */
    public String withoutLayers() throws IOException {
        HttpServer door = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        door.createContext("/v2/", exchange -> forward(exchange, LARGEST_MANIFEST));
        door.start();
        doors.add(door);
        return "127.0.0.1:" + door.getAddress().getPort();
    }

    private void forward(HttpExchange exchange) throws IOException {
        forward(exchange, Integer.MAX_VALUE);
    }

    private void forward(HttpExchange exchange, int most) throws IOException {
        try {
            HttpRequest.Builder request =
                    HttpRequest.newBuilder(URI.create("http://" + host() + exchange.getRequestURI()));
            Optional.ofNullable(exchange.getRequestHeaders().getFirst("Accept"))
                    .ifPresent(accept -> request.header("Accept", accept));
            HttpResponse<InputStream> answer = http.send(request.build(), HttpResponse.BodyHandlers.ofInputStream());
            byte[] body = answer.body().readAllBytes();
            answer(exchange, body.length > most ? 404 : answer.statusCode(), body.length > most ? new byte[0] : body);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void answer(HttpExchange exchange, int status, byte[] body) throws IOException {
        exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
        try (OutputStream out = exchange.getResponseBody()) {
            out.write(body);
        }
    }

    @Override
    public void close() {
        doors.forEach(door -> door.stop(0));
        process.destroy();
        try {
            if (!process.waitFor(10, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
