package dev.berth.gateway.e2b;

import static dev.berth.gateway.e2b.SandboxClient.header;
import static dev.berth.gateway.e2b.SandboxClient.json;
import static dev.berth.gateway.e2b.SandboxClient.start;
import static dev.berth.gateway.e2b.SandboxClient.text;
import static dev.berth.gateway.e2b.SandboxClient.until;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.gateway.TestingBerth;
import dev.berth.session.PermissionMode;
import dev.berth.session.SessionKey;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.time.Instant;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** Port 49983, where it is not what E2B's own client does: who may enter, the protocol of calls, processes. */
class EnvdTest {
    private static TestingBerth berth;
    private static String key;
    private SandboxClient sandbox;

    @BeforeAll
    static void startServer() {
        berth = new TestingBerth();
        key = berth.tenant("acme");
    }

    @AfterAll
    static void stopServer() {
        berth.close();
    }

    @BeforeEach
    void create() {
        sandbox = SandboxClient.create(berth, key);
    }

    @AfterEach
    void kill() {
        sandbox.api("DELETE", "/sandboxes/" + sandbox.id, "");
        sandbox.close();
    }

    // ---- what a session has of it ---------------------------------------------------------------------------------

    @Test
    void whatRunsAndIsWrittenIsInTheLogOfTheSession() {
        sandbox.run("exit 3");
        sandbox.write("/tmp/logged", "x");
        until(() -> text(sandbox.api("GET", "/sandboxes/" + sandbox.id + "/logs", ""))
                .contains("\"what\":\"write\""));
        assertThat(text(sandbox.api("GET", "/sandboxes/" + sandbox.id + "/logs", "")))
                .contains("\"what\":\"command\"", "\"exit_code\":\"3\"");
    }

    @Test
    void whatAPersonHasToAllowIsRefusedWithASentence() {
        SessionKey session = SessionKey.of("acme", sandbox.id);
        berth.sessions().permit(session, PermissionMode.EDIT);
        try (SandboxClient.Stream refused = sandbox.stream("process.Process/Start", start("true"))) {
            JsonNode end = refused.next();
            assertThat(end.path("error").path("code").asString()).isEqualTo("permission_denied");
            assertThat(end.path("error").path("message").asString()).contains("'approvals'");
        }
        assertThat(sandbox.write("/tmp/allowed", "x").statusCode()).isEqualTo(200);
        berth.sessions().permit(session, PermissionMode.ASK);
        assertThat(sandbox.write("/tmp/refused", "x").statusCode()).isEqualTo(403);
        assertThat(sandbox.rpc("filesystem.Filesystem/Remove", "{\"path\":\"/tmp/allowed\"}")
                        .statusCode())
                .isEqualTo(403);
        assertThat(text(sandbox.get("/files?path=/tmp/allowed"))).isEqualTo("x");
    }

    // ---- input ---------------------------------------------------------------------------------------------------

    @Test
    void whatAProcessDoesNotReadIsWaitedForNoLongerThanIsSaid() {
        try (SandboxClient.Stream stream = sandbox.stream(
                "process.Process/Start", "{\"process\":{\"cmd\":\"sleep\",\"args\":[\"600\"]},\"stdin\":true}")) {
            int pid = stream.next().path("event").path("start").path("pid").asInt();
            String input = Base64.getEncoder().encodeToString(new byte[2 << 20]);
            for (int i = 0; i < 2; i++) {
                HttpResponse<byte[]> late = sandbox.send(sandbox.request("/process.Process/SendInput")
                        .header("Content-Type", "application/json")
                        .header("Connect-Timeout-Ms", "700")
                        .POST(BodyPublishers.ofString(
                                "{\"process\":{\"pid\":" + pid + "},\"input\":{\"stdin\":\"" + input + "\"}}")));
                assertThat(late.statusCode()).as(text(late)).isEqualTo(504);
                assertThat(json(late).path("code").asString()).isEqualTo("deadline_exceeded");
                assertThat(json(late).path("message").asString()).contains("not written");
            }
        }
    }

    // ---- who may enter -------------------------------------------------------------------------------------------

    @ParameterizedTest
    @CsvSource({
        "GET, /metrics",
        "GET, /envs",
        "POST, /process.Process/List",
        "POST, /files/compose",
        "GET, /nothing",
    })
    void isClosedToWhoHasNoToken(String method, String path) {
        for (String token : List.of("", "x", sandbox.token + "0", sandbox.token.toUpperCase(java.util.Locale.ROOT))) {
            HttpRequest.Builder request = sandbox.open(path).method(method, BodyPublishers.ofString("{}"));
            HttpResponse<byte[]> refused =
                    sandbox.send(token.isEmpty() ? request : request.header("X-Access-Token", token));
            assertThat(refused.statusCode()).isEqualTo(401);
            assertThat(json(refused).path("code").asInt()).isEqualTo(401);
        }
    }

