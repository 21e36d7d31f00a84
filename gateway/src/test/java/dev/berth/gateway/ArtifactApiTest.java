package dev.berth.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.gateway.EventReader.Event;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Artifacts and uploads as clients see them. Needs root and crun. */
@Timeout(300)
class ArtifactApiTest {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static TestingBerth berth;
    private static String acme;
    private static String rival;

    @BeforeAll
    static void start() {
        berth = new TestingBerth();
        acme = berth.tenant("acme");
        rival = berth.tenant("rival");
    }

    @AfterAll
    static void stop() {
        berth.close();
    }

    private static JsonNode call(String path, Map<String, Object> body) {
        var reply = berth.post(acme, path, JSON.writeValueAsString(body));
        assertThat(reply.status()).as(reply.body()).isEqualTo(200);
        return reply.json();
    }

    private static JsonNode bash(String session, String command) {
        return call("/v1/sandbox/bash", Map.of("session_id", session, "command", command));
    }

    private static JsonNode python(String session, boolean stateful, String code) {
        // Debian keeps this file in /etc, of which the template 'host' shows nothing.
        bash(session, "touch matplotlibrc");
        JsonNode reply = call(
                "/v1/sandbox/execute",
                Map.of("session_id", session, "code", code, "stateful", stateful, "timeout", 120));
        assertThat(reply.path("success").asBoolean()).as(reply.toString()).isTrue();
        return reply;
    }

    private static TestingBerth.Reply content(String key, JsonNode artifact, String... headers) {
        HttpRequest.Builder request = HttpRequest.newBuilder(
                        URI.create(berth.url() + artifact.path("url").asString()))
                .header("Authorization", "Bearer " + key);
        if (headers.length > 0) {
            request.headers(headers);
        }
        return berth.send(request.build());
    }

    private static List<String> names(JsonNode reply) {
        List<String> names = new ArrayList<>();
        reply.path("artifacts")
                .forEach(artifact -> names.add(artifact.path("name").asString()));
        return names;
    }

    // ---- artifacts -----------------------------------------------------------------------------------------------

    @Test
    void aCommandsFilesAreInItsAnswerAndInTheList() {
        JsonNode reply =
                bash("list", "mkdir -p output/display && echo a,b >output/t.csv && echo '# hi' >output/display/r.md");
        assertThat(names(reply)).containsExactly("r.md", "t.csv");
        JsonNode table = reply.path("artifacts").path(1);
        assertThat(table.path("kind").asString()).isEqualTo("table");
        assertThat(table.path("mime_type").asString()).isEqualTo("text/csv");
        assertThat(table.path("preview").asString()).isEqualTo("a,b\n");
        assertThat(table.path("call_id").asString()).isNotEmpty();
        assertThat(reply.has("artifacts_note")).isFalse();
        JsonNode all = berth.get(acme, "/v1/sessions/list/artifacts").json();
        assertThat(names(all)).containsExactly("t.csv", "r.md");
        assertThat(all.path("more").asBoolean()).isFalse();
        JsonNode page = berth.get(acme, "/v1/sessions/list/artifacts?limit=1").json();
        assertThat(page.path("artifacts").path(0)).isEqualTo(table);
        assertThat(page.path("more").asBoolean()).isTrue();
        String last = table.path("artifact_id").asString();
        assertThat(names(berth.get(acme, "/v1/sessions/list/artifacts?before=" + last)
                        .json()))
                .containsExactly("r.md");
        assertThat(berth.get(acme, "/v1/artifacts/" + last).json()).isEqualTo(table);
        berth.get(acme, "/v1/sandbox/sessions").json().path("sessions").forEach(session -> {
            if (session.path("session_id").asString().equals("list")) {
                assertThat(session.path("artifacts").asInt()).isEqualTo(2);
            }
        });
    }

