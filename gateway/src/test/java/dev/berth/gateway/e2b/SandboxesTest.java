package dev.berth.gateway.e2b;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.gateway.TestingBerth;
import dev.berth.gateway.auth.Scope;
import dev.berth.gateway.e2b.E2bClient.Reply;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The API of sandboxes, where it is not what E2B's own client does: who may what, and what is refused. */
class SandboxesTest {
    private static final String CLOSED = "\"templateID\":\"host\",\"allow_internet_access\":false";

    private static TestingBerth berth;
    private static E2bClient acme;

    @BeforeAll
    static void start() {
        berth = new TestingBerth();
        acme = client(berth.tenant("acme"));
    }

    @AfterAll
    static void stop() {
        berth.close();
    }

    private static E2bClient client(String key) {
        return E2bClient.of(berth.url(), key);
    }

    private static E2bClient with(Scope... scopes) {
        return client(berth.key("acme", Set.of(scopes)));
    }

    private static String create() {
        Reply made = acme.post("/v2/sandboxes", "{" + CLOSED + "}");
        assertThat(made.status()).as(made.body()).isEqualTo(201);
        return made.json().path("sandboxID").asString();
    }

    @Test
    void theKeyCountsAndNotATokenThatComesWithIt() throws Exception {
        HttpRequest both = HttpRequest.newBuilder(URI.create(berth.url() + "/v2/sandboxes"))
                .header("X-API-Key", acme.credential())
                .header("Authorization", "Bearer sk_e2b_of_another_service")
                .build();
        try (HttpClient http = HttpClient.newHttpClient()) {
            assertThat(http.send(both, HttpResponse.BodyHandlers.discarding()).statusCode())
                    .isEqualTo(200);
        }
    }

    // ---- what is shown -------------------------------------------------------------------------------------------

    @Test
    void oneThatFailedIsListedAsPaused() {
        String id = create();
        assertThat(acme.post("/sandboxes/" + id + "/pause", "{\"memory\":false}")
                        .status())
                .isEqualTo(204);
        berth.database()
                .query(handle -> handle.createUpdate("UPDATE sessions SET state = 'error' WHERE id = :id")
                        .bind("id", id)
                        .execute());
        assertThat(acme.get("/sandboxes/" + id).json().path("state").asString()).isEqualTo("paused");
        assertThat(acme.get("/v2/sandboxes").body()).contains(id);
        assertThat(acme.get("/v2/sandboxes?state=paused").body()).contains(id);
        assertThat(acme.get("/v2/sandboxes?state=running").body()).doesNotContain(id);
    }

    @Test
    void oneThatCannotBeGivenTimeAfterItWasWokenDoesNotRun() {
        Reply made =
                acme.post("/v2/sandboxes", "{" + CLOSED + ",\"autoPause\":true,\"autoResume\":{\"enabled\":true}}");
        String id = made.json().path("sandboxID").asString();
        assertThat(acme.post("/sandboxes/" + id + "/pause", "{}").status()).isEqualTo(204);
        Sandboxes sandboxes = new Sandboxes(berth.sessions());
        assertThatThrownBy(() -> sandboxes.enter(id, info -> berth.sessions().expiry(info.key(), Optional.empty())))
                .isInstanceOfSatisfying(
                        E2bError.class, e -> assertThat(e.status()).isEqualTo(502));
    }

