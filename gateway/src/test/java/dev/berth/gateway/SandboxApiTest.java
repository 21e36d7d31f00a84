package dev.berth.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.gateway.TestingBerth.Reply;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;

/** Running code and working with files over HTTP. Needs root, crun, python3 and ripgrep. */
class SandboxApiTest {
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

    private static JsonNode call(String path, String body) {
        Reply reply = berth.post(acme, "/v1/sandbox/" + path, body);
        assertThat(reply.status()).as(reply.body()).isEqualTo(200);
        return reply.json();
    }

    private static JsonNode tool(String name, String body) {
        Reply reply = berth.post(acme, "/v1/tools/" + name, body);
        assertThat(reply.status()).as(reply.body()).isEqualTo(200);
        return reply.json();
    }

    @Test
    void theSeedsExampleWorksWordForWord() {
        Reply reply = berth.post(TestingBerth.ADMIN, "/v1/sandbox/execute", """
                {
                "code": "print(42)",
                "language": "python",
                "tenant_id": "default",
                "session_id": "s1"
                }""");
        assertThat(reply.status()).as(reply.body()).isEqualTo(200);
        assertThat(reply.json().path("success").asBoolean()).isTrue();
        assertThat(reply.json().path("stdout").asString()).isEqualTo("42\n");
    }

    @Test
    void codeHasAResultAndMayKeepItsState() {
        JsonNode first = call("execute", "{\"session_id\":\"state\",\"code\":\"x = 20\\nx + 1\",\"stateful\":true}");
        assertThat(first.path("result").asString()).isEqualTo("21");
        JsonNode second = call("execute", "{\"session_id\":\"state\",\"code\":\"x * 2\",\"stateful\":true}");
        assertThat(second.path("result").asString()).isEqualTo("40");
        JsonNode fresh = call("execute", "{\"session_id\":\"state\",\"code\":\"x\"}");
        assertThat(fresh.path("success").asBoolean()).isFalse();
        assertThat(fresh.path("stderr").asString()).contains("NameError");
    }

    @Test
    void aCommandSeesWhatTheOneBeforeLeft() {
        call("bash", "{\"session_id\":\"kept\",\"command\":\"echo hello > file; mkdir -p d\"}");
        JsonNode seen = call("bash", "{\"session_id\":\"kept\",\"command\":\"cat ../file; exit 3\",\"cwd\":\"d\"}");
        assertThat(seen.path("stdout").asString()).isEqualTo("hello\n");
        assertThat(seen.path("exit_code").asInt()).isEqualTo(3);
        assertThat(seen.path("success").asBoolean()).isFalse();
    }

    @Test
    void whatRanOutOfTimeHasItsPartialOutput() {
        JsonNode result =
                call("bash", "{\"session_id\":\"slow\",\"command\":\"echo before; sleep 60\",\"timeout\":0.5}");
        assertThat(result.path("timed_out").asBoolean()).isTrue();
        assertThat(result.path("exit_code").asInt()).isEqualTo(124);
        assertThat(result.path("stdout").asString()).isEqualTo("before\n");
    }

    @Test
    void anOutputThatIsTooLongStaysReadableByItsId() {
        JsonNode result = call("bash", "{\"session_id\":\"long\",\"command\":\"seq 1 100000\"}");
        assertThat(result.path("truncated").asBoolean()).isTrue();
        assertThat(result.path("stdout").asString()).startsWith("1\n2\n").endsWith("99999\n100000\n");
        String id = result.path("output_id").asString();
        Reply whole = berth.get(acme, "/v1/sandbox/outputs/" + id + "?session_id=long&limit=8000000");
        assertThat(whole.body().lines().count()).isEqualTo(100_000);
        assertThat(whole.header("X-Total-Bytes")).isEqualTo("588895");
        assertThat(berth.get(rival, "/v1/sandbox/outputs/" + id + "?session_id=long")
                        .status())
                .isEqualTo(404);
        assertThat(berth.get(acme, "/v1/sandbox/outputs/" + id + "?session_id=other")
                        .status())
                .isEqualTo(404);
    }