    @Test
    void aToolsFilesAreInItsAnswerToo() {
        JsonNode reply = call(
                "/v1/tools/write",
                Map.of("session_id", "tools", "file_path", "output/notes.txt", "content", "written"));
        assertThat(names(reply)).containsExactly("notes.txt");
        assertThat(names(call("/v1/tools/bash", Map.of("session_id", "tools", "command", "echo x >output/x.bin"))))
                .containsExactly("x.bin");
    }

    @Test
    void watchersAreToldOfArtifacts() {
        String id = bash("watched", "mkdir output && echo x >output/x")
                .path("artifacts")
                .path(0)
                .path("artifact_id")
                .asString();
        List<Event> events = new ArrayList<>();
        try (EventReader reader = berth.events(acme, "/v1/sessions/watched/events?follow=false", Map.of())) {
            for (var event = reader.next(); event.isPresent(); event = reader.next()) {
                events.add(event.get());
            }
        }
        assertThat(events).anySatisfy(event -> {
            assertThat(event.name()).isEqualTo("artifact");
            assertThat(event.data().toString()).contains(id);
        });
    }

    @Test
    void rangesOfTheContentCanBeHad() {
        JsonNode artifact = bash("ranges", "mkdir output && printf 0123456789 >output/x.txt")
                .path("artifacts")
                .path(0);
        var whole = content(acme, artifact);
        assertThat(whole.status()).isEqualTo(200);
        assertThat(whole.body()).isEqualTo("0123456789");
        assertThat(whole.header("Accept-Ranges")).isEqualTo("bytes");
        String tag = whole.header("ETag");
        assertThat(tag).isEqualTo('"' + artifact.path("sha256").asString() + '"');
        var part = content(acme, artifact, "Range", "bytes=2-4");
        assertThat(part.status()).isEqualTo(206);
        assertThat(part.body()).isEqualTo("234");
        assertThat(part.header("Content-Range")).isEqualTo("bytes 2-4/10");
        assertThat(content(acme, artifact, "Range", "bytes=7-").body()).isEqualTo("789");
        assertThat(content(acme, artifact, "Range", "bytes=-2").body()).isEqualTo("89");
        assertThat(content(acme, artifact, "Range", "bytes=-200").body()).isEqualTo("0123456789");
        assertThat(content(acme, artifact, "Range", "bytes=8-999999999999").body())
                .isEqualTo("89");
        var none = content(acme, artifact, "Range", "bytes=10-");
        assertThat(none.status()).isEqualTo(416);
        assertThat(none.header("Content-Range")).isEqualTo("bytes */10");
        assertThat(none.header("Content-Type")).startsWith("application/problem+json");
        assertThat(content(acme, artifact, "Range", "bytes=-0").status()).isEqualTo(416);
        for (String odd : List.of("bytes=1-2,4-5", "lines=1-2", "bytes=5-2", "bytes=-", "bytes=a-b")) {
            assertThat(content(acme, artifact, "Range", odd).status()).as(odd).isEqualTo(200);
        }
        assertThat(content(acme, artifact, "Range", "bytes=1-1", "If-Range", tag)
                        .status())
                .isEqualTo(206);
        assertThat(content(acme, artifact, "Range", "bytes=1-1", "If-Range", "\"other\"")
                        .status())
                .isEqualTo(200);
        assertThat(content(acme, artifact, "If-None-Match", tag).status()).isEqualTo(304);
        var head = berth.send(HttpRequest.newBuilder(
                        URI.create(berth.url() + artifact.path("url").asString()))
                .header("Authorization", "Bearer " + acme)
                .HEAD()
                .build());
        assertThat(head.status()).isEqualTo(200);
        assertThat(head.header("Content-Length")).isEqualTo("10");
        assertThat(head.header("ETag")).isEqualTo(tag);
    }

    @Test
    void aHostilePageIsAnAttachmentThatMayDoNothing() {
        JsonNode artifact = bash("page", "mkdir output && echo '<script>alert(1)</script>' >'output/ü \";x.html'")
                .path("artifacts")
                .path(0);
        var reply = content(acme, artifact);
        assertThat(reply.header("Content-Type")).startsWith("text/html");
        assertThat(reply.header("Content-Disposition"))
                .isEqualTo("attachment; filename=\"_ _;x.html\"; filename*=UTF-8''%C3%BC%20_%3Bx.html");
        assertThat(reply.header("X-Content-Type-Options")).isEqualTo("nosniff");
        assertThat(reply.header("Content-Security-Policy")).startsWith("sandbox");
    }

