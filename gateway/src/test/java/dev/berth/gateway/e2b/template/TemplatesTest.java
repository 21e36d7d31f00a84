package dev.berth.gateway.e2b.template;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.berth.gateway.TestingBerth;
import dev.berth.gateway.e2b.E2bError;
import dev.berth.gateway.e2b.TemplateNames;
import dev.berth.session.SessionKey;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Templates of tenants, as E2B's clients ask for them, over HTTP. Needs root and crun. */
@TestInstance(Lifecycle.PER_CLASS)
@Timeout(300)
final class TemplatesTest {
    private static final JsonMapper JSON = JsonMapper.builder().build();

    /** Of this run alone: the steps of builds are cached where other runs have theirs too. */
    private static final String SENT = "what was sent " + UUID.randomUUID();

    private static final byte[] TAR = tar("file.txt", SENT);

    private final HttpClient http = HttpClient.newHttpClient();
    private TestingBerth berth;
    private String ann = "";
    private String bob = "";

    @BeforeAll
    void start() {
        berth = new TestingBerth();
        ann = berth.tenant("ann");
        bob = berth.tenant("bob");
    }

    /** Templates are kept where other tests have theirs too. */
    @AfterAll
    void stop() {
        TemplateCatalog catalog = catalog();
        for (String tenant : List.of("ann", "bob")) {
            catalog.list(tenant).forEach(catalog::delete);
        }
        berth.close();
    }

    private record Reply(int status, JsonNode json, String next) {}

