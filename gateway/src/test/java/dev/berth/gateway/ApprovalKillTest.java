package dev.berth.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.session.TestingDatabase;
import dev.berth.session.store.Database;
import dev.berth.session.store.DatabaseConfig;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Calls that wait for a person while servers are killed. Needs root and crun. */
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ApprovalKillTest {
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private static JsonNode json(String text) {
        return JSON.readTree(text);
    }

    private static String ask(ServerToKill server, String command) throws Exception {
        String body = JSON.writeValueAsString(java.util.Map.of("session_id", "s", "command", command));
        JsonNode asked = json(server.send("POST", "/v1/sandbox/bash", body));
        assertThat(asked.path("state").asString()).as(asked.toString()).isEqualTo("pending");
        return asked.path("approval_id").asString();
    }

    private static JsonNode until(ServerToKill server, String id, String state) throws Exception {
        JsonNode now = json(server.send("GET", "/v1/approvals/" + id, ""));
        while (!now.path("state").asString().equals(state)) {
            Thread.onSpinWait();
            now = json(server.send("GET", "/v1/approvals/" + id, ""));
        }
        return now;
    }

    private static void change(Database database, String set, String id) {
        database.query(handle -> handle.createUpdate("UPDATE approvals SET " + set + " WHERE id = :id")
                .bind("id", id)
                .execute());
    }

    @Test
    void noneIsLostAndNoneIsMadeTwice() throws Exception {
        Path data = Files.createTempDirectory(Path.of("/var/tmp"), "berth-");
        try (TestingDatabase postgres = TestingDatabase.create();
                Database database = Database.open(DatabaseConfig.parse(postgres.url()))) {
            String waits;
            String allowed;
            String runs;
            try (ServerToKill server = ServerToKill.start(data, postgres.url())) {
                server.send("POST", "/v1/sessions", "{\"session_id\":\"s\",\"permission_mode\":\"ask\"}");
                waits = ask(server, "echo waited >> made");
                allowed = ask(server, "echo allowed >> made");
                runs = ask(server, "echo ran >> made; sleep 3000");
                server.send("POST", "/v1/approvals/" + runs, "{\"decision\":\"approve\"}");
                until(server, runs, "running");
                while (!server.send("POST", "/v1/sandbox/read", "{\"session_id\":\"s\",\"path\":\"made\"}")
                        .contains("ran")) {
                    Thread.onSpinWait();
                }
                server.kill();
            }
            // As if it had been killed between the decision and the call.
            change(database, "state = 'approved', decided_by = 'somebody', decided_at = now()", allowed);
            change(database, "running_until = now()", runs);
            try (ServerToKill server = ServerToKill.start(data, postgres.url())) {
                assertThat(until(server, allowed, "done")
                                .path("result")
                                .path("exit_code")
                                .asInt(-1))
                        .isZero();
                assertThat(until(server, runs, "failed").has("result")).isFalse();
                assertThat(json(server.send("GET", "/v1/approvals/" + waits, ""))
                                .path("state")
                                .asString())
                        .isEqualTo("pending");
                server.send("POST", "/v1/approvals/" + waits, "{\"decision\":\"approve\"}");
                until(server, waits, "done");
                assertThat(server.send("POST", "/v1/sandbox/read", "{\"session_id\":\"s\",\"path\":\"made\"}"))
                        .contains("\"content\":\"ran\\nallowed\\nwaited\\n\"");
            }
        } finally {
            ServerToKill.clearAway(data);
        }
    }
}