    @Test
    void othersLearnNothingOfArtifacts() {
        JsonNode artifact = bash("secret", "mkdir output && echo x >output/x")
                .path("artifacts")
                .path(0);
        String path = "/v1/artifacts/" + artifact.path("artifact_id").asString();
        String unknown = berth.get(rival, "/v1/artifacts/art_" + "0".repeat(32))
                .json()
                .path("detail")
                .asString();
        for (String address : List.of(path, path + "/content")) {
            var reply = berth.get(rival, address);
            assertThat(reply.status()).isEqualTo(404);
            assertThat(reply.json().path("detail").asString()).isEqualTo(unknown);
        }
        assertThat(berth.delete(rival, path).status()).isEqualTo(404);
        assertThat(berth.get(rival, "/v1/sessions/secret/artifacts").status()).isEqualTo(404);
        assertThat(berth.get(rival, "/v1/sessions/secret/artifacts?tenant_id=acme")
                        .status())
                .isEqualTo(404);
        assertThat(berth.get("", path + "/content").status()).isEqualTo(401);
        assertThat(berth.get(TestingBerth.ADMIN, path).status()).isEqualTo(200);
    }

    @Test
    void artifactsStayWhenTheirSessionIsDeletedAndGoWhenTheyAre() {
        JsonNode artifact = bash("gone", "mkdir output && echo kept >output/x")
                .path("artifacts")
                .path(0);
        assertThat(berth.delete(acme, "/v1/sessions/gone").status()).isEqualTo(204);
        assertThat(names(berth.get(acme, "/v1/sessions/gone/artifacts").json())).containsExactly("x");
        assertThat(content(acme, artifact).body()).isEqualTo("kept\n");
        String path = "/v1/artifacts/" + artifact.path("artifact_id").asString();
        assertThat(berth.delete(acme, path).status()).isEqualTo(204);
        assertThat(berth.delete(acme, path).status()).isEqualTo(404);
        assertThat(content(acme, artifact).status()).isEqualTo(404);
    }

    @Test
    void figuresOfCodeAreImages() {
        JsonNode reply = python("figures", false, """
                import matplotlib.pyplot as plt
                plt.plot([1, 2, 3])
                plt.show()
                plt.figure(figsize=(2, 1))
                plt.bar([1], [2])
                None""");
        assertThat(names(reply)).containsExactly("figure-1.png", "figure-2.png");
        JsonNode figure = reply.path("artifacts").path(0);
        assertThat(figure.path("kind").asString()).isEqualTo("image");
        assertThat(figure.path("mime_type").asString()).isEqualTo("image/png");
        assertThat(figure.path("path").asString()).isEqualTo("output/display/figure-1.png");
        assertThat(figure.path("width").asInt()).isGreaterThan(300);
        assertThat(figure.path("height").asInt()).isGreaterThan(200);
        assertThat(reply.path("stderr").asString()).doesNotContain("saved", "non-interactive");
    }

    @Test
    void figuresAndTablesOfAnInterpreterThatLivesOnAreNumberedOn() {
        python("kept", true, "import pandas as pd\nimport matplotlib.pyplot as plt");
        JsonNode table = python("kept", true, "df = pd.DataFrame({'a': [1, 2], 'b': ['x', 'ü']})\ndf");
        assertThat(names(table)).containsExactly("table-1.csv");
        assertThat(table.path("result").asString()).contains("a").contains("ü");
        JsonNode csv = table.path("artifacts").path(0);
        assertThat(csv.path("kind").asString()).isEqualTo("table");
        assertThat(csv.path("preview").asString()).isEqualTo(",a,b\n0,1,x\n1,2,ü\n");
        assertThat(names(python("kept", true, "df['a']"))).containsExactly("table-2.csv");
        assertThat(names(python("kept", true, "import os; os.chdir('/')\nplt.plot([1])\nNone")))
                .containsExactly("figure-1.png");
        assertThat(names(python("kept", true, "plt.plot([1])\nplt.show()"))).containsExactly("figure-2.png");
        assertThat(names(python("kept", true, "1 + 1"))).isEmpty();
    }