    @Test
    void filesAreWrittenReadSearchedAndFound() {
        JsonNode written = call(
                "write", "{\"session_id\":\"files\",\"path\":\"src/a.txt\",\"content\":\"one\\ntwo TODO\\nthree\\n\"}");
        assertThat(written.path("created").asBoolean()).isTrue();
        JsonNode read = call("read", "{\"session_id\":\"files\",\"path\":\"src/a.txt\",\"offset\":2,\"limit\":1}");
        assertThat(read.path("content").asString()).isEqualTo("two TODO\n");
        assertThat(read.path("total_lines").asInt()).isEqualTo(3);
        assertThat(read.path("has_more").asBoolean()).isTrue();
        JsonNode found = call("grep", "{\"session_id\":\"files\",\"pattern\":\"TODO\",\"output_mode\":\"content\"}");
        assertThat(found.path("matches").path(0).path("path").asString()).isEqualTo("src/a.txt");
        assertThat(found.path("matches").path(0).path("line").asInt()).isEqualTo(2);
        JsonNode globbed = call("glob", "{\"session_id\":\"files\",\"pattern\":\"**/*.txt\"}");
        assertThat(globbed.path("files").path(0).path("path").asString()).isEqualTo("src/a.txt");
        String bytes = Base64.getEncoder().encodeToString(new byte[] {0, 1, 2, (byte) 255});
        call(
                "write",
                "{\"session_id\":\"files\",\"path\":\"b.bin\",\"encoding\":\"base64\",\"content\":\"" + bytes + "\"}");
        assertThat(call("read_binary", "{\"session_id\":\"files\",\"path\":\"b.bin\"}")
                        .path("content_base64")
                        .asString())
                .isEqualTo(bytes);
        Reply binary = berth.post(acme, "/v1/sandbox/read", "{\"session_id\":\"files\",\"path\":\"b.bin\"}");
        assertThat(binary.status()).isEqualTo(400);
        assertThat(binary.json().path("detail").asString()).contains("read_binary");
    }

    @ParameterizedTest
    @CsvSource({
        "read, path, /etc/passwd",
        "read, path, ../../etc/passwd",
        "read, path, out/passwd",
        "write, path, ../x",
        "write, path, out/x",
        "read_binary, path, out/passwd",
        "glob, path, ../..",
        "glob, path, out",
        "grep, path, ..",
        "grep, path, out",
        "grep, path, /etc",
        "bash, cwd, ../..",
        "read, path, a\\u0000b"
    })
    void nothingLeadsOutOfTheWorkspace(String operation, String field, String path) {
        call("bash", "{\"session_id\":\"hostile\",\"command\":\"ln -sfn /etc out\"}");
        String more = switch (operation) {
            case "write" -> ",\"content\":\"x\"";
            case "grep", "glob" -> ",\"pattern\":\"*\"";
            case "bash" -> ",\"command\":\"pwd\"";
            default -> "";
        };
        Reply reply = berth.post(
                acme,
                "/v1/sandbox/" + operation,
                "{\"session_id\":\"hostile\",\"" + field + "\":\"" + path + "\"" + more + "}");
        assertThat(reply.status()).as(reply.body()).isIn(400, 403);
        assertThat(reply.body()).doesNotContain("root:");
    }

    @Test
    void manyFilesAreCopiedAtOnceAsJsonAndAsTar() throws IOException {
        JsonNode json = berth.post(
                        acme,
                        "/v1/sandbox/sessions/acme/copied/copy",
                        "{\"files\":[{\"path\":\"a/run.sh\",\"content\":\"echo ran\",\"mode\":\"755\"},"
                                + "{\"path\":\"../evil\",\"content\":\"x\"}]}")
                .json();
        assertThat(json.path("written").asInt()).isEqualTo(1);
        assertThat(json.path("errors").path(0).path("path").asString()).isEqualTo("../evil");
        assertThat(call("bash", "{\"session_id\":\"copied\",\"command\":\"bash a/run.sh\"}")
                        .path("stdout")
                        .asString())
                .isEqualTo("ran\n");

        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (TarArchiveOutputStream tar = new TarArchiveOutputStream(bytes)) {
            byte[] content = "from tar".getBytes(StandardCharsets.UTF_8);
            for (String name : new String[] {"t/one.txt", "../escape.txt"}) {
                TarArchiveEntry entry = new TarArchiveEntry(name);
                entry.setSize(content.length);
                tar.putArchiveEntry(entry);
                tar.write(content);
                tar.closeArchiveEntry();
            }
        }
        Reply tarred =
                berth.send(HttpRequest.newBuilder(URI.create(berth.url() + "/v1/sandbox/sessions/acme/copied/copy"))
                        .header("Authorization", "Bearer " + acme)
                        .header("Content-Type", "application/x-tar")
                        .POST(HttpRequest.BodyPublishers.ofByteArray(bytes.toByteArray()))
                        .build());
        assertThat(tarred.status()).as(tarred.body()).isEqualTo(200);
        assertThat(tarred.json().path("written").asInt()).isEqualTo(1);
        assertThat(tarred.json().path("refused").asInt()).isEqualTo(1);
        assertThat(call("read", "{\"session_id\":\"copied\",\"path\":\"t/one.txt\"}")
                        .path("content")
                        .asString())
                .isEqualTo("from tar");
    }

