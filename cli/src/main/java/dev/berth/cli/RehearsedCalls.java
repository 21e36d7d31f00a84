package dev.berth.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;

/** Calls of every kind, for the cache of those commands: to a server that is nothing but answers, since a real one would be in the cache too. */
final class RehearsedCalls {
    private static final String SESSION = """
            {"tenant_id":"t","session_id":"demo","state":"active","template":"host","pinned":true,"turn":1,"disk":1,
            "permission_mode":"bypass","limits":{"memory":1,"disk":1,"cpus":1.5,"pids":9},
            "usage":{"memory":1,"pids":1,"cpu_seconds":0.5,"disk":1},
            "created_at":"2026-01-01T00:00:00Z","last_used_at":"2026-01-01T00:00:00Z"}""";
    /** For all paths: who reads an answer takes what it knows. */
    private static final String ANSWER = """
            {"session_id":"demo","tenant_id":"t","state":"completed","success":true,"exit_code":0,"stdout":"out","stderr":"",
            "complete":true,"next":1,"chunks":[{"number":1,"stream":"stdout","offset":0,"text":"out"}],"sessions":[%s],
            "jobs":[{"job_id":"job_1","session_id":"demo","state":"running","command":"true","created_at":"2026-01-01T00:00:00Z"}],
            "approvals":[],"artifacts":[],"keys":[],"checkpoints":[]}""".formatted(SESSION);

    private static final List<List<String>> LINES = List.of(
            List.of("session", "ls"),
            List.of("session", "ls", "-q"),
            List.of("session", "ls", "--json"),
            List.of("session", "show", "demo"),
            List.of("session", "new", "demo", "--memory", "1g"),
            List.of("top", "--once"),
            List.of("jobs"),
            List.of("logs", "job_1"),
            List.of("exec", "--json", "demo", "true"),
            List.of("exec", "--background", "demo", "true"),
            List.of("approvals"),
            List.of("artifacts", "demo"),
            List.of("keys", "ls"),
            List.of("session", "rm", "demo"));

    void play() {
        try {
            HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
            server.createContext("/", RehearsedCalls::answer);
            server.start();
            try {
                for (List<String> line : LINES) {
                    List<String> whole = new ArrayList<>(line);
                    whole.addAll(List.of(
                            "--url", "http://127.0.0.1:" + server.getAddress().getPort(), "--key", "berth_rehearsal"));
                    Berth.run(whole, Console.silent());
                }
            } finally {
                server.stop(0);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            exchange.getRequestBody().readAllBytes();
            byte[] body = ANSWER.getBytes(UTF_8);
            exchange.getResponseHeaders().add("Content-Type", "application/json");
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
        }
    }
}
