package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a person sees of a run, whatever the connection to the server does. The runs themselves are tested in the gateway. */
@Timeout(60)
class PromptCommandTest {
    private static final String RUN = "\"run_id\":\"run_1\"";

    @TempDir
    Path directory;

    private final Deque<String> answers = new ArrayDeque<>();
    private final List<String> requests = new ArrayList<>();
    private final List<String> bodies = new ArrayList<>();
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();
    private HttpServer server;

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 16);
        server.createContext("/", this::answer);
        server.start();
    }

    @AfterEach
    void stop() {
        server.stop(0);
    }

    /** The next of the answers; it ends where that ends, whether or not the run does. */
    private void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            String last = exchange.getRequestHeaders().getFirst("Last-Event-ID");
            requests.add(exchange.getRequestMethod() + " " + exchange.getRequestURI()
                    + (last == null ? "" : " after " + last));
            bodies.add(new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8));
            exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
            exchange.sendResponseHeaders(200, 0);
            try (OutputStream body = exchange.getResponseBody()) {
                body.write(answers.remove().getBytes(StandardCharsets.UTF_8));
            }
        }
    }

    private static String event(int id, String name, String data) {
        return "id: " + id + "\nevent: " + name + "\ndata: {" + RUN + "," + data + "}\n\n";
    }

    private static String done(String state, String more) {
        return event(
                9,
                "done",
                "\"session_id\":\"demo\",\"state\":\"" + state + "\",\"prompt\":\"p\",\"answer\":\"a\"" + more);
    }

    private int berth(String... words) {
        List<String> all = new ArrayList<>(List.of("prompt"));
        all.addAll(List.of("--url", "http://127.0.0.1:" + server.getAddress().getPort(), "--key", "berth_key"));
        all.addAll(List.of(words));
        return Berth.run(all, new Console(new PrintWriter(out), new PrintWriter(err, true), Map.of(), () -> false));
    }

    @Test
    void theAnswerIsTheOutputAndTheStepsAreBesideIt() {
        answers.add("event: status\ndata: {" + RUN + ",\"state\":\"starting\",\"text\":\"\"}\n\n"
                + event(1, "text", "\"text\":\"Let me \"")
                + event(2, "text", "\"text\":\"look.\"")
                + event(3, "tool_start", "\"call_id\":\"c\",\"tool\":\"bash\",\"title\":\"ls\\u001b[2J\"")
                + event(4, "tool_end", "\"call_id\":\"c\",\"ok\":false,\"output\":\"no\"")
                + event(
                        5,
                        "approval",
                        "\"approval_id\":\"apr_1\",\"tool\":\"bash\",\"title\":\"rm x\",\"state\":\"requested\"")
                + event(6, "artifact", "\"artifact_id\":\"art_1\",\"name\":\"plot.png\"")
                + event(7, "text", "\"text\":\"\\u001b[31mDone.\\n\"")
                + done("done", ""));
        assertThat(berth("demo", "what", "is", "there?")).as(err.toString()).isZero();
        assertThat(out.toString()).isEqualTo("Let me look.\n[31mDone.\n");
        assertThat(err.toString().lines())
                .containsExactly(
                        "berth: [bash] ls [2J",
                        "berth: that failed: no",
                        "berth: this waits to be allowed: bash: rm x; 'berth approve apr_1' does that",
                        "berth: file plot.png, to be had with 'berth artifact art_1'");
        assertThat(bodies).containsExactly("{\"text\":\"what is there?\"}");
    }

    @Test
    void aLostConnectionIsMadeAgainFromTheLastEventOn() {
        answers.add(event(4, "text", "\"text\":\"one, \""));
        answers.add(
                "event: error\ndata: {\"code\":\"unavailable\",\"status\":503,\"detail\":\"the server stops\"}\n\n");
        answers.add(event(5, "text", "\"text\":\"two\"") + done("done", ""));
        assertThat(berth("demo", "count")).as(err.toString()).isZero();
        assertThat(out.toString()).isEqualTo("one, two\n");
        assertThat(requests)
                .containsExactly(
                        "POST /v1/sessions/demo/prompt",
                        "GET /v1/sessions/demo/runs/run_1/events after 4",
                        "GET /v1/sessions/demo/runs/run_1/events after 4");
    }

    @Test
    void aRunThatFailsSaysWhyAndJsonIsTheRun() {
        answers.add(event(1, "text", "\"text\":\"Hm\"") + done("failed", ",\"error\":\"the model is away\""));
        assertThat(berth("demo", "--json", "hello")).isEqualTo(1);
        assertThat(out.toString())
                .startsWith("{\"run_id\":\"run_1\"")
                .contains("the model is away")
                .hasLineCount(1);
        assertThat(err.toString()).isEqualTo("berth: the model is away\n");
        answers.add(done("aborted", ""));
        assertThat(berth("demo", "hello")).isEqualTo(1);
        assertThat(err.toString()).endsWith("berth: the run was stopped\n");
    }

    @Test
    void filesAreSentAlong() throws IOException {
        Path file = directory.resolve("a \"b\".csv");
        Files.writeString(file, "1,2\r\n");
        answers.add(done("done", ""));
        assertThat(berth("demo", "--file", file.toString(), "sum it up"))
                .as(err.toString())
                .isZero();
        assertThat(bodies.getFirst())
                .contains("name=\"text\"\r\n\r\nsum it up\r\n--")
                .contains("name=\"files\"; filename=\"a %22b%22.csv\"\r\n")
                .contains("\r\n\r\n1,2\r\n\r\n--")
                .endsWith("--\r\n");
        assertThat(berth("demo", "--file", "nothing.csv", "sum it up")).isEqualTo(2);
        assertThat(err.toString()).contains("there is no file nothing.csv");
    }
}
