package dev.berth.gateway.e2b.port;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.gateway.PreviewServer;
import dev.berth.gateway.TestingBerth;
import dev.berth.sandbox.Command;
import dev.berth.session.PermissionMode;
import dev.berth.session.Session;
import dev.berth.session.SessionKey;
import dev.berth.session.SessionState;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.WebSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Ports of E2B's sandboxes by their names, with real servers in them. Needs root and crun, and python3 in the sandbox. */
@Timeout(300)
class PortsTest {
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private static TestingBerth berth;
    private static String acme;
    private static HttpClient client;
    private static String web;

    /** A sandbox as its maker is told of it. */
    private record Made(String id, String envdToken, String trafficToken) {}

    @BeforeAll
    static void start() throws Exception {
        berth = new TestingBerth();
        acme = berth.tenant("acme");
        client = client(Version.HTTP_1_1);
        web = make("{}").id();
        PreviewServer.start(berth, SessionKey.of("acme", web));
    }

    @AfterAll
    static void stop() {
        client.shutdownNow();
        berth.close();
    }

    private static HttpClient client(Version version) throws Exception {
        return HttpClient.newBuilder().version(version).sslContext(trusted()).build();
    }

    private static SSLContext trusted() throws Exception {
        Path authority = berth.machine().data().resolve("e2b/ca.pem");
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        try (InputStream pem = Files.newInputStream(authority)) {
            trusted.setCertificateEntry(
                    "own", CertificateFactory.getInstance("X.509").generateCertificate(pem));
        }
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        return context;
    }

    /** @param more fields of the request besides the template */
    private static Made make(String more) throws Exception {
        HttpResponse<String> response = api("POST", "/v2/sandboxes", "{\"templateID\":\"host\"" + inside(more) + "}");
        assertThat(response.statusCode()).as(response.body()).isEqualTo(201);
        JsonNode json = JSON.readTree(response.body());
        assertThat(json.path("domain").asString()).isEqualTo(berth.domain());
        return new Made(
                json.path("sandboxID").asString(),
                json.path("envdAccessToken").asString(""),
                json.path("trafficAccessToken").asString(""));
    }

    private static String inside(String object) {
        String fields = object.substring(1, object.length() - 1);
        return fields.isEmpty() ? "" : "," + fields;
    }

    private static HttpResponse<String> api(String method, String path, String json) throws Exception {
        return client.send(
                HttpRequest.newBuilder(URI.create(berth.url() + path))
                        .header("X-API-KEY", acme)
                        .method(method, HttpRequest.BodyPublishers.ofString(json))
                        .build(),
                BodyHandlers.ofString());
    }

    private static URI at(String id, int port, String path) {
        return URI.create("https://" + host(id, port) + path);
    }

    private static String host(String id, int port) {
        return port + "-" + id + "." + berth.domain();
    }

