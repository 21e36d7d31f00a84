package dev.berth.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Against a server that answers what it is told to. */
@Timeout(300)
class TransportTest {
    private record Reply(int status, String body, Optional<String> retryAfter) {}

    private record Seen(String method, String target, Optional<String> idempotencyKey, String authorization) {}

    private final ConcurrentLinkedQueue<Reply> replies = new ConcurrentLinkedQueue<>();
    private final ConcurrentLinkedQueue<Seen> seen = new ConcurrentLinkedQueue<>();
    private HttpServer server;
    private BerthClient berth;

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            seen.add(new Seen(
                    exchange.getRequestMethod(),
                    exchange.getRequestURI().toString(),
                    Optional.ofNullable(exchange.getRequestHeaders().getFirst("Idempotency-Key")),
                    exchange.getRequestHeaders().getFirst("Authorization")));
            exchange.getRequestBody().readAllBytes();
            Reply reply = replies.remove();
            if (reply.status() == 0) { // the connection just breaks
                exchange.close();
                return;
            }
            reply.retryAfter().ifPresent(time -> exchange.getResponseHeaders().add("Retry-After", time));
            byte[] body = reply.body().getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(reply.status(), body.length == 0 ? -1 : body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
        berth = BerthClient.connect("http://127.0.0.1:" + server.getAddress().getPort() + "/below", "secret");
    }

    @AfterEach
    void stop() {
        berth.close();
        server.stop(0);
    }

    private void reply(int status, String body) {
        replies.add(new Reply(status, body, Optional.empty()));
    }

    private BerthException failure(Runnable call) {
        return catchThrowableOfType(BerthException.class, call::run);
    }

    @Test
    void namesAreEscapedAndTheBaseMayHaveAPath() {
        reply(200, "{\"session_id\":\"x\"}");
        berth.forTenant("acme").session("a/b?c#d:é ").info();
        assertThat(seen.remove().target()).isEqualTo("/below/v1/sessions/a%2Fb%3Fc%23d%3A%C3%A9%20?tenant_id=acme");
    }

    @Test
    void aProblemIsAnExceptionWithAllThatTheServerSaid() {
        replies.add(new Reply(
                429,
                "{\"code\":\"limit\",\"detail\":\"too many\",\"request_id\":\"r1\",\"retry_after_ms\":1500}",
                Optional.of("2")));
        BerthException e = failure(() -> berth.session("x").bash("true"));
        assertThat(e.code()).isEqualTo("limit");
        assertThat(e.status()).isEqualTo(429);
        assertThat(e).hasMessage("too many");
        assertThat(e.requestId()).contains("r1");
        assertThat(e.retryAfter()).contains(Duration.ofMillis(1500));
    }

    @Test
    void whatIsNoBerthServerIsSaidToBeNone() {
        reply(200, "<html>");
        assertThat(failure(berth::sessions)).hasMessageContaining("is not a Berth server");
        reply(502, "<html>");
        assertThat(failure(berth::sessions).code()).isEqualTo("unavailable");
        reply(302, "");
        assertThat(failure(berth::sessions).status()).isEqualTo(302);
    }

    @Test
    void aQuestionIsAskedAgainWhenTheServerIsBusyOrTheConnectionBreaks() {
        replies.add(new Reply(503, "{}", Optional.of("0")));
        reply(0, "");
        reply(200, "{\"sessions\":[]}");
        assertThat(berth.sessions()).isEmpty();
        assertThat(seen).hasSize(3);
    }

    @Test
    void triesComeToAnEnd() {
        for (int i = 0; i < 3; i++) {
            replies.add(new Reply(503, "{\"detail\":\"busy\"}", Optional.of("0")));
        }
        assertThat(failure(berth::sessions)).hasMessage("busy");
        assertThat(seen).hasSize(3);
    }

    @Test
    void aServerThatDoesNotSayWhenIsNotAskedAgain() {
        reply(503, "{}");
        assertThat(failure(berth::sessions).status()).isEqualTo(503);
        replies.add(new Reply(503, "{}", Optional.of("3600")));
        assertThat(failure(berth::sessions).retryAfter()).contains(Duration.ofHours(1));
        assertThat(seen).hasSize(2);
    }

    @Test
    void aCommandIsNeverRunTwice() {
        reply(0, "");
        assertThat(failure(() -> berth.session("x").bash("true"))).hasMessageContaining("not known");
        replies.add(new Reply(503, "{}", Optional.of("0")));
        assertThat(failure(() -> berth.session("x").bash("true")).status()).isEqualTo(503);
        assertThat(seen).hasSize(2);
    }

    @Test
    void whatIsMadeIsMadeOnceByTheSameKeyInEveryTry() {
        reply(0, "");
        reply(201, "{\"session_id\":\"x\"}");
        berth.make(NewSession.named("x"));
        reply(201, "{\"session_id\":\"y\"}");
        berth.make(NewSession.named("y"));
        List<String> keys = new ArrayList<>();
        seen.forEach(request -> keys.add(request.idempotencyKey().orElseThrow()));
        assertThat(keys).hasSize(3);
        assertThat(keys.get(0)).isEqualTo(keys.get(1)).isNotEqualTo(keys.get(2));
    }

    @Test
    void aRemovalWhoseAnswerWasLostIsDone() {
        reply(0, "");
        reply(404, "{\"code\":\"not_found\"}");
        berth.session("x").delete();
        reply(404, "{\"code\":\"not_found\"}");
        assertThat(failure(() -> berth.session("x").delete()).code()).isEqualTo("not_found");
    }

    @Test
    void theKeyIsInNoException() {
        reply(401, "{\"code\":\"unauthenticated\",\"detail\":\"no\"}");
        BerthException e = failure(berth::sessions);
        assertThat(e.toString()).doesNotContain("secret");
        assertThat(seen.remove().authorization()).isEqualTo("Bearer secret");
    }

    @Test
    void noServerIsSaidWithWhatToDo() throws IOException {
        try (Socket taken = new Socket()) {
            // Bound, so that nobody else gets the port, and not listening.
            taken.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            try (BerthClient nobody = BerthClient.connect("http://127.0.0.1:" + taken.getLocalPort(), "key")) {
                BerthException e = failure(nobody::sessions);
                assertThat(e.code()).isEqualTo("unavailable");
                assertThat(e).hasMessageContaining("berth up");
            }
        }
    }

    @Test
    void aUrlOrKeyThatCannotBeOneIsRefused() {
        assertThatThrownBy(() -> BerthClient.connect("localhost:8080", "k")).hasMessageContaining("not the URL");
        assertThatThrownBy(() -> BerthClient.connect("ftp://x", "k")).hasMessageContaining("not the URL");
        assertThatThrownBy(() -> BerthClient.connect("http://x", "k\r\nX: y")).hasMessageContaining("line ends");
    }

    @Test
    void outputIsStreamedWhereTheServerStreamsAndElseComesAtTheEnd() {
        reply(200, "{\"success\":true,\"exit_code\":0,\"stdout\":\"all\"}");
        try (CallStream call = berth.session("x").stream(BashCall.of("true"))) {
            assertThat(call.next().orElseThrow()).isInstanceOfSatisfying(CallStream.Event.Done.class, done -> {
                assertThat(done.streamed()).isFalse();
                assertThat(done.result().stdout()).isEqualTo("all");
            });
            assertThat(call.next()).isEmpty();
        }
    }
}