    @Test
    void tellsEverybodyThatItRuns() {
        assertThat(sandbox.send(sandbox.open("/health")).statusCode()).isEqualTo(204);
    }

    @Test
    void isNotFoundWhenItIsGone() {
        assertThat(sandbox.api("DELETE", "/sandboxes/" + sandbox.id, "").statusCode())
                .isEqualTo(204);
        HttpResponse<byte[]> gone = sandbox.get("/health");
        assertThat(gone.statusCode()).isEqualTo(502);
        assertThat(json(gone).path("sandboxId").asString()).isEqualTo(sandbox.id);
    }

    @Test
    void theTokenOfOneOpensNoOther() {
        try (SandboxClient other = SandboxClient.create(berth, key)) {
            HttpResponse<byte[]> refused =
                    sandbox.send(sandbox.open("/files?path=/etc/passwd").header("X-Access-Token", other.token));
            assertThat(refused.statusCode()).isEqualTo(401);
            assertThat(json(refused).path("message").asString())
                    .isEqualTo("access token present in header but does not match");
            other.api("DELETE", "/sandboxes/" + other.id, "");
        }
    }

    @Test
    void anOldClientsSandboxNeedsNone() {
        try (SandboxClient old = SandboxClient.create(
                berth,
                key,
                "{\"templateID\":\"host\",\"secure\":false,\"timeout\":60,\"allow_internet_access\":false}")) {
            assertThat(old.token).isEmpty();
            assertThat(old.send(old.open("/envs")).statusCode()).isEqualTo(200);
            assertThat(old.send(old.open("/files?path=/etc/passwd")).statusCode())
                    .isEqualTo(200);
            old.api("DELETE", "/sandboxes/" + old.id, "");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"/init", "/freeze", "/unfreeze", "/collapse", "/fsfreeze", "/fsthaw", "/upgrade"})
    void hasNothingThatIsForHosts(String path) {
        assertThat(sandbox.send(sandbox.request(path).POST(BodyPublishers.ofString("{}")))
                        .statusCode())
                .isEqualTo(404);
    }

    @Test
    void isOpenToPagesOfAnyOrigin() {
        HttpResponse<byte[]> allowed = sandbox.send(sandbox.open("/process.Process/Start")
                .header("Origin", "https://example.org")
                .header("Access-Control-Request-Method", "POST")
                .header("Access-Control-Request-Headers", "authorization, x-access-token")
                .method("OPTIONS", BodyPublishers.noBody()));
        assertThat(allowed.statusCode()).isEqualTo(204);
        assertThat(header(allowed, "Access-Control-Allow-Origin")).isEqualTo("*");
        assertThat(header(allowed, "Access-Control-Allow-Headers")).isEqualTo("authorization, x-access-token");
        assertThat(header(sandbox.get("/files?path=/nope"), "Access-Control-Allow-Origin"))
                .isEqualTo("*");
    }

    // ---- the protocol of calls -----------------------------------------------------------------------------------

