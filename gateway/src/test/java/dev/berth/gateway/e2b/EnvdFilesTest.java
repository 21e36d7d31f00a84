package dev.berth.gateway.e2b;

import static dev.berth.gateway.e2b.SandboxClient.header;
import static dev.berth.gateway.e2b.SandboxClient.json;
import static dev.berth.gateway.e2b.SandboxClient.text;
import static dev.berth.gateway.e2b.SandboxClient.until;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.gateway.TestingBerth;
import dev.berth.session.SessionKey;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** Files on port 49983, where it is not what E2B's own client does. */
class EnvdFilesTest {
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

    // ---- files ---------------------------------------------------------------------------------------------------

    @Test
    void answersWithAPartOfAFile() {
        sandbox.write("/tmp/digits", "0123456789");
        HttpResponse<byte[]> whole = sandbox.get("/files?path=/tmp/digits");
        assertThat(whole.statusCode()).isEqualTo(200);
        assertThat(header(whole, "Content-Length")).isEqualTo("10");
        assertThat(header(whole, "Content-Disposition")).isEqualTo("inline; filename=digits");
        HttpResponse<byte[]> part = sandbox.get("/files?path=/tmp/digits", "Range", "bytes=2-4");
        assertThat(part.statusCode()).isEqualTo(206);
        assertThat(text(part)).isEqualTo("234");
        assertThat(header(part, "Content-Range")).isEqualTo("bytes 2-4/10");
        assertThat(text(sandbox.get("/files?path=/tmp/digits", "Range", "bytes=-1", "Accept-Encoding", "gzip")))
                .isEqualTo("9");
        HttpResponse<byte[]> beyond = sandbox.get("/files?path=/tmp/digits", "Range", "bytes=10-");
        assertThat(beyond.statusCode()).isEqualTo(416);
        assertThat(header(beyond, "Content-Range")).isEqualTo("bytes */10");
        String tag = header(whole, "ETag");
        assertThat(text(sandbox.get("/files?path=/tmp/digits", "Range", "bytes=0-0", "If-Range", tag)))
                .isEqualTo("0");
        sandbox.write("/tmp/digits", "abcdefghij");
        assertThat(text(sandbox.get("/files?path=/tmp/digits", "Range", "bytes=0-0", "If-Range", tag)))
                .isEqualTo("abcdefghij");
    }

    @Test
    void doesNotSendWhatTheClientHas() {
        sandbox.write("/tmp/known", "content");
        HttpResponse<byte[]> first = sandbox.get("/files?path=/tmp/known");
        assertThat(sandbox.get("/files?path=/tmp/known", "If-None-Match", header(first, "ETag"))
                        .statusCode())
                .isEqualTo(304);
        assertThat(sandbox.get("/files?path=/tmp/known", "If-None-Match", "\"other\"")
                        .statusCode())
                .isEqualTo(200);
        assertThat(sandbox.get("/files?path=/tmp/known", "If-Modified-Since", header(first, "Last-Modified"))
                        .statusCode())
                .isEqualTo(304);
        assertThat(sandbox.get("/files?path=/tmp/known", "If-Modified-Since", "Thu, 01 Jan 1970 00:00:00 GMT")
                        .statusCode())
                .isEqualTo(200);
    }

