package dev.berth.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.session.TestingDatabase;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A terminal outlives the server that opened it. Needs root and crun. */
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TerminalKillTest {
    private static final String TERMINAL = "/v1/sessions/s/terminals/main";

    @Test
    void aShellIsThereAsItWasAfterTheServerWasKilled() throws Exception {
        Path data = Files.createTempDirectory(Path.of("/var/tmp"), "berth-");
        try (TestingDatabase database = TestingDatabase.create()) {
            try (ServerToKill server = ServerToKill.start(data, database.url())) {
                assertThat(server.send("POST", "/v1/sessions", "{\"session_id\":\"s\"}"))
                        .contains("\"active\"");
                TerminalClient terminal = TerminalClient.open(server.url(), TestingBerth.ADMIN, TERMINAL);
                terminal.type("PRECIOUS=kept; cd /tmp; echo rea''dy\r");
                terminal.until("ready");
                terminal.type("mkfifo gate; (read line < gate; echo after the ki''ll) & echo gate''d\r");
                terminal.until("gated");
                server.kill();
                assertThat(terminal.closed()).isPositive();
                terminal.close();
            }
            try (ServerToKill server = ServerToKill.start(data, database.url())) {
                assertThat(server.send(
                                "POST",
                                "/v1/sandbox/bash",
                                "{\"session_id\":\"s\",\"command\":\"echo go > /tmp/gate\"}"))
                        .contains("\"exit_code\":0");
                assertThat(server.send("GET", "/v1/sessions/s/terminals", "")).contains("\"main\"");
                try (TerminalClient terminal =
                        TerminalClient.open(server.url(), TestingBerth.ADMIN, TERMINAL + "?cols=101&rows=33")) {
                    assertThat(terminal.until("after the kill")).contains("ready");
                    assertThat(terminal.told("attached").path("replayed_bytes").asLong())
                            .isGreaterThan(100);
                    terminal.type("echo $PRECIOUS in $PWD; stty size\r");
                    terminal.until("kept in /tmp");
                    terminal.until("33 101");
                    terminal.type("exit 3\r");
                    assertThat(terminal.closed()).isEqualTo(1000);
                    assertThat(terminal.told("exit").path("exit_code").asInt()).isEqualTo(3);
                }
                assertThat(server.send("GET", "/v1/sessions/s/terminals", "")).isEqualTo("{\"terminals\":[]}");
            }
        } finally {
            ServerToKill.clearAway(data);
        }
    }
}