    @ParameterizedTest
    @CsvSource({
        "'', unimplemented",
        "0000, invalid_argument",
        "00000000ff7b7d, invalid_argument",
        "01000000027b7d, internal",
        "00ffffffff7b7d, resource_exhausted",
        "00000000027b5d, invalid_argument",
        "00000000027b7d00000000027b7d, unimplemented",
        "00000000027b7d, invalid_argument"
    })
    void aMalformedStreamIsAnsweredInItsEnd(String hex, String code) {
        try (SandboxClient.Stream stream =
                sandbox.raw("process.Process/Start", HexFormat.of().parseHex(hex))) {
            assertThat(stream.response.statusCode()).isEqualTo(200);
            assertThat(stream.response.headers().firstValue("Content-Type")).contains("application/connect+json");
            assertThat(stream.error()).isEqualTo(code);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "process.Process/List, '[]', 400, invalid_argument",
        "process.Process/List, '{', 400, invalid_argument",
        "process.Process/SendSignal, '{}', 400, invalid_argument",
        "process.Process/SendSignal, '{\"process\":{\"pid\":99999},\"signal\":\"SIGNAL_SIGKILL\"}', 404, not_found",
        "process.Process/SendSignal, '{\"process\":{\"pid\":\"x\"}}', 400, invalid_argument",
        "process.Process/Nothing, '{}', 404, unimplemented",
        "filesystem.Filesystem/Stat, '{\"path\":\"/nope\"}', 404, not_found",
        "filesystem.Filesystem/Stat, '{\"path\":\"a\\u0000b\"}', 400, invalid_argument",
        "filesystem.Filesystem/Stat, '{\"path\":\"~root/x\"}', 400, invalid_argument",
        "filesystem.Filesystem/MakeDir, '{\"path\":\"/tmp\"}', 409, already_exists",
        "filesystem.Filesystem/MakeDir, '{\"path\":\"/etc/passwd\"}', 400, invalid_argument",
        "filesystem.Filesystem/ListDir, '{\"path\":\"/etc/passwd\"}', 400, invalid_argument",
        "filesystem.Filesystem/GetWatcherEvents, '{\"watcherId\":\"w1\"}', 404, not_found",
    })
    void aFailedCallHasItsStatusAndCode(String method, String json, int status, String code) {
        HttpResponse<byte[]> failed = sandbox.rpc(method, json);
        assertThat(failed.statusCode()).as(text(failed)).isEqualTo(status);
        assertThat(json(failed).path("code").asString()).isEqualTo(code);
    }

    @Test
    void speaksOneProtocolOnly() {
        HttpRequest.Builder binary = sandbox.request("/process.Process/List")
                .header("Content-Type", "application/proto")
                .POST(BodyPublishers.noBody());
        assertThat(sandbox.send(binary).statusCode()).isEqualTo(415);
        assertThat(sandbox.send(sandbox.request("/process.Process/List")).statusCode())
                .isEqualTo(405);
        HttpRequest.Builder newer = sandbox.request("/process.Process/List")
                .header("Content-Type", "application/json; charset=utf-8")
                .header("Connect-Protocol-Version", "2")
                .POST(BodyPublishers.ofString("{}"));
        assertThat(json(sandbox.send(newer)).path("code").asString()).isEqualTo("invalid_argument");
        try (SandboxClient.Stream zipped =
                sandbox.stream("process.Process/Start", start("true"), "Connect-Content-Encoding", "gzip")) {
            assertThat(zipped.error()).isEqualTo("unimplemented");
        }
        try (SandboxClient.Stream input = sandbox.stream("process.Process/StreamInput", "{}")) {
            assertThat(input.error()).isEqualTo("unimplemented");
        }
    }

    @Test
    void saysWhoItDoesNotKnow() {
        String nobody = "Basic " + Base64.getEncoder().encodeToString("nobody-here:".getBytes(UTF_8));
        try (SandboxClient.Stream stream =
                sandbox.stream("process.Process/Start", start("/bin/true"), "Authorization", nobody)) {
            assertThat(stream.next().path("error").path("message").asString())
                    .isEqualTo("invalid username: 'nobody-here'");
        }
        String number = "Basic " + Base64.getEncoder().encodeToString("1000:".getBytes(UTF_8));
        try (SandboxClient.Stream stream =
                sandbox.stream("process.Process/Start", start("/bin/true"), "Authorization", number)) {
            assertThat(stream.error()).isEqualTo("unauthenticated");
        }
    }

    // ---- processes -----------------------------------------------------------------------------------------------

    @Test
    void tellsStartOutputAndEnd() {
        try (SandboxClient.Stream stream =
                sandbox.stream("process.Process/Start", start("/bin/bash", "-c", "echo hi; exit 3"))) {
            assertThat(stream.next().path("event").path("start").path("pid").asInt())
                    .isPositive();
            assertThat(stream.next().path("event").path("data").path("stdout").binaryValue())
                    .isEqualTo("hi\n".getBytes(UTF_8));
            assertThat(stream.next().toString())
                    .isEqualTo("{\"event\":{\"end\":{\"exitCode\":3,\"exited\":true,\"status\":\"exit status 3\","
                            + "\"error\":\"exit status 3\"}}}");
            assertThat(stream.next().toString()).isEqualTo("{}");
            assertThat(stream.over()).isTrue();
        }
    }

    @Test
    void whatCannotBeStartedIsTheCallersFault() {
        try (SandboxClient.Stream stream = sandbox.stream("process.Process/Start", start("/no/such/program"))) {
            assertThat(stream.error()).isEqualTo("invalid_argument");
        }
    }