    @Test
    void compressesBothWays() throws IOException {
        String content = "compress me ".repeat(20_000);
        ByteArrayOutputStream zipped = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(zipped)) {
            gzip.write(content.getBytes(UTF_8));
        }
        HttpRequest.Builder upload = sandbox.request("/files?path=/tmp/z")
                .header("Content-Type", "application/octet-stream")
                .header("Content-Encoding", "gzip")
                .POST(BodyPublishers.ofByteArray(zipped.toByteArray()));
        assertThat(sandbox.send(upload).statusCode()).isEqualTo(200);
        assertThat(text(sandbox.get("/files?path=/tmp/z"))).isEqualTo(content);
        HttpResponse<byte[]> download = sandbox.get("/files?path=/tmp/z", "Accept-Encoding", "gzip");
        assertThat(header(download, "Content-Encoding")).isEqualTo("gzip");
        assertThat(header(download, "Vary")).isEqualTo("Accept-Encoding");
        assertThat(new GZIPInputStream(new ByteArrayInputStream(download.body())).readAllBytes())
                .isEqualTo(content.getBytes(UTF_8));
        assertThat(sandbox.get("/files?path=/tmp/z", "Accept-Encoding", "identity;q=0, br")
                        .statusCode())
                .isEqualTo(406);
        assertThat(sandbox.write("/tmp/y", "not gzip", "Content-Encoding", "gzip")
                        .statusCode())
                .isEqualTo(400);
        assertThat(sandbox.write("/tmp/y", "x", "Content-Encoding", "br").statusCode())
                .isEqualTo(400);
        HttpRequest.Builder broken = sandbox.request("/files?path=/tmp/y")
                .header("Content-Type", "application/octet-stream")
                .header("Content-Encoding", "gzip")
                .POST(BodyPublishers.ofByteArray(zipped.toByteArray(), 0, zipped.size() / 2));
        assertThat(sandbox.send(broken).statusCode()).isEqualTo(400);
        assertThat(sandbox.get("/files?path=/tmp/y").statusCode()).isEqualTo(404);
    }

    @Test
    void anEmptyFileHasALength() {
        sandbox.write("/tmp/nothing", "");
        HttpResponse<byte[]> empty = sandbox.get("/files?path=/tmp/nothing", "Accept-Encoding", "gzip, deflate");
        assertThat(empty.statusCode()).isEqualTo(200);
        assertThat(header(empty, "Content-Length")).isEqualTo("0");
    }

    private HttpResponse<byte[]> form(String query, String... namesAndContents) {
        StringBuilder body = new StringBuilder();
        for (int i = 0; i < namesAndContents.length; i += 2) {
            body.append("--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"")
                    .append(namesAndContents[i])
                    .append("\"\r\n\r\n")
                    .append(namesAndContents[i + 1])
                    .append("\r\n");
        }
        body.append("--XX--\r\n");
        return sandbox.send(sandbox.request("/files" + query)
                .header("Content-Type", "multipart/form-data; boundary=XX")
                .POST(BodyPublishers.ofString(body.toString())));
    }

    @Test
    void takesManyFilesInOneForm() {
        HttpResponse<byte[]> written = form("", "/tmp/one", "1", "dir/two", "2");
        assertThat(text(written))
                .isEqualTo("[{\"path\":\"/tmp/one\",\"name\":\"one\",\"type\":\"file\"},"
                        + "{\"path\":\"/home/user/dir/two\",\"name\":\"two\",\"type\":\"file\"}]");
        assertThat(text(sandbox.get("/files?path=dir/two"))).isEqualTo("2");
    }

    @Test
    void takesNoTwoFilesForOnePath() {
        HttpResponse<byte[]> refused = form("", "/tmp/same", "1", "/tmp/same", "2");
        assertThat(refused.statusCode()).isEqualTo(400);
        assertThat(json(refused).path("message").asString())
                .isEqualTo("you cannot upload multiple files to the same path '/tmp/same' in one upload request, "
                        + "only the first specified file was uploaded");
        assertThat(text(sandbox.get("/files?path=/tmp/same"))).isEqualTo("1");
        assertThat(form("?path=/tmp/given", "a", "1", "b", "2").statusCode()).isEqualTo(400);
    }

    @Test
    void saysWhatIsWrongWithAFile() {
        assertThat(text(sandbox.get("/files?path=/nope")))
                .isEqualTo("{\"code\":404,\"message\":\"path '/nope' does not exist\"}");
        assertThat(json(sandbox.get("/files?path=/tmp")).path("message").asString())
                .isEqualTo("path '/tmp' is a directory");
        assertThat(sandbox.get("/files?path=/tmp").statusCode()).isEqualTo(400);
        assertThat(sandbox.get("/files?path=/etc/passwd&username=nobody-here").statusCode())
                .isEqualTo(401);
        assertThat(sandbox.write("/tmp", "x").statusCode()).isEqualTo(400);
        assertThat(sandbox.write("/etc/passwd/below", "x").statusCode()).isEqualTo(400);
        HttpRequest.Builder json = sandbox.request("/files?path=/tmp/x")
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString("{}"));
        assertThat(sandbox.send(json).statusCode()).isEqualTo(400);
        HttpRequest.Builder nowhere = sandbox.request("/files")
                .header("Content-Type", "application/octet-stream")
                .POST(BodyPublishers.ofString("x"));
        assertThat(sandbox.send(nowhere).statusCode()).isEqualTo(400);
    }

    @Test
    void saysThatTheDiskIsFull() {
        SessionKey session = SessionKey.of("acme", sandbox.id);
        berth.sessions().limit(session, berth.sessions().spec().limits().withDisk(16 << 20));
        HttpResponse<byte[]> refused = sandbox.send(sandbox.request("/files?path=/tmp/large")
                .header("Content-Type", "application/octet-stream")
                .POST(BodyPublishers.ofInputStream(() -> new RandomStream(64 << 20))));
        assertThat(refused.statusCode()).as(text(refused)).isEqualTo(507);
        assertThat(json(refused).path("message").asString()).startsWith("not enough disk space available");
        assertThat(sandbox.get("/files?path=/tmp/large").statusCode()).isEqualTo(404);
    }

    /** Bytes that nothing makes smaller. */
    private static final class RandomStream extends InputStream {
        private final Random random = new Random(8);
        private int left;

        RandomStream(int size) {
            this.left = size;
        }

        @Override
        public int read() {
            throw new UnsupportedOperationException("one byte at a time takes too long");
        }

        @Override
        public int read(byte[] bytes, int offset, int length) {
            if (left <= 0) {
                return -1;
            }
            byte[] chunk = new byte[Math.min(left, length)];
            random.nextBytes(chunk);
            System.arraycopy(chunk, 0, bytes, offset, chunk.length);
            left -= chunk.length;
            return chunk.length;
        }
    }

    @Test
    void whatIsWrittenBelongsToWhoWroteIt() {
        sandbox.run("true");
        sandbox.write("/new/deep/file", "x");
        assertThat(sandbox.run("stat -c '%U %a' /new /new/deep /new/deep/file"))
                .isEqualTo("user 755\nuser 755\nuser 644\n");
        sandbox.send(sandbox.request("/files?path=/new/deep/file&username=root")
                .header("Content-Type", "application/octet-stream")
                .POST(BodyPublishers.ofString("y")));
        assertThat(sandbox.run("stat -c %U /new/deep/file")).isEqualTo("root\n");
    }

    @Test
    void keepsWhatIsSaidOfAFile() {
        HttpResponse<byte[]> written = sandbox.write("/tmp/m", "x", "X-Metadata-Author", "me", "X-Metadata-k", "v 1");
        assertThat(json(written).path(0).path("metadata").toString()).isEqualTo("{\"author\":\"me\",\"k\":\"v 1\"}");
        JsonNode entry = json(sandbox.rpc("filesystem.Filesystem/Stat", "{\"path\":\"/tmp/m\"}"))
                .path("entry");
        assertThat(entry.path("metadata").path("author").asString()).isEqualTo("me");
        assertThat(entry.path("size").asString()).isEqualTo("1");
        assertThat(entry.path("permissions").asString()).isEqualTo("-rw-r--r--");
        sandbox.write("/tmp/m", "y");
        assertThat(json(sandbox.rpc("filesystem.Filesystem/Stat", "{\"path\":\"/tmp/m\"}"))
                        .path("entry")
                        .has("metadata"))
                .isFalse();
        assertThat(sandbox.write("/tmp/m", "x", "X-Metadata-" + "k".repeat(247), "v")
                        .statusCode())
                .isEqualTo(400);
        assertThat(sandbox.write("/tmp/m", "x", "X-Metadata-k", "v".repeat(4096))
                        .statusCode())
                .isEqualTo(400);
    }

    @Test
    void makesOneFileOfSeveral() {
        sandbox.write("/tmp/p1", "one ");
        sandbox.write("/tmp/p2", "two");
        HttpResponse<byte[]> composed =
                compose("{\"source_paths\":[\"/tmp/p1\",\"/tmp/p2\"],\"destination\":\"/out/all\"}");
        assertThat(text(composed)).isEqualTo("{\"path\":\"/out/all\",\"name\":\"all\",\"type\":\"file\"}");
        assertThat(text(sandbox.get("/files?path=/out/all"))).isEqualTo("one two");
        assertThat(sandbox.get("/files?path=/tmp/p1").statusCode()).isEqualTo(404);
        assertThat(compose("{\"source_paths\":[],\"destination\":\"/out/x\"}").statusCode())
                .isEqualTo(400);
        assertThat(compose("{\"source_paths\":[\"/out/all\"]}").statusCode()).isEqualTo(400);
        assertThat(compose("{\"source_paths\":[\"/nope\"],\"destination\":\"/out/x\"}")
                        .statusCode())
                .isEqualTo(404);
        assertThat(compose("{\"source_paths\":[\"/out/all\"],\"destination\":\"/out/./all\"}")
                        .statusCode())
                .isEqualTo(400);
        assertThat(compose("{\"source_paths\":[\"/tmp\"],\"destination\":\"/out/x\"}")
                        .statusCode())
                .isEqualTo(400);
        assertThat(text(sandbox.get("/files?path=/out/all"))).isEqualTo("one two");
    }

    private HttpResponse<byte[]> compose(String json) {
        return sandbox.send(sandbox.request("/files/compose")
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString(json)));
    }

    @Test
    void isWatchedByClientsThatAsk() {
        String id = json(sandbox.rpc("filesystem.Filesystem/CreateWatcher", "{\"path\":\"/tmp\",\"recursive\":true}"))
                .path("watcherId")
                .asString();
        assertThat(id).startsWith("w");
        sandbox.write("/tmp/seen", "x");
        List<String> events = new ArrayList<>();
        until(() -> {
            json(sandbox.rpc("filesystem.Filesystem/GetWatcherEvents", "{\"watcherId\":\"" + id + "\"}"))
                    .path("events")
                    .forEach(event -> events.add(event.path("type").asString() + " "
                            + event.path("name").asString()));
            return events.contains("EVENT_TYPE_WRITE seen");
        });
        assertThat(events).startsWith("EVENT_TYPE_CREATE seen");
        try (SandboxClient other = SandboxClient.create(berth, key)) {
            assertThat(other.rpc("filesystem.Filesystem/RemoveWatcher", "{\"watcherId\":\"" + id + "\"}")
                            .statusCode())
                    .isEqualTo(404);
            other.api("DELETE", "/sandboxes/" + other.id, "");
        }
        assertThat(sandbox.rpc("filesystem.Filesystem/RemoveWatcher", "{\"watcher_id\":\"" + id + "\"}")
                        .statusCode())
                .isEqualTo(200);
        assertThat(sandbox.rpc("filesystem.Filesystem/GetWatcherEvents", "{\"watcherId\":\"" + id + "\"}")
                        .statusCode())
                .isEqualTo(404);
    }

    @Test
    void hasABoundedNumberOfWatchersOfEitherKind() {
        List<SandboxClient.Stream> streams = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            streams.add(sandbox.stream("filesystem.Filesystem/WatchDir", "{\"path\":\"/tmp\"}"));
            assertThat(streams.getLast().next().has("start")).isTrue();
        }
        int made = streams.size();
        String last = "";
        HttpResponse<byte[]> answer = sandbox.rpc("filesystem.Filesystem/CreateWatcher", "{\"path\":\"/tmp\"}");
        while (answer.statusCode() == 200) {
            made++;
            assertThat(made).isLessThanOrEqualTo(64);
            last = json(answer).path("watcherId").asString();
            answer = sandbox.rpc("filesystem.Filesystem/CreateWatcher", "{\"path\":\"/tmp\"}");
        }
        assertThat(made).isEqualTo(64);
        try (SandboxClient.Stream refused = sandbox.stream("filesystem.Filesystem/WatchDir", "{\"path\":\"/tmp\"}")) {
            assertThat(refused.error()).isEqualTo("resource_exhausted");
        }
        sandbox.rpc("filesystem.Filesystem/RemoveWatcher", "{\"watcherId\":\"" + last + "\"}");
        try (SandboxClient.Stream again = sandbox.stream("filesystem.Filesystem/WatchDir", "{\"path\":\"/tmp\"}")) {
            assertThat(again.next().has("start")).isTrue();
        }
        streams.forEach(SandboxClient.Stream::close);
    }

    @Test
    void ofAnEmptyFileEveryRangeIsTheWhole() {
        sandbox.write("/tmp/empty", "");
        HttpResponse<byte[]> whole = sandbox.get("/files?path=/tmp/empty", "Range", "bytes=0-9");
        assertThat(whole.statusCode()).isEqualTo(200);
        assertThat(header(whole, "Content-Length")).isEqualTo("0");
    }

    @Test
    void isSentOnlyIfItIsAsTheClientKnowsIt() {
        sandbox.write("/tmp/known", "known");
        HttpResponse<byte[]> first = sandbox.get("/files?path=/tmp/known", "Range", "bytes=0-9");
        String tag = header(first, "ETag");
        HttpResponse<byte[]> same = sandbox.get("/files?path=/tmp/known", "If-None-Match", tag);
        assertThat(same.statusCode()).isEqualTo(304);
        assertThat(same.headers().firstValue("Content-Length")).isEmpty();
        assertThat(sandbox.get("/files?path=/tmp/known", "If-Match", tag).statusCode())
                .isEqualTo(200);
        assertThat(sandbox.get("/files?path=/tmp/known", "If-Match", "\"other\"")
                        .statusCode())
                .isEqualTo(412);
        assertThat(sandbox.get("/files?path=/tmp/known", "If-Unmodified-Since", "Thu, 01 Jan 2004 00:00:00 GMT")
                        .statusCode())
                .isEqualTo(412);
    }

    // ---- signed addresses ----------------------------------------------------------------------------------------

    private String signed(String path, String operation, String expires) throws Exception {
        String raw = path + ":" + operation + "::" + sandbox.token + (expires.isEmpty() ? "" : ":" + expires);
        byte[] hash = MessageDigest.getInstance("SHA-256").digest(raw.getBytes(UTF_8));
        String signature = "v1_" + Base64.getEncoder().withoutPadding().encodeToString(hash);
        return berth.url() + "/files?path=" + URLEncoder.encode(path, UTF_8) + "&signature="
                + URLEncoder.encode(signature, UTF_8)
                + (expires.isEmpty() ? "" : "&signature_expiration=" + expires);
    }

    private HttpResponse<byte[]> get(String address) {
        return sandbox.send(HttpRequest.newBuilder(URI.create(address)));
    }

    @Test
    void aSignedAddressIsEnoughForItsFile() throws Exception {
        sandbox.write("/tmp/s", "signed");
        HttpResponse<byte[]> found = get(signed("/tmp/s", "read", ""));
        assertThat(text(found)).isEqualTo("signed");
        assertThat(header(found, "Content-Security-Policy")).isEqualTo("sandbox");
        long soon = Instant.now().getEpochSecond() + 60;
        assertThat(text(get(signed("/tmp/s", "read", Long.toString(soon))))).isEqualTo("signed");
        HttpResponse<byte[]> late = get(signed("/tmp/s", "read", Long.toString(soon - 120)));
        assertThat(late.statusCode()).isEqualTo(401);
        assertThat(text(late)).isEqualTo("{\"code\":401,\"message\":\"signature is already expired\"}");
        assertThat(get(signed("/tmp/s", "write", "")).statusCode()).isEqualTo(401);
        assertThat(get(signed("/tmp/s", "read", "").replace("%2Fs", "%2Ft")).statusCode())
                .isEqualTo(401);
        assertThat(get(berth.url() + "/files?path=/tmp/s").statusCode()).isEqualTo(401);
        HttpRequest.Builder upload = HttpRequest.newBuilder(URI.create(signed("/tmp/u", "write", "")))
                .header("Content-Type", "application/octet-stream")
                .POST(BodyPublishers.ofString("uploaded"));
        assertThat(sandbox.send(upload).statusCode()).isEqualTo(200);
        assertThat(text(sandbox.get("/files?path=/tmp/u"))).isEqualTo("uploaded");
    }

    @Test
    void aSignedAddressIsFoundHoweverManyAskForWhatNobodySigned() throws Exception {
        sandbox.write("/tmp/s", "signed");
        String nobodys = berth.url() + "/files?path=/tmp/s&signature=v1_" + "A".repeat(43);
        try (HttpClient crowd =
                HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build()) {
            List<CompletableFuture<HttpResponse<String>>> asked = new ArrayList<>();
            for (int i = 0; i < 250; i++) {
                asked.add(crowd.sendAsync(
                        HttpRequest.newBuilder(URI.create(nobodys)).build(), HttpResponse.BodyHandlers.ofString()));
            }
            until(() -> asked.stream().anyMatch(CompletableFuture::isDone));
            assertThat(text(get(signed("/tmp/s", "read", "")))).isEqualTo("signed");
            assertThat(asked)
                    .allSatisfy(answer -> assertThat(answer.get().statusCode()).isIn(401, 429));
        }
    }

    /** A server that has just started knows nothing of who was used before. */
    @Test
    void aSignedAddressIsFoundByAServerThatHasNeverSeenTheSandbox() throws Exception {
        sandbox.write("/tmp/s", "signed");
        berth.restart();
        assertThat(text(get(signed("/tmp/s", "read", "")))).isEqualTo("signed");
    }

    @Test
    void aSignedAddressWakesNobody() throws Exception {
        try (SandboxClient sleeper = SandboxClient.create(
                berth,
                key,
                "{\"templateID\":\"host\",\"autoPause\":true,\"autoResume\":{\"enabled\":true},"
                        + "\"allow_internet_access\":false}")) {
            assertThat(sleeper.get("/health").statusCode()).isEqualTo(204);
            assertThat(sleeper.api("POST", "/sandboxes/" + sleeper.id + "/pause", "{}")
                            .statusCode())
                    .isEqualTo(204);
            assertThat(sleeper.send(sleeper.open("/health")).statusCode()).isEqualTo(403);
            assertThat(sleeper.send(sleeper.open("/files?path=/etc/passwd&signature=v1_x"))
                            .statusCode())
                    .isEqualTo(403);
            assertThat(json(sleeper.api("GET", "/sandboxes/" + sleeper.id, ""))
                            .path("state")
                            .asString())
                    .isEqualTo("paused");
            assertThat(sleeper.get("/health").statusCode()).isEqualTo(204);
            assertThat(json(sleeper.api("GET", "/sandboxes/" + sleeper.id, ""))
                            .path("state")
                            .asString())
                    .isEqualTo("running");
            sleeper.api("DELETE", "/sandboxes/" + sleeper.id, "");
        }
    }
}