    // ---- what is refused -----------------------------------------------------------------------------------------

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/v2/sandboxes?startedAfter=%2B300000-01-01T00:00:00Z",
                "/v2/sandboxes?startedAfter=-5000-01-01T00:00:00Z",
                "/v2/sandboxes?startedAfter=yesterday",
                // of +300000-01-01T00:00:00Z__i1, and of a moment that is one with an id that is none
                "/v2/sandboxes?nextToken=KzMwMDAwMC0wMS0wMVQwMDowMDowMFpfX2kx",
                "/snapshots?nextToken=KzMwMDAwMC0wMS0wMVQwMDowMDowMFpfX2kx",
                "/v2/sandboxes?nextToken=MjAyNi0wMS0wMVQwMDowMDowMFpfXwA",
                "/v2/sandboxes?metadata=a%3D%2500",
                "/snapshots?name=%00",
            })
    void whatNoDatabaseCanHoldIsAMistakeOfTheClients(String path) {
        assertThat(acme.get(path).status()).isEqualTo(400);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "/sandboxes/ID/fork | {\"count\":0}",
                "/sandboxes/ID/fork | {\"count\":101}",
                "/sandboxes/ID/fork | {\"count\":\"two\"}",
                "/sandboxes/ID/fork | {\"count\":1.5}",
                "/sandboxes/ID/fork | {\"count\":4294967297}",
                "/sandboxes/ID/pause | {\"memory\":\"no\"}",
                "/v2/sandboxes/ID/connect | {\"memory\":0}",
            })
    void whatIsOfAnotherKindThanItShouldBeIsRefused(String path, String body) {
        String id = create();
        assertThat(acme.post(path.replace("ID", id), body).status()).isEqualTo(400);
        assertThat(acme.get("/sandboxes/" + id).json().path("state").asString()).isEqualTo("running");
    }

    @Test
    void aSandboxHasHundredsOfVariables() {
        for (int many : List.of(1024, 1025)) {
            String variables = IntStream.range(0, many)
                    .mapToObj(i -> "\"V" + i + "\":\"x\"")
                    .collect(Collectors.joining(","));
            assertThat(acme.post("/v2/sandboxes", "{" + CLOSED + ",\"envVars\":{" + variables + "}}")
                            .status())
                    .isEqualTo(many == 1024 ? 201 : 400);
        }
    }

    @Test
    void whoIsRefusedIsNotHeardToTheEnd() throws Exception {
        try (Socket socket = connect()) {
            socket.getOutputStream()
                    .write(String.join(
                                    "\r\n",
                                    "POST /v2/sandboxes HTTP/1.1",
                                    "Host: localhost",
                                    "X-API-Key: no",
                                    "Content-Length: 1000000000",
                                    "",
                                    "")
                            .getBytes(StandardCharsets.ISO_8859_1));
            // No more than is surely taken, of which the last byte is not: whoever goes on may find the connection
            // closed.
            socket.getOutputStream().write(new byte[(1 << 20) + 1]);
            assertThat(new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.ISO_8859_1))
                            .readLine())
                    .startsWith("HTTP/1.1 401");
        }
    }

    @Test
    void theConnectionThatIsClosedAfterWhatCannotBeReadIsSaidToBe() throws Exception {
        try (Socket socket = connect()) {
            socket.getOutputStream()
                    .write("GET /sandboxes/%00 HTTP/1.1\r\nHost: localhost\r\n\r\n"
                            .getBytes(StandardCharsets.ISO_8859_1));
            assertThat(new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1))
                    .startsWith("HTTP/1.1 400")
                    .containsIgnoringCase("Connection: close");
        }
    }

    @Test
    void oneThatIsBeingKilledCannotBeConnectedTo() {
        String id = create();
        berth.database()
                .query(handle -> handle.createUpdate("UPDATE sessions SET delete_requested = true WHERE id = :id")
                        .bind("id", id)
                        .execute());
        assertThat(acme.post("/v2/sandboxes/" + id + "/connect", "{}").status()).isEqualTo(409);
        assertThat(acme.get("/sandboxes/" + id).status()).isEqualTo(404);
        assertThat(acme.post("/v2/sandboxes/i0123456789/connect", "{}").status())
                .isEqualTo(404);
    }

    private static Socket connect() throws IOException {
        Socket socket = new Socket(
                InetAddress.getLoopbackAddress(), URI.create(berth.url()).getPort());
        socket.setSoTimeout(20_000);
        return socket;
    }

    @Test
    void aBodyOfTooMuchOrOfTooManyPartsIsRefused() {
        String large = "{" + CLOSED + ",\"envVars\":{\"A\":\"" + "x".repeat(1 << 20) + "\"}}";
        assertThat(acme.post("/v2/sandboxes", large).status()).isEqualTo(413);
        String parts = "{" + CLOSED + ",\"x\":[" + "{},".repeat(150_000) + "{}]}";
        Reply refused = acme.post("/v2/sandboxes", parts);
        assertThat(refused.status()).isEqualTo(400);
        assertThat(refused.json().path("message").asString()).contains("too many parts");
    }

    // ---- who may what --------------------------------------------------------------------------------------------

    @Test
    void whoOnlyLooksAfterSandboxesIsToldNothingThatOpensThem() {
        Reply made = acme.post(
                "/v2/sandboxes",
                "{" + CLOSED + ",\"network\":{\"allowPublicTraffic\":false,\"rules\":{\"api.example.com\":"
                        + "[{\"transform\":{\"headers\":{\"X-Key\":\"sk-literal\"}}}]}}}");
        assertThat(made.body()).contains("envdAccessToken", "trafficAccessToken");
        String token = made.json().path("envdAccessToken").asString();
        String id = made.json().path("sandboxID").asString();

        assertThat(acme.get("/sandboxes/" + id).body()).contains(token, "sk-literal");
        Reply looked = with(Scope.SESSIONS).get("/sandboxes/" + id);
        assertThat(looked.status()).isEqualTo(200);
        assertThat(looked.body()).contains("X-Key").doesNotContain("AccessToken", token, "sk-literal");
        assertThat(with(Scope.SESSIONS, Scope.TOOLS).get("/sandboxes/" + id).body())
                .contains(token)
                .doesNotContain("sk-literal");
        Reply forked = with(Scope.SESSIONS).post("/sandboxes/" + id + "/fork", "{}");
        assertThat(forked.status()).isEqualTo(201);
        assertThat(forked.body()).contains("sandboxID").doesNotContain("AccessToken");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "POST | /sandboxes/ID/timeout | {\"timeout\":60} | 204",
                "POST | /sandboxes/ID/refreshes | {} | 204",
                "PUT | /sandboxes/ID/network | {\"allow_internet_access\":false} | 204",
                "POST | /sandboxes/ID/snapshots | {} | 201",
                "POST | /sandboxes/ID/fork | {} | 201",
                "POST | /sandboxes/ID/pause | {} | 204",
            })
    void lookingAfterOneTakesTheScopeThatItTakesInOurOwnApi(String method, String path, String body, int status) {
        String at = path.replace("ID", create());
        assertThat(with(Scope.TOOLS).send(method, at, body).status()).isEqualTo(403);
        assertThat(with(Scope.SESSIONS).send(method, at, body).status()).isEqualTo(status);
    }

    @Test
    void makingOneAndConnectingToOneTakesBoth() {
        String id = create();
        for (E2bClient half : List.of(with(Scope.SESSIONS), with(Scope.TOOLS))) {
            assertThat(half.post("/v2/sandboxes", "{" + CLOSED + "}").status()).isEqualTo(403);
            assertThat(half.post("/v2/sandboxes/" + id + "/connect", "{}").status())
                    .isEqualTo(403);
            assertThat(half.post("/sandboxes/" + id + "/connect", "{\"timeout\":60}")
                            .status())
                    .isEqualTo(403);
        }
        assertThat(with(Scope.SESSIONS, Scope.TOOLS)
                        .post("/v2/sandboxes/" + id + "/connect", "{}")
                        .status())
                .isEqualTo(200);
    }
}