    @Test
    void aFileOfAnySizeGoesInAndOutInConstantMemory() throws IOException, InterruptedException {
        long size = 600L << 20;
        URI file = URI.create(berth.url() + "/v1/sandbox/files?session_id=large&path=big/file.bin");
        Reply put = berth.send(HttpRequest.newBuilder(file)
                .header("Authorization", "Bearer " + acme)
                .header("Content-Type", "application/octet-stream")
                .PUT(HttpRequest.BodyPublishers.ofInputStream(() -> new Pattern(size)))
                .build());
        assertThat(put.status()).as(put.body()).isEqualTo(200);
        assertThat(put.json().path("bytes_written").asLong()).isEqualTo(size);
        HttpRequest get = HttpRequest.newBuilder(file)
                .header("Authorization", "Bearer " + acme)
                .build();
        try (HttpClient client = HttpClient.newHttpClient()) {
            var response = client.send(get, HttpResponse.BodyHandlers.ofInputStream());
            assertThat(response.headers().firstValueAsLong("Content-Length")).hasValue(size);
            try (InputStream body = response.body();
                    Pattern expected = new Pattern(size)) {
                byte[] buffer = new byte[1 << 16];
                long total = 0;
                for (int n = body.readNBytes(buffer, 0, buffer.length);
                        n > 0;
                        n = body.readNBytes(buffer, 0, buffer.length)) {
                    assertThat(Arrays.equals(buffer, 0, n, expected.readNBytes(n), 0, n))
                            .isTrue();
                    total += n;
                }
                assertThat(total).isEqualTo(size);
            }
        }
        assertThat(berth.get(acme, "/v1/sandbox/files?session_id=large&path=nothing")
                        .status())
                .isEqualTo(404);
        assertThat(berth.get(acme, "/v1/sandbox/files?session_id=large&path=../x")
                        .status())
                .isEqualTo(403);
        assertThat(berth.get(acme, "/v1/sandbox/files?session_id=large&path=big")
                        .status())
                .isEqualTo(400);
    }

    /** Bytes that depend on where they are. */
    private static final class Pattern extends InputStream {
        private final long size;
        private long position;

        Pattern(long size) {
            this.size = size;
        }

        @Override
        public int read() {
            return position == size ? -1 : ((int) ((position++ * 31) >> 7)) & 0xff;
        }

        @Override
        public int read(byte[] bytes, int offset, int length) {
            if (position == size) {
                return -1;
            }
            int n = (int) Math.min(length, size - position);
            for (int i = 0; i < n; i++) {
                bytes[offset + i] = (byte) read();
            }
            return n;
        }
    }

    // ---- tools for models ----------------------------------------------------------------------------------------

    @Test
    void definitionsAreWhatToolListsWant() {
        JsonNode anthropic = berth.get(acme, "/v1/tools").json().path("tools");
        assertThat(anthropic.findValuesAsString("name")).contains("bash", "read", "write", "edit", "glob", "grep");
        assertThat(anthropic.path(0).path("input_schema").path("type").asString())
                .isEqualTo("object");
        assertThat(anthropic.path(0).path("description").asString()).isNotEmpty();
        JsonNode openai =
                berth.get(acme, "/v1/tools?format=openai").json().path("tools").path(0);
        assertThat(openai.path("type").asString()).isEqualTo("function");
        assertThat(openai.path("function").path("parameters").path("properties").has("command"))
                .isTrue();
    }

