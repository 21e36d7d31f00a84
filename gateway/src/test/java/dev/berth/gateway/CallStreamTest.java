package dev.berth.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.gateway.EventReader.Event;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.json.JsonMapper;

/** Calls whose caller hears what happens in them. Needs root, crun and python3. */
@Timeout(300)
class CallStreamTest {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static TestingBerth berth;
    private static String key;

    @BeforeAll
    static void start() {
        berth = new TestingBerth();
        key = berth.tenant("acme");
    }

    @AfterAll
    static void stop() {
        berth.close();
    }

    private static EventReader bash(String command) {
        return berth.stream(
                key, "/v1/sandbox/bash", JSON.writeValueAsString(Map.of("session_id", "s", "command", command)));
    }

    @Test
    void outputComesWhileTheCommandRunsAndTheAnswerAtTheEnd() {
        // It ends only when it is told to, so the first line has to come before the end.
        try (EventReader reader = bash("echo first; while [ ! -e go ]; do sleep 0.05; done; echo last >&2; exit 3")) {
            Event state = reader.next().orElseThrow();
            assertThat(state.name()).isEqualTo("state");
            Event first = reader.next("output");
            assertThat(first.data().path("text").asString()).isEqualTo("first\n");
            assertThat(first.data().path("stream").asString()).isEqualTo("stdout");
            assertThat(first.data().path("call_id").asString())
                    .isEqualTo(state.data().path("call_id").asString())
                    .isNotEmpty();
            berth.post(key, "/v1/sandbox/write", "{\"session_id\":\"s\",\"path\":\"go\",\"content\":\"\"}");
            assertThat(reader.next("output").data().path("stream").asString()).isEqualTo("stderr");
            Event done = reader.next("done");
            assertThat(done.data().path("exit_code").asInt()).isEqualTo(3);
            assertThat(done.data().path("stdout").asString()).isEqualTo("first\n");
            assertThat(reader.next()).isEmpty();
        }
    }

    @Test
    void executeAndTheToolsForModelsStreamToo() {
        String code = "import sys\\nprint('a')\\nsys.stdout.flush()\\nprint('b')";
        try (EventReader reader = berth.stream(
                key, "/v1/sandbox/execute", "{\"session_id\":\"s\",\"stateful\":true,\"code\":\"" + code + "\"}")) {
            StringBuilder text = new StringBuilder();
            Event event = reader.next().orElseThrow();
            for (; !event.name().equals("done"); event = reader.next().orElseThrow()) {
                text.append(event.data().path("text").asString(""));
            }
            assertThat(text.toString()).isEqualTo("a\nb\n");
            assertThat(event.data().path("success").asBoolean()).isTrue();
        }
        try (EventReader reader =
                berth.stream(key, "/v1/tools/write", "{\"session_id\":\"s\",\"file_path\":\"x\",\"content\":\"y\"}")) {
            assertThat(reader.next("done").data().path("ok").asBoolean()).isTrue();
        }
    }

    @Test
    void aFailureIsTheLastEvent() {
        try (EventReader reader =
                berth.stream(key, "/v1/sandbox/read", "{\"session_id\":\"s\",\"path\":\"not-there\"}")) {
            Event error = reader.next("error");
            assertThat(error.data().path("code").asString()).isEqualTo("not_found");
            assertThat(error.data().path("status").asInt()).isEqualTo(404);
            assertThat(reader.next()).isEmpty();
        }
    }

    @Test
    void aClientThatDoesNotReadSlowsNothingDown() {
        try (EventReader reader = bash("head -c 50000000 /dev/zero | tr '\\0' x; echo; touch flooded")) {
            // Nothing is read until the command has ended, which only the file tells.
            while (berth.post(key, "/v1/sandbox/glob", "{\"session_id\":\"s\",\"pattern\":\"flooded\"}")
                            .json()
                            .path("total")
                            .asInt()
                    == 0) {
                Thread.onSpinWait();
            }
            long told = 0;
            long skipped = 0;
            Event event = reader.next().orElseThrow();
            for (; !event.name().equals("done"); event = reader.next().orElseThrow()) {
                told += event.data().path("text").asString("").length();
                skipped += event.data().path("skipped").asLong(0);
            }
            assertThat(told).isLessThan(50_000_001);
            assertThat(told + skipped).isLessThanOrEqualTo(50_000_001);
            assertThat(event.data().path("truncated").asBoolean()).isTrue();
        }
    }
}
