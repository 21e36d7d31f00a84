package dev.berth.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.local.LocalProvider;
import dev.berth.sandbox.local.TestMachine;
import dev.berth.sandbox.local.linux.Directories;
import dev.berth.session.TestingDatabase;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A terminal outlives the server that opened it. Needs root and crun. */
@Timeout(180)
class TerminalKillTest {
    private static final String TERMINAL = "/v1/sessions/s/terminals/main";

    @Test
    void aShellIsThereAsItWasAfterTheServerWasKilled() throws Exception {
        Path data = Files.createTempDirectory(Path.of("/var/tmp"), "berth-");
        try (TestingDatabase database = TestingDatabase.create()) {
            try (ServerToKill server = ServerToKill.start(data, database.url())) {
                assertThat(send(server, "POST", "/v1/sessions", "{\"session_id\":\"s\"}"))
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
                assertThat(send(
                                server,
                                "POST",
                                "/v1/sandbox/bash",
                                "{\"session_id\":\"s\",\"command\":\"echo go > /tmp/gate\"}"))
                        .contains("\"exit_code\":0");
                assertThat(send(server, "GET", "/v1/sessions/s/terminals", "")).contains("\"main\"");
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
                assertThat(send(server, "GET", "/v1/sessions/s/terminals", "")).isEqualTo("{\"terminals\":[]}");
            }
        } finally {
            clearAway(data);
        }
    }

    private static String send(ServerToKill server, String method, String path, String json) throws Exception {
        try (HttpClient client = HttpClient.newHttpClient()) {
            HttpRequest request = HttpRequest.newBuilder(URI.create(server.url() + path))
                    .header("Authorization", "Bearer " + TestingBerth.ADMIN)
                    .header("Content-Type", "application/json")
                    .method(method, HttpRequest.BodyPublishers.ofString(json))
                    .build();
            return client.send(request, HttpResponse.BodyHandlers.ofString()).body();
        }
    }

    private static void clearAway(Path data) throws IOException {
        LocalProvider provider = LocalProvider.open(ServerToKill.config(data));
        provider.list().forEach(Sandbox::destroy);
        provider.checkpoints().forEach(point -> provider.deleteCheckpoint(point.id()));
        provider.closeAndUnmount();
        TestMachine.assertNothingLeft(data);
        Directories.remove(data);
    }
}
