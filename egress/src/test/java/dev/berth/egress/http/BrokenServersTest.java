package dev.berth.egress.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.egress.policy.Refusal.Reason;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.eclipse.jetty.io.Content;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(300)
class BrokenServersTest {
    private World world;

    @BeforeEach
    void start() throws Exception {
        world = new World(Limits.USUAL);
    }

    private void use(Limits limits) throws Exception {
        world.close();
        world = new World(limits);
    }

    @AfterEach
    void stop() throws Exception {
        world.close();
    }

    private void assertRefused(String uri, Reason reason) throws Exception {
        HttpResponse<String> answer;
        try (HttpClient client = world.client(Version.HTTP_1_1)) {
            answer = client.send(HttpRequest.newBuilder(URI.create(uri)).build(), BodyHandlers.ofString());
        }
        assertThat(answer.headers().firstValue("X-Berth-Refused"))
                .as(answer.body())
                .contains(reason.toString());
        assertThat(answer.statusCode()).isEqualTo(reason.status());
        assertThat(answer.body()).startsWith("berth: ").contains("api.test");
        assertThat(world.policy.visit().refused()).contains(reason);
    }

    private static Origin.Page fine() {
        return (request, response, callback) -> Content.Sink.write(response, true, "fine", callback);
    }

    @Test
    void aCertificateThatHasExpiredIsRefused() throws Exception {
        Origin origin = world.secure(world.outside.expired("api.test"), true, fine());
        assertRefused("https://api.test:" + origin.port() + "/", Reason.CERTIFICATE);
    }

    @Test
    void aCertificateForAnotherHostIsRefused() throws Exception {
        Origin origin = world.secure(world.outside.server("other.test"), true, fine());
        assertRefused("https://api.test:" + origin.port() + "/", Reason.CERTIFICATE);
    }

    @Test
    void aCertificateThatNobodyKnownHasSignedIsRefused() throws Exception {
        Origin origin = world.secure(new TestAuthority().server("api.test"), true, fine());
        assertRefused("https://api.test:" + origin.port() + "/", Reason.CERTIFICATE);
    }

    @Test
    void aServerThatIsNotThereIsUnreachable() throws Exception {
        try (Socket taken = new Socket()) {
            // Bound, so that nobody else gets the port, and not listening.
            taken.bind(new InetSocketAddress(0));
            world.allow(taken.getLocalPort());
            assertRefused("http://api.test:" + taken.getLocalPort() + "/", Reason.UNREACHABLE);
        }
    }

    @Test
    void aServerThatSaysNothingTimesOut() throws Exception {
        use(Limits.USUAL.withHead(Duration.ofSeconds(1)));
        CountDownLatch over = new CountDownLatch(1);
        int port = world.raw(socket -> over.await());
        assertRefused("http://api.test:" + port + "/", Reason.UPSTREAM_TIMEOUT);
        over.countDown();
    }

    @Test
    void aServerThatHangsUpIsToldAsSuch() throws Exception {
        int port = world.raw(RawHttp::head);
        assertRefused("http://api.test:" + port + "/", Reason.UPSTREAM_RESET);
    }

    @Test
    void aServerThatSpeaksNoHttpIsToldAsSuch() throws Exception {
        int port = world.raw(socket -> {
            RawHttp.head(socket);
            RawHttp.send(socket, "SSH-2.0-OpenSSH_9.9\r\n\r\n");
        });
        assertRefused("http://api.test:" + port + "/", Reason.UPSTREAM_GARBAGE);
    }

    @Test
    void aServerThatSpeaksNoTlsIsToldAsSuch() throws Exception {
        int port = world.raw(socket -> {
            socket.getInputStream().read();
            RawHttp.send(socket, "HTTP/1.1 400 no\r\n\r\n");
        });
        assertRefused("https://api.test:" + port + "/", Reason.UPSTREAM_GARBAGE);
    }

    @Test
    void anAnswerThatCanBeReadInTwoWaysIsRefused() throws Exception {
        int port = world.raw(socket -> {
            RawHttp.head(socket);
            RawHttp.send(socket, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
        });
        assertRefused("http://api.test:" + port + "/", Reason.UPSTREAM_GARBAGE);
    }

    @Test
    void anAnswerThatBreaksOffDoesNotLookComplete() throws Exception {
        int port = world.raw(socket -> {
            RawHttp.head(socket);
            RawHttp.send(socket, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
        });
        try (Socket socket = world.dial()) {
            RawHttp.send(socket, "GET http://api.test:" + port + "/ HTTP/1.1\r\nHost: api.test:" + port + "\r\n\r\n");
            String all = new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
            assertThat(all).startsWith("HTTP/1.1 200").doesNotEndWith("0\r\n\r\n");
        }
        assertThat(world.policy.visit().refused()).contains(Reason.UPSTREAM_RESET);
    }

    @Test
    void aBodyThatStallsTimesOut() throws Exception {
        use(Limits.USUAL.withIdle(Duration.ofSeconds(2)));
        CountDownLatch over = new CountDownLatch(1);
        int port = world.raw(socket -> {
            RawHttp.head(socket);
            RawHttp.send(socket, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
            over.await();
        });
        try (Socket socket = world.dial()) {
            RawHttp.send(socket, "GET http://api.test:" + port + "/ HTTP/1.1\r\nHost: api.test:" + port + "\r\n\r\n");
            assertThat(RawHttp.all(socket)).endsWith("\r\n\r\nabc");
        }
        assertThat(world.policy.visit().refused()).contains(Reason.UPSTREAM_TIMEOUT);
        over.countDown();
    }
}
