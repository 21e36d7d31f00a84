package dev.berth.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.gateway.TestingBerth.Reply;
import dev.berth.sandbox.Command;
import dev.berth.session.Session;
import dev.berth.session.SessionKey;
import dev.berth.session.SessionState;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.WebSocket;
import java.net.http.WebSocketHandshakeException;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;

/** Ports of sessions, with real servers in them. Needs root and crun, and python3 in the sandbox. */
@Timeout(300)
class PreviewTest {
    private static final String PORT = "/v1/sessions/web/ports/8000";

    private static TestingBerth berth;
    private static String acme;
    private static HttpClient client;

    @BeforeAll
    static void start() throws IOException {
        // Looked after often, or who waits for a session to fall asleep waits for a minute.
        berth = new TestingBerth(
                config -> config,
                config -> config.withIntervals(Duration.ofMillis(200), Duration.ofMillis(200), Duration.ofMinutes(10)));
        acme = berth.tenant("acme");
        client = HttpClient.newHttpClient();
        serve("web");
    }

    @AfterAll
    static void stop() {
        client.shutdownNow();
        berth.close();
    }

    private static void serve(String name) throws IOException {
        PreviewServer.start(berth, SessionKey.of("acme", name));
    }

    private static HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create(berth.url() + path)).header("Authorization", "Bearer " + acme);
    }

    private static Reply get(String path) {
        return berth.send(request(path).build());
    }

    private static List<String> seen(Reply reply, String name) {
        List<String> values = new java.util.ArrayList<>();
        for (JsonNode header : reply.json().path("headers")) {
            if (header.path(0).asString().equalsIgnoreCase(name)) {
                values.add(header.path(1).asString());
            }
        }
        return values;
    }

    // ---- through ---------------------------------------------------------------------------------------------------

    @Test
    void aRequestArrivesAsItIsWithoutTheCredentials() {
        Reply reply = berth.send(request(PORT + "/some/where%20else?a=1&b=%2F&a=2")
                .header("X-API-Key", acme)
                .header("X-Mine", "ümlaut".replace("ü", "ue"))
                .header("X-Forwarded-For", "6.6.6.6")
                .header("Cookie", "console=secret; preview-own=1; preview-two=2")
                .build());
        assertThat(reply.status()).isEqualTo(200);
        assertThat(reply.json().path("target").asString()).isEqualTo("/some/where%20else?a=1&b=%2F&a=2");
        assertThat(seen(reply, "X-Mine")).containsExactly("uemlaut");
        assertThat(seen(reply, "Host")).containsExactly("localhost:8000");
        assertThat(seen(reply, "X-Forwarded-For")).containsExactly("127.0.0.1");
        assertThat(seen(reply, "X-Forwarded-Proto")).containsExactly("http");
        assertThat(seen(reply, "X-Forwarded-Host"))
                .containsExactly(URI.create(berth.url()).getAuthority());
        assertThat(seen(reply, "X-Forwarded-Prefix")).containsExactly(PORT);
        assertThat(seen(reply, "Cookie")).containsExactly("own=1; two=2");
        assertThat(reply.body()).doesNotContain(acme).doesNotContain("secret");
        assertThat(reply.header("X-Own")).isEqualTo("yes");
        assertThat(reply.header("Content-Security-Policy")).contains("sandbox ").doesNotContain("allow-same-origin");
        assertThat(reply.header("Referrer-Policy")).isEqualTo("no-referrer");
    }

    @Test
    void everyMethodGoesThrough() {
        for (String method : List.of("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND")) {
            Reply reply = berth.send(request(PORT + "/x")
                    .method(method, HttpRequest.BodyPublishers.noBody())
                    .build());
            assertThat(reply.json().path("method").asString()).isEqualTo(method);
        }
        Reply head = berth.send(request(PORT + "/x").HEAD().build());
        assertThat(head.status()).isEqualTo(200);
        assertThat(head.body()).isEmpty();
        assertThat(Integer.parseInt(head.header("Content-Length"))).isGreaterThan(10);
        assertThat(get(PORT + "/set?status=204&name=X-A&value=b").status()).isEqualTo(204);
        assertThat(get(PORT + "/set?status=304&name=ETag&value=b").status()).isEqualTo(304);
        assertThat(get(PORT + "/set?status=418&name=X-A&value=b").body()).isEqualTo("set");
    }

    @Test
    void aFileServerOfPythonWorks() throws IOException {
        try (Session session = berth.sessions().resolve(SessionKey.of("acme", "files"))) {
            session.sandbox()
                    .files()
                    .write("site/index.html", new java.io.ByteArrayInputStream("hello".getBytes(UTF_8)));
            PreviewServer.listen(
                    session,
                    Command.of("python3", "-u", "-m", "http.server", "--directory", "site", "8080"),
                    "Serving HTTP");
        }
        assertThat(get("/v1/sessions/files/ports/8080/index.html").body()).isEqualTo("hello");
        assertThat(get("/v1/sessions/files/ports/8080/none").status()).isEqualTo(404);
        assertThat(get("/v1/sessions/files/ports/8080").status()).isEqualTo(308);
        assertThat(get("/v1/sessions/files/ports/8080?q=1").header("Location"))
                .isEqualTo("/v1/sessions/files/ports/8080/?q=1");
    }

    @Test
    void aLargeDownloadArrivesWhole() throws Exception {
        MessageDigest expected = MessageDigest.getInstance("SHA-256");
        byte[] block = new byte[65536];
        for (int i = 0; i < block.length; i++) {
            block[i] = (byte) i;
        }
        for (int i = 0; i < 3200; i++) {
            expected.update(block);
        }
        HttpResponse<InputStream> response =
                client.send(request(PORT + "/big").build(), HttpResponse.BodyHandlers.ofInputStream());
        MessageDigest actual = MessageDigest.getInstance("SHA-256");
        try (InputStream body = response.body()) {
            byte[] buffer = new byte[1 << 16];
            for (int n = body.read(buffer); n >= 0; n = body.read(buffer)) {
                actual.update(buffer, 0, n);
            }
        }
        assertThat(response.headers().firstValueAsLong("Content-Length")).hasValue(200L << 20);
        assertThat(actual.digest()).isEqualTo(expected.digest());
    }

    @Test
    void largeUploadsArriveWholeHoweverTheyAreSent() throws Exception {
        byte[] data = new byte[40 << 20];
        new Random(7).nextBytes(data);
        String hash =
                HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(data));
        for (HttpClient.Version version : HttpClient.Version.values()) {
            if (version == HttpClient.Version.HTTP_2 || version == HttpClient.Version.HTTP_1_1) {
                for (boolean expect : List.of(false, true)) {
                    for (HttpRequest.BodyPublisher body : List.of(
                            HttpRequest.BodyPublishers.ofByteArray(data),
                            HttpRequest.BodyPublishers.ofInputStream(() -> new java.io.ByteArrayInputStream(data)))) {
                        Reply reply = berth.send(request(PORT + "/upload")
                                .version(version)
                                .expectContinue(expect)
                                .POST(body)
                                .build());
                        assertThat(reply.status()).as(reply.body()).isEqualTo(200);
                        assertThat(reply.json().path("sha256").asString()).isEqualTo(hash);
                    }
                }
            }
        }
    }

    @Test
    void chunksComeTogetherAndTrailersAreLeftOut() {
        assertThat(get(PORT + "/chunked").body()).isEqualTo("piece 0\npiece 1\npiece 2\npiece 3\npiece 4\n");
    }

    @Test
    void eventsArePassedOnAtOnceAndHoldTheSessionUp() throws Exception {
        serve("stream");
        String session = "/v1/sessions/stream";
        assertThat(berth.send(acme, "PATCH", session, "{\"idle\":{\"pause_after\":0.2}}")
                        .status())
                .isEqualTo(200);
        HttpResponse<InputStream> response =
                client.send(request(session + "/ports/8000/events").build(), HttpResponse.BodyHandlers.ofInputStream());
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(response.body(), UTF_8))) {
            assertThat(lines.readLine()).isEqualTo("data: first");
            // Another one that nothing holds is put to sleep meanwhile, and this one is not.
            berth.post(acme, "/v1/sessions", "{\"session_id\":\"beside\",\"idle\":{\"pause_after\":0.2}}");
            try (EventReader events = berth.events(acme, "/v1/sessions/beside/events", Map.of())) {
                String type = "";
                while (!type.equals("sandbox.pause")) {
                    type = events.next("state").data().path("type").asString();
                }
            }
            assertThat(state("stream")).isEqualTo(SessionState.ACTIVE);
            assertThat(berth.send(acme, "POST", session + "/ports/8000/go", "").status())
                    .isEqualTo(204);
            assertThat(lines.readLine()).isEmpty();
            assertThat(lines.readLine()).isEqualTo("data: second");
        }
    }

    private static SessionState state(String session) {
        return berth.sessions()
                .find(SessionKey.of("acme", session))
                .orElseThrow()
                .state();
    }

    @Test
    void whereAnAnswerPointsToIsUnderThePort() {
        assertThat(set("Location", "/next?x=1")).isEqualTo(PORT + "/next?x=1");
        assertThat(set("Location", "http://localhost:8000/next%23a")).isEqualTo(PORT + "/next%23a");
        assertThat(set("Location", "next")).isEqualTo("next");
        assertThat(set("Location", "https://example.com/")).isEqualTo("https://example.com/");
        assertThat(set("Set-Cookie", "id=7; Path=/app; Domain=example.com; HttpOnly"))
                .isEqualTo("preview-id=7; HttpOnly; Path=" + PORT + "/app");
        for (String header :
                List.of("Clear-Site-Data", "Strict-Transport-Security", "Service-Worker-Allowed", "Alt-Svc")) {
            assertThat(set(header, "x")).as(header).isEmpty();
        }
    }

    private static String set(String name, String value) {
        return get(PORT + "/set?status=200&name=" + name + "&value=" + java.net.URLEncoder.encode(value, UTF_8))
                .header(name);
    }

    // ---- WebSockets ------------------------------------------------------------------------------------------------

    @Test
    void aWebSocketGoesThroughBothWays() throws Exception {
        String link = link("web", 8000, "{}");
        for (String path : List.of(PORT + "/ws", link + "ws")) {
            LinkedBlockingQueue<String> received = new LinkedBlockingQueue<>();
            CompletableFuture<Integer> closed = new CompletableFuture<>();
            WebSocket socket = client.newWebSocketBuilder()
                    .header("X-API-Key", path.startsWith(PORT) ? acme : "none")
                    .buildAsync(URI.create(berth.url().replace("http", "ws") + path), new Collecting(received, closed))
                    .join();
            assertThat(received.poll(60, TimeUnit.SECONDS)).isEqualTo("welcome");
            for (int size : List.of(1, 200, 70_000)) {
                socket.sendText("x".repeat(size), true).join();
                assertThat(received.poll(60, TimeUnit.SECONDS)).hasSize(size);
            }
            socket.sendBinary(ByteBuffer.wrap(new byte[] {1, 2, 3}), true).join();
            assertThat(received.poll(60, TimeUnit.SECONDS)).isEqualTo("[1, 2, 3]");
            socket.sendClose(WebSocket.NORMAL_CLOSURE, "bye").join();
            assertThat(closed.get(60, TimeUnit.SECONDS)).isEqualTo(1000);
        }
    }

    private record Collecting(
            LinkedBlockingQueue<String> received, CompletableFuture<Integer> closed, StringBuilder text)
            implements WebSocket.Listener {
        Collecting(LinkedBlockingQueue<String> received, CompletableFuture<Integer> closed) {
            this(received, closed, new StringBuilder());
        }

        @Override
        public CompletionStage<?> onText(WebSocket socket, CharSequence data, boolean last) {
            text.append(data);
            if (last) {
                received.add(text.toString());
                text.setLength(0);
            }
            socket.request(1);
            return CompletableFuture.completedStage(null);
        }

        @Override
        public CompletionStage<?> onBinary(WebSocket socket, ByteBuffer data, boolean last) {
            byte[] bytes = new byte[data.remaining()];
            data.get(bytes);
            received.add(Arrays.toString(bytes));
            socket.request(1);
            return CompletableFuture.completedStage(null);
        }

        @Override
        public CompletionStage<?> onClose(WebSocket socket, int code, String reason) {
            closed.complete(code);
            return CompletableFuture.completedStage(null);
        }
    }

    @Test
    void whatAConnectionBecomesIsClosedOneWayAtATime() throws IOException {
        try (Socket socket = new Socket(
                InetAddress.getLoopbackAddress(), URI.create(berth.url()).getPort())) {
            OutputStream out = socket.getOutputStream();
            // The first bytes of the new protocol come with the request.
            out.write(("GET " + PORT + "/raw HTTP/1.1\r\nHost: x\r\nX-API-Key: " + acme
                            + "\r\nConnection: keep-alive, Upgrade\r\nUpgrade: raw\r\n\r\n1234567890")
                    .getBytes(UTF_8));
            InputStream in = socket.getInputStream();
            StringBuilder head = new StringBuilder();
            while (!head.toString().endsWith("hello ")) {
                int b = in.read();
                assertThat(b).as(head.toString()).isNotNegative();
                head.append((char) b);
            }
            assertThat(head.toString()).startsWith("HTTP/1.1 101 ");
            out.write(new byte[3_000_000]);
            socket.shutdownOutput();
            assertThat(new String(in.readAllBytes(), UTF_8)).isEqualTo("got 3000010");
        }
    }

    @Test
    void aWebSocketThatTheServerDoesNotWantIsRefusedByIt() {
        assertThat(handshake(PORT + "/set?status=403&name=X-A&value=b", acme)).isEqualTo(403);
        assertThat(handshake(PORT + "/ws", "berth_nobody")).isEqualTo(401);
        assertThat(handshake("/v1/sessions/web/ports/9/ws", acme)).isEqualTo(502);
        assertThat(handshake("/v1/links/forged/ws", acme)).isEqualTo(404);
    }

    private static int handshake(String path, String key) {
        try {
            client.newWebSocketBuilder()
                    .header("X-API-Key", key)
                    .buildAsync(URI.create(berth.url().replace("http", "ws") + path), new WebSocket.Listener() {})
                    .join()
                    .abort();
            return 101;
        } catch (java.util.concurrent.CompletionException e) {
            if (e.getCause() instanceof WebSocketHandshakeException refused) {
                return refused.getResponse().statusCode();
            }
            throw e;
        }
    }

    // ---- what goes wrong -------------------------------------------------------------------------------------------

    @Test
    void aPortThatNobodyListensOnOrThatSpeaksNonsenseIsAProblem() {
        problem(get("/v1/sessions/web/ports/9/x"), 502, "port_closed");
        for (int port = 8001; port <= 8005; port++) {
            problem(get("/v1/sessions/web/ports/" + port + "/"), 502, "bad_gateway");
        }
        problem(get(PORT + "/huge-headers"), 502, "bad_gateway");
        problem(
                berth.post(acme, "/v1/sessions/web/ports/9/x", "{\"a\":\"" + "x".repeat(1 << 20) + "\"}"),
                502,
                "port_closed");
        assertThat(get(PORT + "/well").status()).isEqualTo(200);
    }

    private static void problem(Reply reply, int status, String code) {
        assertThat(reply.status()).as(reply.body()).isEqualTo(status);
        assertThat(reply.header("Content-Type")).isEqualTo("application/problem+json");
        assertThat(reply.json().path("code").asString()).isEqualTo(code);
    }

    @Test
    void anAnswerThatBreaksOffDoesNotLookComplete() {
        assertThatThrownBy(() -> get(PORT + "/truncated")).isInstanceOf(java.io.UncheckedIOException.class);
    }

    @Test
    void anAnswerBeforeTheEndOfTheBodyIsPassedOn() {
        Reply reply = berth.send(request(PORT + "/early")
                .POST(HttpRequest.BodyPublishers.ofByteArray(new byte[8 << 20]))
                .build());
        assertThat(reply.status()).isEqualTo(413);
        assertThat(reply.body()).isEqualTo("too much");
    }

    @Test
    void wrongPortsAndPathsAreRefused() {
        for (String port : List.of("0", "65536", "99999", "x", "-1", "8000x", "123456789")) {
            problem(get("/v1/sessions/web/ports/" + port + "/"), 400, "invalid");
        }
        assertThat(berth.post(acme, "/v1/sessions/web/ports/0/link", "{}").status())
                .isEqualTo(400);
        assertThat(berth.post(acme, "/v1/sessions/web/ports/70000/link", "{}").status())
                .isEqualTo(400);
        assertThat(berth.post(acme, "/v1/sessions/web/ports/80/link", "{\"expires_in_seconds\":0}")
                        .status())
                .isEqualTo(400);
        assertThat(raw("GET " + PORT + "/../../../../readyz HTTP/1.1")).contains(" 400 ");
    }

    private static String raw(String line) {
        try (Socket socket = new Socket(
                InetAddress.getLoopbackAddress(), URI.create(berth.url()).getPort())) {
            socket.getOutputStream()
                    .write((line + "\r\nHost: x\r\nConnection: close\r\nX-API-Key: " + acme + "\r\n\r\n")
                            .getBytes(UTF_8));
            return new String(socket.getInputStream().readAllBytes(), UTF_8);
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    @Test
    void nobodyElseGetsIn() {
        problem(berth.get(berth.tenant("rival-of-previews"), PORT + "/"), 404, "not_found");
        problem(berth.get("", PORT + "/"), 401, "unauthenticated");
        problem(berth.get(berth.key("acme", Set.of()), PORT + "/"), 403, "denied");
        problem(berth.get(acme, "/v1/sessions/nobodys/ports/8000/"), 404, "not_found");
        assertThat(berth.get(TestingBerth.ADMIN, PORT + "/?tenant_id=acme").status())
                .isEqualTo(200);
        problem(berth.get(TestingBerth.ADMIN, PORT + "/"), 404, "not_found");
        assertThat(berth.get(TestingBerth.ADMIN, PORT + "/?x=%25zz&tenant_id=acme")
                        .status())
                .isEqualTo(200);
        assertThat(berth.get(acme, "/v1/sessions/%ff%fe/ports/8000/").status()).isBetween(400, 404);
        assertThat(berth.sessions().find(SessionKey.of("acme", "nobodys"))).isEmpty();
    }

    // ---- links -----------------------------------------------------------------------------------------------------

    private static String link(String session, int port, String wanted) {
        Reply reply = berth.post(acme, "/v1/sessions/" + session + "/ports/" + port + "/link", wanted);
        assertThat(reply.status()).as(reply.body()).isEqualTo(201);
        return reply.json().path("url").asString();
    }

    @Test
    void aLinkOpensItsPortWithoutAKey() {
        String link = link("web", 8000, "{\"expires_in_seconds\":600}");
        Reply reply = berth.get("", link + "a?b=c");
        assertThat(reply.json().path("target").asString()).isEqualTo("/a?b=c");
        assertThat(seen(reply, "X-Forwarded-Prefix")).containsExactly(link.substring(0, link.length() - 1));
        assertThat(berth.post("", link + "link", "{}").json().path("method").asString())
                .isEqualTo("POST");
    }

    @Test
    void aLinkThatIsForgedForeignOrOverIsNotThere() throws Exception {
        String link = link("web", 8000, "{}");
        String token = link.substring("/v1/links/".length(), link.length() - 1);
        String payload = token.substring(0, token.indexOf('.'));
        String signature = token.substring(token.indexOf('.') + 1);
        String other = link("web", 8001, "{}");
        String otherPayload = other.substring("/v1/links/".length(), other.indexOf('.'));
        char last = signature.charAt(0) == 'A' ? 'B' : 'A';
        for (String forged : List.of(
                "x",
                ".",
                payload,
                payload + ".",
                payload + "." + last + signature.substring(1),
                otherPayload + "." + signature,
                payload + "." + signature + "." + signature,
                "x".repeat(5000))) {
            problem(berth.get("", "/v1/links/" + forged + "/"), 404, "not_found");
        }
        String brief = link("web", 8000, "{\"expires_in_seconds\":1}");
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        Reply reply = berth.get("", brief);
        while (reply.status() == 200 && System.nanoTime() < deadline) {
            reply = berth.get("", brief);
        }
        problem(reply, 404, "not_found");
        assertThat(berth.get("", link).status()).isEqualTo(200);
    }

    @Test
    void aLinkIsOverWithItsSession() throws IOException {
        serve("brief");
        String link = link("brief", 8000, "{}");
        assertThat(berth.get("", link).status()).isEqualTo(200);
        assertThat(berth.delete(acme, "/v1/sessions/brief").status()).isEqualTo(204);
        problem(berth.get("", link), 404, "not_found");
        serve("brief");
        problem(berth.get("", link), 404, "not_found");
    }

    @Test
    void aSleepingSessionIsWokenIfItMayBe() throws IOException {
        serve("sleepy");
        String waking = link("sleepy", 8000, "{}");
        String quiet = link("sleepy", 8000, "{\"wake\":false}");
        assertThat(berth.get("", quiet).status()).isEqualTo(200);
        assertThat(berth.post(acme, "/v1/sessions/sleepy/pause", "").status()).isEqualTo(200);
        problem(berth.get("", quiet), 503, "unavailable");
        assertThat(state("sleepy")).isEqualTo(SessionState.PAUSED);
        assertThat(berth.get("", waking).status()).isEqualTo(200);
        assertThat(berth.get("", quiet).status()).isEqualTo(200);
        berth.post(acme, "/v1/sessions/sleepy/pause", "");
        assertThat(get("/v1/sessions/sleepy/ports/8000/").status()).isEqualTo(200);
        berth.post(acme, "/v1/sessions/sleepy/stop", "");
        problem(berth.get("", waking), 503, "unavailable");
        assertThat(state("sleepy")).isEqualTo(SessionState.STOPPED);
    }
}