    @Test
    void keepsSayingThatItIsThere() {
        try (SandboxClient.Stream stream =
                sandbox.stream("process.Process/Start", start("/bin/sleep", "30"), "Keepalive-Ping-Interval", "1")) {
            stream.next();
            assertThat(stream.next().path("event").has("keepalive")).isTrue();
        }
    }

    @Test
    void aDeadlineKillsTheProcess() {
        try (SandboxClient.Stream stream =
                sandbox.stream("process.Process/Start", start("/bin/sleep", "31"), "Connect-Timeout-Ms", "300")) {
            assertThat(stream.error()).isEqualTo("deadline_exceeded");
        }
        until(() -> json(sandbox.rpc("process.Process/List", "{}"))
                .path("processes")
                .isEmpty());
    }

    @Test
    void aDeadlineHoldsAlsoWhenNobodyListens() {
        sandbox.stream("process.Process/Start", start("/bin/sleep", "32"), "Connect-Timeout-Ms", "700")
                .close();
        until(() -> json(sandbox.rpc("process.Process/List", "{}"))
                .path("processes")
                .isEmpty());
    }

    @Test
    void aProcessOutlivesWhoStartedIt() {
        String start = "{\"process\":{\"cmd\":\"/bin/cat\"},\"tag\":\"mine\"}";
        SandboxClient.Stream first = sandbox.stream("process.Process/Start", start);
        int pid = first.next().path("event").path("start").path("pid").asInt();
        first.close();
        try (SandboxClient.Stream second =
                sandbox.stream("process.Process/Connect", "{\"process\":{\"tag\":\"mine\"}}")) {
            assertThat(second.next().path("event").path("start").path("pid").asInt())
                    .isEqualTo(pid);
            String input = "{\"process\":{\"pid\":" + pid + "},\"input\":{\"stdin\":\"aGk=\"}}";
            assertThat(sandbox.rpc("process.Process/SendInput", input).statusCode())
                    .isEqualTo(200);
            assertThat(second.next().path("event").path("data").path("stdout").asString())
                    .isEqualTo("aGk=");
            String typed = "{\"process\":{\"pid\":" + pid + "},\"input\":{\"pty\":\"aGk=\"}}";
            assertThat(json(sandbox.rpc("process.Process/SendInput", typed))
                            .path("code")
                            .asString())
                    .isEqualTo("internal");
            assertThat(sandbox.rpc("process.Process/CloseStdin", "{\"process\":{\"pid\":" + pid + "}}")
                            .statusCode())
                    .isEqualTo(200);
            assertThat(second.next().path("event").path("end").path("status").asString())
                    .isEqualTo("exit status 0");
        }
        String signal = "{\"process\":{\"pid\":" + pid + "},\"signal\":\"SIGNAL_SIGKILL\"}";
        assertThat(json(sandbox.rpc("process.Process/SendSignal", signal))
                        .path("code")
                        .asString())
                .isEqualTo("not_found");
        try (SandboxClient.Stream third =
                sandbox.stream("process.Process/Connect", "{\"process\":{\"pid\":" + pid + "}}")) {
            assertThat(third.next().path("event").has("start")).isTrue();
            assertThat(third.next().path("event").has("end")).isTrue();
        }
    }

    @Test
    void aStreamBreaksWhenItsSandboxIsPaused() {
        try (SandboxClient.Stream process = sandbox.stream("process.Process/Start", start("/bin/sleep", "33"));
                SandboxClient.Stream watch = sandbox.stream("filesystem.Filesystem/WatchDir", "{\"path\":\"/tmp\"}")) {
            process.next();
            watch.next();
            assertThat(sandbox.api("POST", "/sandboxes/" + sandbox.id + "/pause", "{}")
                            .statusCode())
                    .isEqualTo(204);
            assertThat(process.broken()).isTrue();
            assertThat(watch.broken()).isTrue();
        }
        assertThat(sandbox.get("/health").statusCode()).isEqualTo(502);
    }

    @Test
    void tellsWhatIsUsed() {
        JsonNode metrics = json(sandbox.get("/metrics"));
        assertThat(metrics.path("mem_total").asLong()).isPositive();
        assertThat(metrics.path("mem_used").asLong()).isPositive();
        assertThat(metrics.path("cpu_count").asInt()).isPositive();
        assertThat(metrics.path("ts").asLong())
                .isCloseTo(Instant.now().getEpochSecond(), org.assertj.core.data.Offset.offset(60L));
        assertThat(json(sandbox.get("/envs")).path("E2B_SANDBOX_ID").asString()).isEqualTo(sandbox.id);
    }
}
