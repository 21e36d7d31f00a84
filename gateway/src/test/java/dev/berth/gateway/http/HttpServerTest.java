package dev.berth.gateway.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.gateway.auth.RateLimits;
import dev.berth.sandbox.SandboxException;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLHandshakeException;
import org.eclipse.jetty.server.Handler;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** How the server listens and how it stops, whatever it is asked. */
@Timeout(300)
class HttpServerTest {
    @TempDir
    private static Path directory;

    private static TestingKeyStore keys;

    private final CountDownLatch arrived = new CountDownLatch(1);
    private final CountDownLatch mayGoOn = new CountDownLatch(1);

    @BeforeAll
    static void aKeyStore() throws Exception {
        keys = TestingKeyStore.make(directory);
    }

    /** Its {@code /healthz} waits until it is let go, and {@code /readyz} answers at once. */
    private HttpServer start(Optional<ServerConfig.Tls> tls) {
        Contract contract = Contract.load();
        Map<String, Endpoint> endpoints = new HashMap<>();
        Map<String, SocketEndpoint> sockets = new HashMap<>();
        for (Contract.Operation operation : contract.routes()) {
            endpoints.put(operation.id(), _ -> Answer.done());
            sockets.put(operation.id(), _ -> {
                throw new IllegalStateException("nobody asks for a WebSocket here");
            });
        }
        endpoints.put("readiness", _ -> Answer.ok(Map.of("status", "ready")));
        endpoints.put("health", _ -> {
            arrived.countDown();
            mayGoOn.await();
            return Answer.ok(Map.of("status", "finished"));
        });
        return HttpServer.start(
                new ServerConfig("127.0.0.1", 0, tls, 1 << 20),
                contract,
                endpoints,
                sockets,
                new Admission(_ -> Optional.empty(), new RateLimits(0, 0)),
                new Handler.Wrapper(),
                Optional.empty(),
                new SimpleMeterRegistry());
    }

    private static ServerConfig.Tls tls() {
        return new ServerConfig.Tls(keys.file(), keys.password());
    }

    private static HttpClient client(Version version, SSLContext trust) {
        return HttpClient.newBuilder().version(version).sslContext(trust).build();
    }

    private static HttpRequest request(String scheme, int port, String path) {
        return HttpRequest.newBuilder(URI.create(scheme + "://127.0.0.1:" + port + path))
                .build();
    }

    @ParameterizedTest
    @EnumSource(
            value = Version.class,
            names = {"HTTP_1_1", "HTTP_2"})
    void withAKeyStoreItSpeaksHttpsInTheVersionThatTheClientWants(Version version) throws Exception {
        try (HttpServer server = start(Optional.of(tls()));
                HttpClient client = client(version, keys.trusted())) {
            HttpResponse<String> response =
                    client.send(request("https", server.port(), "/readyz"), HttpResponse.BodyHandlers.ofString());
            assertThat(response.statusCode()).isEqualTo(200);
            assertThat(response.body()).contains("ready");
            assertThat(response.version()).isEqualTo(version);
            assertThat(response.sslSession().orElseThrow().getProtocol()).isIn("TLSv1.2", "TLSv1.3");
        }
    }

    @Test
    void withAKeyStoreItIsItselfAndSpeaksNothingInClear() throws Exception {
        try (HttpServer server = start(Optional.of(tls()));
                HttpClient stranger = HttpClient.newHttpClient()) {
            assertThatThrownBy(() -> stranger.send(
                            request("https", server.port(), "/readyz"), HttpResponse.BodyHandlers.discarding()))
                    .as("a client that does not trust the certificate")
                    .isInstanceOf(SSLHandshakeException.class);
            assertThatThrownBy(() -> stranger.send(
                            request("http", server.port(), "/readyz"), HttpResponse.BodyHandlers.discarding()))
                    .as("a client that does not speak TLS")
                    .isInstanceOf(IOException.class);
        }
    }

    @Test
    void aKeyStoreThatCannotBeOpenedIsSaid() {
        assertThatThrownBy(() -> start(Optional.of(new ServerConfig.Tls(keys.file(), "wrong-password")))
                        .close())
                .isInstanceOf(SandboxException.class)
                .hasMessageContaining("look at the key store")
                .hasMessageNotContaining("wrong-password");
    }

    @ParameterizedTest
    @EnumSource(
            value = Version.class,
            names = {"HTTP_1_1", "HTTP_2"})
    void inClearItSpeaksBothVersionsToo(Version version) throws Exception {
        try (HttpServer server = start(Optional.empty());
                HttpClient client = client(version, SSLContext.getDefault())) {
            HttpResponse<String> response =
                    client.send(request("http", server.port(), "/readyz"), HttpResponse.BodyHandlers.ofString());
            assertThat(response.statusCode()).isEqualTo(200);
            assertThat(response.version()).isEqualTo(version);
        }
    }

    @ParameterizedTest
    @CsvSource({"http,HTTP_1_1", "http,HTTP_2", "https,HTTP_1_1", "https,HTTP_2"})
    void whatIsBeingAnsweredIsFinishedWhenItStopsAndNothingNewIsTaken(String scheme, Version version) throws Exception {
        try (HttpServer server = start(scheme.equals("https") ? Optional.of(tls()) : Optional.empty());
                HttpClient client = client(version, keys.trusted())) {
            int port = server.port();
            CompletableFuture<HttpResponse<String>> running =
                    client.sendAsync(request(scheme, port, "/healthz"), HttpResponse.BodyHandlers.ofString());
            try {
                assertThat(arrived.await(60, TimeUnit.SECONDS)).isTrue();
                CompletableFuture<Void> stopping = CompletableFuture.runAsync(server::close);
                awaitRefusal(scheme, port);
                assertThat(running).isNotDone();
                assertThat(stopping).isNotDone();
                mayGoOn.countDown();
                assertThat(running.get(60, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
                assertThat(running.get().body()).contains("finished");
                stopping.get(60, TimeUnit.SECONDS);
            } finally {
                mayGoOn.countDown();
            }
        }
    }

    /** Asks as somebody new until there is no good answer any more, or none at all to a connection that came too late. */
    private static void awaitRefusal(String scheme, int port) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (isTaken(scheme, port)) {
            assertThat(System.nanoTime()).as("new requests are still taken").isLessThan(deadline);
        }
    }

    private static boolean isTaken(String scheme, int port) throws Exception {
        try (HttpClient somebody = client(Version.HTTP_1_1, keys.trusted())) {
            HttpRequest question = HttpRequest.newBuilder(request(scheme, port, "/readyz"), (_, _) -> true)
                    .timeout(Duration.ofSeconds(3))
                    .build();
            int status = somebody.send(question, HttpResponse.BodyHandlers.discarding())
                    .statusCode();
            assertThat(status).isIn(200, 503);
            return status == 200;
        } catch (IOException e) {
            return false;
        }
    }
}