    @Test
    void aModelWorksThroughTheTools() {
        tool("write", "{\"session_id\":\"model\",\"file_path\":\"/notes/a.txt\",\"content\":\"alpha\\nbeta\\n\"}");
        JsonNode edited = tool(
                "edit",
                "{\"session_id\":\"model\",\"file_path\":\"notes/a.txt\",\"old_string\":\"beta\",\"new_string\":\"$1 gamma\"}");
        assertThat(edited.path("ok").asBoolean()).as(edited.toString()).isTrue();
        assertThat(tool("read", "{\"session_id\":\"model\",\"file_path\":\"notes/a.txt\"}")
                        .path("stdout")
                        .asString())
                .isEqualTo("     1\talpha\n     2\t$1 gamma\n");
        assertThat(tool("glob", "{\"session_id\":\"model\",\"pattern\":\"**/*.txt\"}")
                        .path("stdout")
                        .asString())
                .isEqualTo("notes/a.txt\n");
        assertThat(tool("grep", "{\"session_id\":\"model\",\"pattern\":\"gamma\"}")
                        .path("stdout")
                        .asString())
                .isEqualTo("notes/a.txt\n");
        JsonNode changed = tool(
                "bash", "{\"session_id\":\"model\",\"command\":\"rm notes/a.txt; echo x > new\",\"changes\":true}");
        assertThat(changed.path("changes").toString()).contains("\"created\"", "/new", "\"deleted\"", "/notes/a.txt");
    }

    @Test
    void aModelsMistakeIsAnAnswerThatTellsWhatToDo() {
        tool("write", "{\"session_id\":\"mistakes\",\"file_path\":\"a.txt\",\"content\":\"x x\"}");
        JsonNode twice = tool(
                "edit",
                "{\"session_id\":\"mistakes\",\"file_path\":\"a.txt\",\"old_string\":\"x\",\"new_string\":\"y\"}");
        assertThat(twice.path("ok").asBoolean()).isFalse();
        assertThat(twice.path("error").path("message").asString()).contains("replace_all");
        JsonNode missing = tool("read", "{\"session_id\":\"mistakes\",\"file_path\":\"b.txt\"}");
        assertThat(missing.path("error").path("code").asString()).isEqualTo("not_found");
        JsonNode shape = tool("bash", "{\"session_id\":\"mistakes\",\"cmd\":\"ls\"}");
        assertThat(shape.path("error").path("code").asString()).isEqualTo("invalid");
        assertThat(shape.path("stderr").asString()).contains("command").contains("cmd");
        assertThat(berth.post(acme, "/v1/tools/nothing", "{\"session_id\":\"mistakes\"}")
                        .status())
                .isEqualTo(404);
    }

    @Test
    void aSkillIsPutIntoTheWorkspaceFreshAndCanBeRun() {
        String page = "---\\nname: greeter\\ndescription: Greets people.\\n---\\nRun scripts/greet.sh";
        Reply kept = berth.post(
                acme,
                "/v1/skills",
                "{\"files\":[{\"path\":\"SKILL.md\",\"content\":\"" + page + "\"},"
                        + "{\"path\":\"scripts/greet.sh\",\"content\":\"#!/bin/sh\\necho hello $1\\n\"}]}");
        assertThat(kept.status()).as(kept.body()).isEqualTo(201);
        assertThat(berth.get(acme, "/v1/skills").body()).contains("Greets people.");
        tool(
                "bash",
                "{\"session_id\":\"skilled\",\"command\":\"mkdir -p .claude/skills/greeter; echo x > .claude/skills/greeter/stale.md\"}");

        JsonNode loaded = tool("load_skill", "{\"session_id\":\"skilled\",\"path\":\"acme/greeter\"}");

        assertThat(loaded.path("stdout").asString()).contains(".claude/skills/greeter", "Run scripts/greet.sh");
        assertThat(tool(
                                "bash",
                                "{\"session_id\":\"skilled\",\"command\":\".agents/skills/greeter/scripts/greet.sh ann; ls .claude/skills/greeter\"}")
                        .path("stdout")
                        .asString())
                .isEqualTo("hello ann\nSKILL.md\nscripts\n");
        assertThat(berth.get(rival, "/v1/skills/greeter").status()).isEqualTo(404);
        assertThat(tool("load_skill", "{\"session_id\":\"skilled\",\"path\":\"nothing\"}")
                        .path("error")
                        .path("code")
                        .asString())
                .isEqualTo("not_found");
        assertThat(berth.delete(acme, "/v1/skills/greeter").status()).isEqualTo(204);
    }