    private Reply call(String key, String method, String path, Object body) throws IOException, InterruptedException {
        HttpResponse<String> answer = http.send(
                HttpRequest.newBuilder(URI.create(berth.url() + path))
                        .header("X-API-Key", key)
                        .header("Content-Type", "application/json")
                        .method(
                                method,
                                body.equals("")
                                        ? HttpRequest.BodyPublishers.noBody()
                                        : HttpRequest.BodyPublishers.ofByteArray(JSON.writeValueAsBytes(body)))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
        return new Reply(
                answer.statusCode(),
                JSON.readTree(answer.body().isEmpty() ? "null" : answer.body()),
                answer.headers().firstValue("X-Next-Token").orElse(""));
    }

    private Reply get(String key, String path) throws IOException, InterruptedException {
        return call(key, "GET", path, "");
    }

    private Reply request(String key, String name, Object... more) throws IOException, InterruptedException {
        Map<String, Object> body = new java.util.HashMap<>(Map.of("name", name));
        for (int i = 0; i < more.length; i += 2) {
            body.put((String) more[i], more[i + 1]);
        }
        return call(key, "POST", "/v3/templates", body);
    }

    private static Map<String, Object> run(String command) {
        return Map.of("type", "RUN", "args", List.of(command), "force", false);
    }

    /** Asks for it, says what it is, and waits until it is done; the lines that it told. */
    private List<String> build(String key, JsonNode requested, String wanted, Map<String, Object> spec)
            throws IOException, InterruptedException {
        String path = requested.path("templateID").asString() + "/builds/"
                + requested.path("buildID").asString();
        assertThat(call(key, "POST", "/v2/templates/" + path, spec).status()).isEqualTo(202);
        List<String> lines = new ArrayList<>();
        while (true) {
            JsonNode status = get(key, "/templates/" + path + "/status?logsOffset=" + lines.size())
                    .json();
            status.path("logEntries")
                    .forEach(line -> lines.add(line.path("message").asString()));
            String now = status.path("status").asString();
            if ((now.equals("ready") || now.equals("error"))
                    && status.path("logEntries").isEmpty()) {
                assertThat(now).as("%s", lines).isEqualTo(wanted);
                return lines;
            }
            Thread.sleep(50);
        }
    }

    private Map<String, Object> spec(Object... steps) {
        return Map.of("fromTemplate", "host", "steps", List.of(steps), "force", false);
    }

    private TemplateNames names() {
        return catalog();
    }

    private TemplateCatalog catalog() {
        return new TemplateCatalog(berth.machine().provider().templates(), berth.database(), new SecureRandom());
    }

    @Test
    void buildsWhatWasSentAndSandboxesStartFromIt() throws Exception {
        JsonNode requested =
                request(ann, "My-App", "cpuCount", 1, "memoryMB", 256).json();
        String id = requested.path("templateID").asString();
        assertThat(id).matches("[a-z0-9]{20}");
        assertThat(requested.path("tags").get(0).asString()).isEqualTo("default");
        assertThat(requested.path("names").get(0).asString()).isEqualTo("ann/my-app");

        String hash = "a".repeat(64);
        JsonNode upload = get(ann, "/templates/" + id + "/files/" + hash).json();
        assertThat(upload.path("present").asBoolean()).isFalse();
        URI to = URI.create(upload.path("url").asString());
        assertThat(put(to, TAR)).isEqualTo(200);
        assertThat(put(URI.create(to.toString().replace(hash, "b".repeat(64))), TAR))
                .isEqualTo(403);
        assertThat(get(ann, "/templates/" + id + "/files/" + hash)
                        .json()
                        .path("present")
                        .asBoolean())
                .isTrue();

        List<String> lines = build(
                ann,
                requested,
                "ready",
                spec(
                        Map.of("type", "COPY", "args", List.of("file.txt", "sent.txt", "", ""), "filesHash", hash),
                        run("cat sent.txt")));

        assertThat(lines).contains(SENT);
        TemplateNames.Named named = names().resolve("ann", "my-app");
        assertThat(named.template()).isEqualTo("t-" + id + ":1");
        assertThat(named.cpus()).hasValue(1);
        assertThat(named.memoryBytes()).hasValue(256L << 20);
        assertThat(names().resolve("ann", "ann/My-App:default").id()).isEqualTo(id);
        assertThat(names().resolve("ann", id).alias()).contains("my-app");

        Reply sandbox = call(ann, "POST", "/v2/sandboxes", Map.of("templateID", "my-app"));
        assertThat(sandbox.status()).as("%s", sandbox.json()).isEqualTo(201);
        JsonNode template = get(ann, "/templates/" + id).json();
        assertThat(template.path("spawnCount").asInt()).isEqualTo(1);
        assertThat(template.path("builds").get(0).path("status").asString()).isEqualTo("ready");

        // While a sandbox stands on it, its name goes and its files stay.
        assertThat(call(ann, "DELETE", "/templates/" + id, "").status()).isEqualTo(204);
        assertThat(get(ann, "/templates/aliases/my-app").status()).isEqualTo(404);
        assertThat(berth.machine().provider().templates().find("t-" + id)).isPresent();
        String sandboxId = sandbox.json().path("sandboxID").asString();
        assertThat(call(ann, "DELETE", "/sandboxes/" + sandboxId, "").status()).isEqualTo(204);
        catalog().sweep();
        assertThat(berth.machine().provider().templates().find("t-" + id)).isEmpty();
    }

    private int put(URI to, byte[] content) throws IOException, InterruptedException {
        return http.send(
                        HttpRequest.newBuilder(to)
                                .PUT(HttpRequest.BodyPublishers.ofByteArray(content))
                                .build(),
                        HttpResponse.BodyHandlers.discarding())
                .statusCode();
    }

    @Test
    void aFailedStepIsToldWithItsNumber() throws Exception {
        JsonNode requested = request(ann, "failing").json();
        List<String> lines = build(ann, requested, "error", spec(run("true"), run("echo alas; exit 7")));

        assertThat(lines).contains("alas");
        JsonNode status = get(
                        ann,
                        "/templates/" + requested.path("templateID").asString() + "/builds/"
                                + requested.path("buildID").asString() + "/status")
                .json();
        assertThat(status.path("reason").path("step").asString()).isEqualTo("2");
        assertThat(status.path("reason").path("message").asString()).contains("status 7");
        assertThatExceptionOfType(E2bError.class)
                .isThrownBy(() -> names().resolve("ann", "failing"))
                .withMessageContaining("build it first");
    }

    @Test
    void whatNoTextOfADatabaseHoldsIsLeftOutOfAReason() throws Exception {
        JsonNode requested = request(ann, "with-nul").json();
        List<String> lines = build(ann, requested, "error", spec(run("printf 'a\\0b\\n'; exit 9")));
        assertThat(lines).contains("ab");
    }

    @Test
    void aBuildThatNoTagNamesAnyMoreIsRemovedAfterAWhile() throws Exception {
        JsonNode first = request(ann, "renewed").json();
        build(ann, first, "ready", spec(run("echo " + SENT + " 1 > one")));
        JsonNode second = request(ann, "renewed").json();
        build(ann, second, "ready", spec(run("echo " + SENT + " 2 > two")));
        String root = "t-" + first.path("templateID").asString();
        catalog().sweep();
        assertThat(berth.machine().provider().templates().find(root + ":1")).isPresent();

        int _ = berth.database()
                .query(handle -> handle.createUpdate(
                                "UPDATE template_builds SET finished_at = now() - interval '2 hours' WHERE template = :id")
                        .bind("id", first.path("templateID").asString())
                        .execute());
        catalog().sweep();
        assertThat(berth.machine().provider().templates().find(root + ":1")).isEmpty();
        assertThat(berth.machine().provider().templates().find(root + ":2")).isPresent();
        assertThat(names().resolve("ann", "renewed").template()).isEqualTo(root + ":2");
    }

    @Test
    void theNativeApiStartsNothingFromWhatIsAnothers() throws Exception {
        JsonNode requested = request(ann, "of-ann").json();
        build(ann, requested, "ready", spec(run("true")));
        String root = "t-" + requested.path("templateID").asString();

        TestingBerth.Reply refused =
                berth.post(bob, "/v1/sessions", "{\"session_id\":\"s\",\"template\":\"" + root + ":1\"}");
        assertThat(refused.status()).as(refused.body()).isEqualTo(404);
        assertThat(berth.sessions().find(SessionKey.of("bob", "s"))).isEmpty();
        TestingBerth.Reply made =
                berth.post(ann, "/v1/sessions", "{\"session_id\":\"s\",\"template\":\"" + root + "\"}");
        assertThat(made.status()).as(made.body()).isEqualTo(201);
        berth.sessions().delete(SessionKey.of("ann", "s"));
    }

    @Test
    void tagsAreNamesForBuilds() throws Exception {
        JsonNode first = request(ann, "tagged:v1").json();
        build(ann, first, "ready", spec(run("echo 1 > one")));
        JsonNode second =
                request(ann, "tagged", "tags", List.of("v2", "default")).json();
        build(ann, second, "ready", spec(run("echo 2 > two")));
        String id = first.path("templateID").asString();
        assertThat(second.path("templateID").asString()).isEqualTo(id);

        assertThat(names().resolve("ann", "tagged:v1").template()).isEqualTo("t-" + id + ":1");
        assertThat(names().resolve("ann", "tagged").template()).isEqualTo("t-" + id + ":2");
        Reply assigned = call(ann, "POST", "/templates/tags", Map.of("target", "tagged:v1", "tags", List.of("stable")));
        assertThat(assigned.status()).isEqualTo(201);
        assertThat(assigned.json().path("buildID")).isEqualTo(first.path("buildID"));
        assertThat(names().resolve("ann", "tagged:stable").template()).isEqualTo("t-" + id + ":1");
        assertThat(get(ann, "/templates/" + id + "/tags").json()).hasSize(4);
        assertThat(call(ann, "DELETE", "/templates/tags", Map.of("name", "tagged", "tags", List.of("v1", "stable")))
                        .status())
                .isEqualTo(204);
        assertThatExceptionOfType(E2bError.class).isThrownBy(() -> names().resolve("ann", "tagged:v1"));
    }

    @Test
    void nobodySeesWhatIsAnothers() throws Exception {
        JsonNode requested = request(ann, "hidden").json();
        build(ann, requested, "ready", spec(run("true")));
        String id = requested.path("templateID").asString();
        String build = requested.path("buildID").asString();

        for (String path : List.of(
                "/templates/" + id,
                "/templates/" + id + "/tags",
                "/templates/" + id + "/files/" + "a".repeat(64),
                "/templates/" + id + "/builds/" + build + "/status",
                "/templates/" + id + "/builds/" + build + "/logs",
                "/templates/aliases/hidden",
                "/templates/aliases/" + id,
                "/templates/aliases/ann%2Fhidden")) {
            assertThat(get(bob, path).status()).as(path).isEqualTo(404);
        }
        assertThat(call(bob, "DELETE", "/templates/" + id, "").status()).isEqualTo(404);
        assertThat(call(bob, "PATCH", "/v2/templates/" + id, Map.of("public", true))
                        .status())
                .isEqualTo(404);
        assertThat(get(bob, "/templates").json().toString()).doesNotContain(id);
        assertThatExceptionOfType(E2bError.class).isThrownBy(() -> names().resolve("bob", "ann/hidden"));
        // The name is not taken by that: a tenant's names are its own.
        assertThat(request(bob, "hidden").json().path("templateID").asString()).isNotEqualTo(id);
        assertThat(request(bob, "ann/other").status()).isEqualTo(400);

        assertThat(call(ann, "PATCH", "/v2/templates/" + id, Map.of("public", true))
                        .status())
                .isEqualTo(200);
        assertThat(names().resolve("bob", "ann/hidden").id()).isEqualTo(id);
        assertThat(get(bob, "/templates/aliases/ann%2Fhidden").status()).isEqualTo(403);
        assertThat(call(bob, "DELETE", "/templates/" + id, "").status()).isEqualTo(404);
    }

    @Test
    void whatTheOperatorBuiltIsForEverybodyAndWhatHeDidNotIsNamed() throws Exception {
        TemplateNames.Named host = names().resolve("ann", "host");
        assertThat(host.template()).isEqualTo("host");
        assertThat(host.id()).isEqualTo("host");
        assertThat(get(ann, "/templates/aliases/host").status()).isEqualTo(403);
        assertThat(get(ann, "/templates").json().toString()).contains("\"templateID\":\"host\"");
        assertThat(request(ann, "on-the-second-page").status()).isEqualTo(202);
        Reply page = get(ann, "/v2/templates?limit=1");
        assertThat(page.json()).hasSize(1);
        assertThat(page.next()).isNotEmpty();
        assertThat(names().resolve("ann", "host").cpus()).isEmpty();

        Map<String, String> unbuilt = Map.of("agent", "berth template build agent");
        if (berth.machine().provider().templates().find("agent").isEmpty()) {
            assertThatExceptionOfType(E2bError.class)
                    .isThrownBy(() -> names().resolve("ann", "agent"))
                    .withMessageContaining(unbuilt.get("agent"));
        }
        for (String wrong : List.of("nothing", "t-" + "a".repeat(20), "../etc", "a b", "host:latest", "")) {
            assertThatExceptionOfType(E2bError.class).as(wrong).isThrownBy(() -> names().resolve("ann", wrong));
        }
    }

    @Test
    void aBuildThatNoServerWorksAtHasFailed() throws Exception {
        JsonNode requested = request(ann, "lost").json();
        UUID build = UUID.fromString(requested.path("buildID").asString());
        BuildTable table = new BuildTable(berth.database());
        assertThat(table.begin(build)).isTrue();
        int _ = berth.database()
                .query(handle -> handle.createUpdate(
                                "UPDATE template_builds SET updated_at = now() - interval '1 minute' WHERE id = :id")
                        .bind("id", build)
                        .execute());
        String path = "/templates/" + requested.path("templateID").asString() + "/builds/" + build + "/status";
        while (!get(ann, path).json().path("status").asString().equals("error")) {
            Thread.sleep(50);
        }

        assertThat(get(ann, path).json().path("reason").path("message").asString())
                .contains("was stopped");
    }

    @Test
    void refusesWhatMakesNoSense() throws Exception {
        assertThat(request(ann, "no such name!").status()).isEqualTo(400);
        assertThat(request(ann, "x", "cpuCount", 0).status()).isEqualTo(400);
        assertThat(request(ann, "x", "memoryMB", "much").status()).isEqualTo(400);
        JsonNode requested = request(ann, "nonsense").json();
        String path = "/v2/templates/" + requested.path("templateID").asString() + "/builds/"
                + requested.path("buildID").asString();
        assertThat(call(ann, "POST", path, Map.of("steps", List.of())).status()).isEqualTo(400);
        assertThat(call(ann, "POST", path, Map.of("fromTemplate", "host", "fromImage", "debian"))
                        .status())
                .isEqualTo(400);
        assertThat(call(ann, "POST", path, spec(Map.of("type", "VOLUME", "args", List.of("/x"))))
                        .status())
                .isEqualTo(400);
        Map<String, Object> copy = Map.of("type", "COPY", "args", List.of("a", "b"), "filesHash", "c".repeat(64));
        assertThat(call(ann, "POST", path, spec(copy)).json().path("message").asString())
                .contains("upload them first");
    }

    private static byte[] tar(String name, String content) {
        byte[] header = new byte[512];
        byte[] bytes = content.getBytes(java.nio.charset.StandardCharsets.UTF_8);
        put(header, 0, name);
        put(header, 100, "0000644");
        put(header, 124, "%011o".formatted(bytes.length));
        put(header, 148, "        ");
        header[156] = '0';
        put(header, 257, "ustar");
        int sum = 0;
        for (byte b : header) {
            sum += b & 0xff;
        }
        put(header, 148, "%06o".formatted(sum));
        java.io.ByteArrayOutputStream out = new java.io.ByteArrayOutputStream();
        out.writeBytes(header);
        out.writeBytes(bytes);
        out.writeBytes(new byte[(-bytes.length & 511) + 1024]);
        return out.toByteArray();
    }

    private static void put(byte[] header, int at, String text) {
        byte[] bytes = text.getBytes(java.nio.charset.StandardCharsets.UTF_8);
        System.arraycopy(bytes, 0, header, at, bytes.length);
    }
}