    @Test
    void aFigureThatCannotBeSavedIsToldAndFailsNothing() {
        JsonNode reply = python("unsaved", false, """
                import matplotlib.pyplot as plt
                open('output', 'w').close()
                plt.plot([1])
                'fine'""");
        assertThat(reply.path("result").asString()).isEqualTo("'fine'");
        assertThat(reply.path("stderr").asString()).contains("the figure was not saved");
    }

    // ---- uploads -------------------------------------------------------------------------------------------------

    private static TestingBerth.Reply upload(String session, String name, BodyPublisher body, String type) {
        return berth.send(HttpRequest.newBuilder(URI.create(berth.url() + "/v1/sessions/" + session + "/uploads?name="
                        + URLEncoder.encode(name, StandardCharsets.UTF_8)))
                .header("Authorization", "Bearer " + acme)
                .header("Content-Type", type)
                .version(HttpClient.Version.HTTP_1_1)
                .POST(body)
                .build());
    }

    private static TestingBerth.Reply upload(String session, String name, String text) {
        return upload(session, name, BodyPublishers.ofString(text), "application/octet-stream");
    }

    private static String files(String session) {
        return bash(session, "ls -A uploads 2>/dev/null || true").path("stdout").asString();
    }

    @Test
    void anUploadIsInTheWorkspaceUnderItsName() {
        var reply = upload("up", "Größe.csv", "a,b\n");
        assertThat(reply.status()).as(reply.body()).isEqualTo(201);
        assertThat(reply.json().path("path").asString()).isEqualTo("uploads/Größe.csv");
        assertThat(reply.json().path("renamed").asBoolean()).isFalse();
        assertThat(reply.json().path("size").asInt()).isEqualTo(4);
        String hash = bash("up", "sha256sum 'uploads/Größe.csv'").path("stdout").asString();
        assertThat(hash).startsWith(reply.json().path("sha256").asString());
        var again = upload("up", "Größe.csv", "other").json();
        assertThat(again.path("name").asString()).isEqualTo("Größe (2).csv");
        assertThat(again.path("renamed").asBoolean()).isTrue();
        assertThat(bash("up", "cat 'uploads/Größe.csv'").path("stdout").asString())
                .isEqualTo("a,b\n");
    }

    @Test
    void hostileNamesAreMadeSafe() {
        for (String name :
                List.of("../../../etc/cron.d/x", "..", "/", ".ssh", "-rf", "a\nb", "x\u202Etxt.exe", "CON")) {
            var reply = upload("hostile", name, name);
            assertThat(reply.status()).as(reply.body()).isEqualTo(201);
            assertThat(reply.json().path("renamed").asBoolean()).as(name).isTrue();
        }
        assertThat(upload("hostile", "y".repeat(5000) + ".csv", "x")
                        .json()
                        .path("name")
                        .asString())
                .hasSize(200)
                .endsWith("y.csv");
        assertThat(files("hostile").lines().limit(8))
                .containsExactly("_CON", "ab", "file", "file (2)", "rf", "ssh", "x", "xtxt.exe");
    }