    private static HttpResponse<String> get(String id, int port, String path, String... headers) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(at(id, port, path));
        if (headers.length > 0) {
            request.headers(headers);
        }
        return client.send(request.build(), BodyHandlers.ofString());
    }

    private static List<String> seen(String body, String name) {
        List<String> values = new ArrayList<>();
        for (JsonNode header : JSON.readTree(body).path("headers")) {
            if (header.path(0).asString().equalsIgnoreCase(name)) {
                values.add(header.path(1).asString());
            }
        }
        return values;
    }

    private static SessionState state(String id) {
        return berth.sessions().find(SessionKey.of("acme", id)).orElseThrow().state();
    }

    // ---- through ---------------------------------------------------------------------------------------------------

    @ParameterizedTest
    @EnumSource(
            value = Version.class,
            names = {"HTTP_1_1", "HTTP_2"})
    void aRequestArrivesAsItWasSent(Version version) throws Exception {
        try (HttpClient own = client(version)) {
            HttpResponse<String> response = own.send(
                    HttpRequest.newBuilder(at(web, 8000, "/some%20where/a%2Fb//c?x=%2F&y=1"))
                            .header("Authorization", "Bearer of-the-app")
                            .header("Cookie", "a=1; b=2")
                            .header("X-API-Key", "of-the-app-too")
                            .header("X-Forwarded-For", "6.6.6.6")
                            .header("E2B-Traffic-Access-Token", "nothing-for-the-sandbox")
                            .POST(HttpRequest.BodyPublishers.ofString("body"))
                            .build(),
                    BodyHandlers.ofString());
            assertThat(response.version()).isEqualTo(version);
            assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
            JsonNode seen = JSON.readTree(response.body());
            assertThat(seen.path("target").asString()).isEqualTo("/some%20where/a%2Fb//c?x=%2F&y=1");
            assertThat(seen.path("method").asString()).isEqualTo("POST");
            assertThat(seen(response.body(), "Host")).containsExactly(host(web, 8000));
            assertThat(seen(response.body(), "Authorization")).containsExactly("Bearer of-the-app");
            assertThat(seen(response.body(), "Cookie")).containsExactly("a=1; b=2");
            assertThat(seen(response.body(), "X-API-Key")).containsExactly("of-the-app-too");
            assertThat(seen(response.body(), "X-Forwarded-For")).containsExactly("127.0.0.1");
            assertThat(seen(response.body(), "X-Forwarded-Proto")).containsExactly("https");
            assertThat(seen(response.body(), "X-Forwarded-Host")).containsExactly(host(web, 8000));
            assertThat(seen(response.body(), "X-Forwarded-Prefix")).isEmpty();
            assertThat(response.body()).doesNotContain("nothing-for-the-sandbox");
            assertThat(response.headers().firstValue("Content-Security-Policy")).isEmpty();
            assertThat(response.headers().firstValue("X-Own")).hasValue("yes");
        }
    }

    @Test
    void anAnswerComesAsItWasGiven() throws Exception {
        HttpResponse<String> cookie = get(web, 8000, "/set?status=201&name=Set-Cookie&value=id%3D7%3B%20Path%3D%2Fapp");
        assertThat(cookie.statusCode()).isEqualTo(201);
        assertThat(cookie.headers().firstValue("Set-Cookie")).hasValue("id=7; Path=/app");
        HttpResponse<String> moved = get(web, 8000, "/set?status=302&name=Location&value=%2Fnext");
        assertThat(moved.headers().firstValue("Location")).hasValue("/next");
        assertThat(get(web, 8000, "/chunked").body()).startsWith("piece 0\n").endsWith("piece 4\n");
        assertThatThrownBy(() -> get(web, 8000, "/truncated")).isInstanceOf(IOException.class);
    }

    @Test
    void theSamePortIsServedInClearByItsNameAndByHeaders() throws Exception {
        String named = raw("GET /x HTTP/1.1", "Host: 8000-" + web + ".sbx.localhost");
        assertThat(named).startsWith("HTTP/1.1 200").contains("\"8000-" + web + ".sbx.localhost\"");
        String routed = raw("GET /x HTTP/1.1", "Host: localhost", "E2b-Sandbox-Id: " + web, "E2b-Sandbox-Port: 8000");
        assertThat(routed).startsWith("HTTP/1.1 200").contains("\"target\": \"/x\"");
    }

    @Test
    void headersRouteNothingOnANameThatIsSomebodys() throws Exception {
        for (String host : List.of("example.com", "api.sbx.localhost", "70000-" + web + ".sbx.localhost")) {
            String answer = raw("GET /x HTTP/1.1", "Host: " + host, "E2b-Sandbox-Id: " + web, "E2b-Sandbox-Port: 8000");
            assertThat(answer).as(host).startsWith("HTTP/1.1 404").contains("application/problem+json");
        }
        String other = raw(
                "GET /x HTTP/1.1", "Host: 9-inobody.sbx.localhost", "E2b-Sandbox-Id: " + web, "E2b-Sandbox-Port: 8000");
        assertThat(other).startsWith("HTTP/1.1 502").contains("\"inobody\"");
    }

    /** Asks the plain port, whatever the client libraries think of it. */
    private static String raw(String line, String... headers) throws IOException {
        try (Socket socket = plain()) {
            String head = line + "\r\n" + String.join("\r\n", headers) + "\r\nConnection: close\r\n\r\n";
            socket.getOutputStream().write(head.getBytes(UTF_8));
            return new String(socket.getInputStream().readAllBytes(), UTF_8);
        }
    }

    private static Socket plain() throws IOException {
        return new Socket(
                InetAddress.getLoopbackAddress(), URI.create(berth.url()).getPort());
    }

    @Test
    void twoSandboxesAreNeverMixedEvenOnOneConnection() throws Exception {
        String other = make("{}").id();
        serve(other, 8000, "'only the other'", "0.0.0.0");
        try (HttpClient own = client(Version.HTTP_2)) {
            for (int i = 0; i < 5; i++) {
                assertThat(own.send(HttpRequest.newBuilder(at(other, 8000, "/")).build(), BodyHandlers.ofString())
                                .body())
                        .isEqualTo("only the other");
                assertThat(own.send(HttpRequest.newBuilder(at(web, 8000, "/")).build(), BodyHandlers.ofString())
                                .body())
                        .contains(host(web, 8000));
            }
        }
        assertThat(get(other, 8001, "/").statusCode()).isEqualTo(502);
    }

    /** A server that says one thing, and on 49999 what it was told besides. */
    private static void serve(String id, int port, String text, String address) throws IOException {
        String script = """
                import http.server
                class Handler(http.server.BaseHTTPRequestHandler):
                    def log_message(self, *arguments): pass
                    def do_GET(self):
                        body = (%s).encode()
                        self.send_response(200)
                        self.send_header("Content-Length", str(len(body)))
                        self.end_headers()
                        self.wfile.write(body)
                    do_POST = do_GET
                server = http.server.ThreadingHTTPServer(("%s", %d), Handler)
                print("ready", flush=True)
                server.serve_forever()
                """.formatted(text, address, port);
        try (Session session = berth.sessions().resolve(SessionKey.of("acme", id))) {
            PreviewServer.listen(session, Command.of("python3", "-c", script), "ready");
        }
    }

    // ---- WebSockets and streams ------------------------------------------------------------------------------------

    @Test
    void aWebSocketGoesThroughBothWays() throws Exception {
        LinkedBlockingQueue<String> received = new LinkedBlockingQueue<>();
        WebSocket socket = client.newWebSocketBuilder()
                .buildAsync(URI.create("wss://" + host(web, 8000) + "/ws"), new WebSocket.Listener() {
                    @Override
                    public CompletionStage<?> onText(WebSocket it, CharSequence data, boolean last) {
                        received.add(data.toString());
                        it.request(1);
                        return CompletableFuture.completedStage(null);
                    }
                })
                .join();
        assertThat(received.poll(60, TimeUnit.SECONDS)).isEqualTo("welcome");
        socket.sendText("and back", true).join();
        assertThat(received.poll(60, TimeUnit.SECONDS)).isEqualTo("and back");
        socket.abort();
    }

    @Test
    void whatIsOpenBreaksWhenTheSandboxIsPausedOrKilled() throws Exception {
        for (String end : List.of("pause", "kill")) {
            String id = make("{}").id();
            PreviewServer.start(berth, SessionKey.of("acme", id));
            HttpResponse<InputStream> events =
                    client.send(HttpRequest.newBuilder(at(id, 8000, "/events")).build(), BodyHandlers.ofInputStream());
            try (BufferedReader lines = new BufferedReader(new InputStreamReader(events.body(), UTF_8))) {
                assertThat(lines.readLine()).isEqualTo("data: first");
                assertThat(lines.readLine()).isEmpty();
                int status = end.equals("pause")
                        ? api("POST", "/sandboxes/" + id + "/pause", "{}").statusCode()
                        : api("DELETE", "/sandboxes/" + id, "").statusCode();
                assertThat(status).isEqualTo(204);
                assertThatThrownBy(lines::readLine).as(end).isInstanceOf(IOException.class);
            }
            notRunning(get(id, 8000, "/"), id);
        }
    }

    /** Is silent, before its answer or in it, until its client has left; and tells whoever waits for that. */
    private static final String SILENT = """
            import http.server, threading
            left = {}
            def gone(name): return left.setdefault(name, threading.Event())
            class Handler(http.server.BaseHTTPRequestHandler):
                protocol_version = "HTTP/1.1"
                def log_message(self, *arguments): pass
                def do_GET(self):
                    self.rfile.read(int(self.headers.get("Content-Length") or 0))
                    kind, name = self.path.strip("/").split("/")
                    if kind == "left": return self.say(b"left" if gone(name).wait(60) else b"stays")
                    if kind == "begun":
                        self.wfile.write(b"HTTP/1.1 200 OK\\r\\nContent-Type: text/event-stream\\r\\n\\r\\ndata: begun\\n\\n")
                    self.close_connection = True
                    try: self.rfile.read(1)
                    except OSError: pass
                    gone(name).set()
                def say(self, body):
                    self.send_response(200)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                do_POST = do_GET
            server = http.server.ThreadingHTTPServer(("0.0.0.0", 8300), Handler)
            print("ready", flush=True)
            server.serve_forever()
            """;

    @Test
    void aServerLearnsThatItsClientHasLeftHoweverSilentItIs() throws Exception {
        try (Session session = berth.sessions().resolve(SessionKey.of("acme", web))) {
            PreviewServer.listen(session, Command.of("python3", "-c", SILENT), "ready");
        }
        for (String scheme : List.of("http", "https")) {
            for (String request : List.of("GET /mute", "POST /mute", "GET /begun", "POST /begun")) {
                String name = scheme + request.replaceAll("[^A-Za-z]", "");
                try (Socket socket = scheme.equals("http") ? plain() : secure()) {
                    String head = request + "/" + name + " HTTP/1.1\r\nHost: " + host(web, 8300)
                            + (request.startsWith("POST") ? "\r\nContent-Length: 4\r\n\r\nbody" : "\r\n\r\n");
                    socket.getOutputStream().write(head.getBytes(UTF_8));
                    if (request.endsWith("begun")) {
                        socket.setSoTimeout(60_000);
                        assertThat(new BufferedReader(new InputStreamReader(socket.getInputStream(), UTF_8)).readLine())
                                .isEqualTo("HTTP/1.1 200 OK");
                    }
                }
                assertThat(get(web, 8300, "/left/" + name).body()).as(name).isEqualTo("left");
            }
        }
    }

    @Test
    void aClientThatSendsItsNextRequestBeforeItsAnswerHasNotLeft() throws Exception {
        String one = "GET /slow HTTP/1.1\r\nHost: " + host(web, 8000) + "\r\n\r\n";
        String last = "GET /last HTTP/1.1\r\nConnection: close\r\nHost: " + host(web, 8000) + "\r\n\r\n";
        for (String scheme : List.of("http", "https")) {
            try (Socket socket = scheme.equals("http") ? plain() : secure()) {
                socket.setSoTimeout(60_000);
                socket.getOutputStream().write((one + one).getBytes(UTF_8));
                socket.getOutputStream().flush();
                socket.getOutputStream().write((one + last).getBytes(UTF_8));
                String answers = new String(socket.getInputStream().readAllBytes(), UTF_8);
                assertThat(answers.split("HTTP/1.1 200 OK", -1)).as(answers).hasSize(5);
                assertThat(answers).contains("\"target\": \"/last\"");
            }
        }
    }

    private static Socket secure() throws Exception {
        URI at = URI.create("https://" + berth.domain());
        return trusted().getSocketFactory().createSocket(InetAddress.getLoopbackAddress(), at.getPort());
    }

    // ---- what goes wrong -------------------------------------------------------------------------------------------

    private static void notRunning(HttpResponse<String> response, String id) {
        assertThat(response.statusCode()).as(response.body()).isEqualTo(502);
        assertThat(JSON.readTree(response.body()))
                .isEqualTo(JSON.readTree(
                        "{\"sandboxId\":\"" + id + "\",\"message\":\"The sandbox was not found\",\"code\":502}"));
    }

    @Test
    void whatCannotAnswerIsSaidAsE2bSaysIt() throws Exception {
        notRunning(get("inobodyhasthisoneever", 8000, "/"), "inobodyhasthisoneever");
        HttpResponse<String> closed = get(web, 9, "/");
        assertThat(closed.statusCode()).isEqualTo(502);
        assertThat(JSON.readTree(closed.body()))
                .isEqualTo(JSON.readTree("{\"sandboxId\":\"" + web
                        + "\",\"message\":\"The sandbox is running but port is not open\",\"port\":9,\"code\":502}"));
        assertThat(get(web, 8001, "/").statusCode()).isEqualTo(502);
    }

    @Test
    void aBrowserGetsAPageThatNeedsNothingElse() throws Exception {
        HttpResponse<String> page = get(web, 9, "/", "Accept", "text/html,application/xhtml+xml,*/*;q=0.8");
        assertThat(page.statusCode()).isEqualTo(502);
        assertThat(page.headers().firstValue("Content-Type").orElse("")).startsWith("text/html");
        assertThat(page.body())
                .contains("The sandbox is running but port is not open", web)
                .doesNotContain("<script", "http:", "https:");
    }

    @Test
    void aSessionOfAnotherSurfaceHasNoNames() throws Exception {
        berth.post(acme, "/v1/sessions", "{\"session_id\":\"nativesession\"}");
        notRunning(get("nativesession", 8000, "/"), "nativesession");
    }

    // ---- who may ---------------------------------------------------------------------------------------------------

    @Test
    void aPrivateSandboxNeedsItsTokenWhichDoesNotGetInside() throws Exception {
        Made made = make("{\"network\":{\"allowPublicTraffic\":false}}");
        assertThat(made.trafficToken()).hasSize(64);
        PreviewServer.start(berth, SessionKey.of("acme", made.id()));
        for (String token : List.of("wrong", made.envdToken(), made.trafficToken() + "0", "")) {
            HttpResponse<String> refused = get(made.id(), 8000, "/", "e2b-traffic-access-token", token);
            assertThat(refused.statusCode()).isEqualTo(403);
            assertThat(JSON.readTree(refused.body()).path("code").asInt()).isEqualTo(403);
            assertThat(refused.body()).doesNotContain(made.trafficToken());
        }
        assertThat(get(made.id(), 8000, "/").statusCode()).isEqualTo(403);
        HttpResponse<String> let = get(made.id(), 8000, "/", "e2b-traffic-access-token", made.trafficToken());
        assertThat(let.statusCode()).isEqualTo(200);
        assertThat(let.body()).doesNotContain(made.trafficToken());
        assertThat(get(web, 8000, "/", "e2b-traffic-access-token", made.trafficToken())
                        .statusCode())
                .isEqualTo(200);
    }

    @Test
    void serversSeeTheHostThatTheyAreToSee() throws Exception {
        String id = make("{\"network\":{\"maskRequestHost\":\"localhost:${PORT}\"}}")
                .id();
        PreviewServer.start(berth, SessionKey.of("acme", id));
        HttpResponse<String> response = get(id, 8000, "/");
        assertThat(seen(response.body(), "Host")).containsExactly("localhost:8000");
        assertThat(seen(response.body(), "X-Forwarded-Host")).containsExactly(host(id, 8000));
    }

    @Test
    void theInterpreterRunsCodeForThoseWithTheTokenOnly() throws Exception {
        Made made = make("{}");
        serve(made.id(), Ports.INTERPRETER, "self.path + ' ' + str(self.headers.get('X-Access-Token'))", "127.0.0.1");
        for (String path : List.of("/execute", "//execute", "/execute/", "/%65xecute", "/contexts/../execute", "/x")) {
            assertThat(get(made.id(), Ports.INTERPRETER, path).statusCode())
                    .as(path)
                    .isIn(401, 400);
            assertThat(get(made.id(), Ports.INTERPRETER, path, "X-Access-Token", "wrong")
                            .statusCode())
                    .as(path)
                    .isIn(401, 400);
        }
        for (String path : List.of("/contexts", "/health", "/contexts/1b2c-3d/restart")) {
            assertThat(get(made.id(), Ports.INTERPRETER, path).body()).isEqualTo(path + " None");
        }
        assertThat(get(made.id(), Ports.INTERPRETER, "/execute", "X-Access-Token", made.envdToken())
                        .body())
                .isEqualTo("/execute None");

        berth.sessions().permit(SessionKey.of("acme", made.id()), PermissionMode.ASK);
        HttpResponse<String> asked = get(made.id(), Ports.INTERPRETER, "/execute", "X-Access-Token", made.envdToken());
        assertThat(asked.statusCode()).isEqualTo(403);
        assertThat(asked.body()).contains("a person has to allow it");
    }

    @Test
    void anInterpreterThatIsStillStartingIsAwaited() throws Exception {
        Made made = make("{}");
        CompletableFuture<HttpResponse<String>> early = client.sendAsync(
                HttpRequest.newBuilder(at(made.id(), Ports.INTERPRETER, "/health"))
                        .build(),
                BodyHandlers.ofString());
        serve(made.id(), Ports.INTERPRETER, "'here'", "127.0.0.1");
        assertThat(early.get(60, TimeUnit.SECONDS).body()).isEqualTo("here");
    }

    // ---- waking ----------------------------------------------------------------------------------------------------

    @Test
    void trafficWakesASandboxThatWasMadeSoAndForThoseWhoMayOnly() throws Exception {
        Made made = make("{\"timeout\":300,\"autoPause\":true,\"autoResume\":{\"enabled\":true},"
                + "\"network\":{\"allowPublicTraffic\":false}}");
        serve(made.id(), 3000, "'awake'", "0.0.0.0");
        assertThat(api("POST", "/sandboxes/" + made.id() + "/pause", "{}").statusCode())
                .isEqualTo(204);
        assertThat(get(made.id(), 3000, "/").statusCode()).isEqualTo(403);
        assertThat(state(made.id())).isEqualTo(SessionState.PAUSED);
        assertThat(get(made.id(), 3000, "/", "e2b-traffic-access-token", made.trafficToken())
                        .body())
                .isEqualTo("awake");
        assertThat(state(made.id())).isEqualTo(SessionState.ACTIVE);
    }

    // ---- names -----------------------------------------------------------------------------------------------------

    @Test
    void theApiIsUnderItsOwnNameAndUnderNoOther() throws Exception {
        for (String name : List.of("api.", "sandbox.", "")) {
            HttpResponse<String> ready = client.send(
                    HttpRequest.newBuilder(URI.create("https://" + name + berth.domain() + "/readyz"))
                            .build(),
                    BodyHandlers.ofString());
            assertThat(ready.statusCode()).as(name).isEqualTo(200);
        }
        HttpResponse<String> made = client.send(
                HttpRequest.newBuilder(URI.create("https://api." + berth.domain() + "/sandboxes/" + web))
                        .header("X-API-KEY", acme)
                        .build(),
                BodyHandlers.ofString());
        assertThat(JSON.readTree(made.body()).path("sandboxID").asString()).isEqualTo(web);
        for (String name : List.of("evil.", "70000-" + web + ".", "x-y.")) {
            HttpResponse<String> nothing = client.send(
                    HttpRequest.newBuilder(URI.create("https://" + name + berth.domain() + "/readyz"))
                            .header("X-API-KEY", acme)
                            .header("E2b-Sandbox-Id", web)
                            .build(),
                    BodyHandlers.ofString());
            assertThat(nothing.statusCode()).as(name).isEqualTo(404);
        }
        // A page of a sandbox that asks for the API by its own name gets its own server.
        assertThat(get(web, 8000, "/v1/sessions", "X-API-Key", acme).body()).contains("\"target\": \"/v1/sessions\"");
    }

    @Test
    void theCertificateIsOfTheDomainAloneAndOfTheOwnAuthority() throws Exception {
        int port = URI.create("https://" + berth.domain()).getPort();
        HttpRequest other = HttpRequest.newBuilder(URI.create("https://localhost:" + port + "/readyz"))
                .timeout(Duration.ofSeconds(60))
                .build();
        assertThatThrownBy(() -> client.send(other, BodyHandlers.discarding()))
                .isInstanceOf(SSLHandshakeException.class);
        try (HttpClient stranger = HttpClient.newHttpClient()) {
            assertThatThrownBy(() -> stranger.send(
                            HttpRequest.newBuilder(at(web, 8000, "/")).build(), BodyHandlers.discarding()))
                    .isInstanceOf(SSLHandshakeException.class);
        }
    }
}