    @Test
    void aBundleThatIsNoneIsRefusedWithAllThatIsWrong() {
        Reply refused = berth.post(acme, "/v1/skills", """
                {"files":[{"path":"../x.md","content":"x"},{"path":"a.exe","content":"x"},
                 {"path":"b.md","content_base64":"/w=="},{"path":"SKILL.md","content":"---\\nname: Bad Name\\n---\\n"}]}""");
        assertThat(refused.status()).isEqualTo(400);
        assertThat(refused.json().path("errors").size()).as(refused.body()).isEqualTo(5);
    }

    @Test
    void withoutASessionACommandHasAComputerOfItsOwn() {
        JsonNode once = tool("bash", "{\"command\":\"echo $HOME > f; cat f\"}");
        assertThat(once.path("ok").asBoolean()).as(once.toString()).isTrue();
        assertThat(berth.get(acme, "/v1/sandbox/sessions").body()).doesNotContain("once:");
        assertThat(tool("read", "{\"file_path\":\"f\"}")
                        .path("error")
                        .path("message")
                        .asString())
                .contains("session_id");
    }

    @Test
    void aConfigurationDecidesWhatItsComputersAreLike() {
        berth.post(acme, "/v1/accounts/me/sandboxes", """
                {"name": "small", "config": {"persistent": true, "permissionMode": "bypass", "memoryLimit": 64,
                 "envVars": {"FOO": "from-config"}, "runtimes": ["bash"], "outputLimitBytes": 1024}}""");
        JsonNode seen = tool(
                "bash", "{\"session_id\":\"configured\",\"sandbox\":\"small\",\"command\":\"echo $FOO; seq 1 1000\"}");
        assertThat(seen.path("stdout").asString()).startsWith("from-config\n");
        assertThat(seen.path("truncated").asBoolean()).isTrue();
        JsonNode refused =
                tool("bash", "{\"session_id\":\"configured\",\"sandbox\":\"small\",\"command\":\"python3 -c 1\"}");
        assertThat(refused.path("error").path("code").asString()).isEqualTo("denied");
        assertThat(berth.post(rival, "/v1/tools/bash", "{\"sandbox\":\"small\",\"command\":\"true\"}")
                        .status())
                .isEqualTo(404);
        assertThat(berth.delete(acme, "/v1/accounts/me/sandboxes/small").status())
                .isEqualTo(204);
        assertThat(berth.get(acme, "/v1/sandbox/sessions").body())
                .as("what it made is released")
                .doesNotContain("configured");
    }

    @Test
    void anotherTenantsSessionOfTheSameNameIsAnotherComputer() {
        call("bash", "{\"session_id\":\"shared-name\",\"command\":\"echo mine > secret\"}");
        Reply other =
                berth.post(rival, "/v1/sandbox/bash", "{\"session_id\":\"shared-name\",\"command\":\"cat secret\"}");
        assertThat(other.json().path("success").asBoolean()).isFalse();
        Reply foreign = berth.post(
                rival,
                "/v1/sandbox/bash",
                "{\"tenant_id\":\"acme\",\"session_id\":\"shared-name\",\"command\":\"cat secret\"}");
        assertThat(foreign.status()).isEqualTo(404);
        assertThat(foreign.body()).doesNotContain("mine");
    }

    @Test
    void aComputerThatWasLostSaysSo() {
        call("bash", "{\"session_id\":\"lost\",\"command\":\"echo x > file\"}");
        berth.machine().provider().list().stream()
                .filter(sandbox -> sandbox.id().value().startsWith("lost-"))
                .forEach(dev.berth.sandbox.Sandbox::destroy);
        JsonNode after = call("bash", "{\"session_id\":\"lost\",\"command\":\"ls\"}");
        assertThat(after.path("loss").asString()).contains("gone");
        assertThat(call("bash", "{\"session_id\":\"lost\",\"command\":\"ls\"}").has("loss"))
                .isFalse();
    }
}