    @Test
    void uploadsOfOneNameAtATimeAreAllKept() throws Exception {
        upload("many", "first", "x");
        Set<String> names = new TreeSet<>();
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Callable<String>> all = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                String text = "text " + i;
                all.add(() ->
                        upload("many", "same.txt", text).json().path("name").asString());
            }
            for (var one : threads.invokeAll(all)) {
                names.add(one.get());
            }
        }
        assertThat(names).hasSize(20);
        assertThat(bash("many", "cat uploads/same* | sort -u | tr -cd t | wc -c")
                        .path("stdout")
                        .asString()
                        .strip())
                .isEqualTo("40");
    }

    private static Socket connect() throws IOException {
        return new Socket(
                InetAddress.getLoopbackAddress(), URI.create(berth.url()).getPort());
    }

    /** Zeros, without end if nobody stops reading. */
    private static InputStream zeros(long bytes) {
        return new InputStream() {
            private long left = bytes;

            @Override
            public int read() {
                return left-- > 0 ? 0 : -1;
            }

            @Override
            public int read(byte[] buffer, int offset, int length) {
                if (left <= 0) {
                    return -1;
                }
                int n = (int) Math.min(length, left);
                Arrays.fill(buffer, offset, offset + n, (byte) 0);
                left -= n;
                return n;
            }
        };
    }

    @Test
    void whatIsSaidToBeTooLargeIsRefusedBeforeItIsRead() throws IOException {
        upload("large", "small", "x");
        try (Socket socket = connect()) {
            socket.getOutputStream()
                    .write(("POST /v1/sessions/large/uploads?name=x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
                                    + acme
                                    + "\r\nContent-Type: application/octet-stream\r\nContent-Length: 1073741825\r\n\r\n")
                            .getBytes(StandardCharsets.US_ASCII));
            socket.shutdownOutput();
            String reply = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(reply).startsWith("HTTP/1.1 413").contains("request_bytes");
        }
        assertThat(files("large")).isEqualTo("small\n");
    }

    @Test
    void whatTurnsOutToBeTooLargeLeavesNothing() throws IOException {
        upload("longer", "small", "x");
        try (Socket socket = connect()) {
            var out = socket.getOutputStream();
            out.write(("POST /v1/sessions/longer/uploads?name=x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + acme
                            + "\r\nContent-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
                    .getBytes(StandardCharsets.US_ASCII));
            byte[] chunk = new byte[1 << 20];
            for (int i = 0; i < 1025; i++) {
                out.write("100000\r\n".getBytes(StandardCharsets.US_ASCII));
                out.write(chunk);
                out.write("\r\n".getBytes(StandardCharsets.US_ASCII));
            }
            out.write("0\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            out.flush();
            byte[] status = socket.getInputStream().readNBytes(12);
            assertThat(new String(status, StandardCharsets.US_ASCII)).isEqualTo("HTTP/1.1 413");
        }
        assertThat(files("longer")).isEqualTo("small\n");
    }

    @Test
    void aFullDiskIsALimitAndLeavesNothing() {
        var made = berth.post(acme, "/v1/sessions", "{\"session_id\":\"full\",\"limits\":{\"disk\":67108864}}");
        assertThat(made.status()).as(made.body()).isEqualTo(201);
        var reply = upload(
                "full",
                "x",
                BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(random(72 << 20))),
                "application/octet-stream");
        assertThat(reply.status()).as(reply.body()).isEqualTo(429);
        assertThat(reply.json().path("code").asString()).isEqualTo("limit");
        assertThat(files("full")).isEmpty();
    }

    private static byte[] random(int size) {
        byte[] bytes = new byte[size];
        new Random(3).nextBytes(bytes);
        return bytes;
    }

    @Test
    void formsAreRefusedAndSaidWhatToDo() {
        var reply = upload("form", "x", BodyPublishers.ofString("--b\r\n"), "multipart/form-data; boundary=b");
        assertThat(reply.status()).isEqualTo(400);
        assertThat(reply.json().path("detail").asString()).contains("the file itself");
    }

    @Test
    void anUploadIsAnEvent() {
        upload("told", "x.txt", BodyPublishers.ofInputStream(() -> zeros(3_000_000)), "application/octet-stream");
        try (EventReader reader = berth.events(acme, "/v1/sessions/told/events", Map.of())) {
            boolean told = false;
            while (!told) {
                told = reader.next().orElseThrow().data().toString().contains("\"upload.stored\"");
            }
            assertThat(told).isTrue();
        }
    }
}
