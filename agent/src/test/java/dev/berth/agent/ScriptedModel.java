package dev.berth.agent;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.berth.sandbox.Connection;
import dev.berth.sandbox.Outlet;
import dev.berth.sandbox.Sandbox;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * A model that says what a test told it to, one answer a request, in the way of OpenAI's chat completions. It is the
 * proxy of its sandbox at the same time: whatever host a program in there speaks to, this answers.
 */
public final class ScriptedModel implements Outlet {
    /** For the proxy variables of programs in a sandbox. */
    public static final Map<String, String> PROXY = Map.of(
            "HTTP_PROXY",
            "http://127.0.0.1:" + PORT,
            "http_proxy",
            "http://127.0.0.1:" + PORT,
            "NO_PROXY",
            "127.0.0.1,localhost",
            "no_proxy",
            "127.0.0.1,localhost");

    public static final String URL = "http://model.test/v1";

    private static final JsonMapper JSON = JsonMapper.builder().build();

    /** What it does about one request. */
    public interface Answer {
        void to(OutputStream output) throws IOException;
    }

    private final Queue<Answer> script = new ConcurrentLinkedQueue<>();
    private final List<JsonNode> requests = new CopyOnWriteArrayList<>();
    private final List<String> heads = new CopyOnWriteArrayList<>();

    public ScriptedModel then(Answer answer) {
        script.add(answer);
        return this;
    }

    /** An answer that comes in these pieces. */
    public ScriptedModel says(String... pieces) {
        return then(output -> {
            begin(output);
            for (String piece : pieces) {
                event(output, delta(JSON.createObjectNode().put("content", piece)));
            }
            end(output, "stop");
        });
    }

    /** It wants to use a tool. */
    public ScriptedModel calls(String tool, Map<String, String> arguments) {
        String id = "call_" + script.size() + "_" + requests.size();
        return then(output -> {
            begin(output);
            ObjectNode delta = JSON.createObjectNode();
            ObjectNode call = delta.putArray("tool_calls").addObject();
            call.put("index", 0).put("id", id).put("type", "function");
            call.putObject("function").put("name", tool).put("arguments", JSON.writeValueAsString(arguments));
            event(output, delta(delta));
            end(output, "tool_calls");
        });
    }

    public ScriptedModel fails(int status, String message) {
        return then(output -> {
            byte[] body = JSON.writeValueAsBytes(Map.of("error", Map.of("message", message, "type", "test")));
            head(output, status, "application/json", "Content-Length: " + body.length + "\r\n");
            output.write(body);
        });
    }

    /** It breaks off in the middle of its answer. */
    public ScriptedModel breaksOffAfter(String piece) {
        return then(output -> {
            head(output, 200, "text/event-stream", "Transfer-Encoding: chunked\r\n");
            byte[] event = ("data: " + delta(JSON.createObjectNode().put("content", piece)) + "\n\n").getBytes(UTF_8);
            output.write((Integer.toHexString(event.length) + "\r\n").getBytes(UTF_8));
            output.write(event);
            output.write("\r\nffff\r\n".getBytes(UTF_8));
            output.flush();
        });
    }

    /** Says one piece, and the other when it may. */
    public ScriptedModel pauses(String piece, CountDownLatch until, String other) {
        return then(output -> {
            begin(output);
            event(output, delta(JSON.createObjectNode().put("content", piece)));
            try {
                if (!until.await(60, TimeUnit.SECONDS)) {
                    throw new IOException("nobody let it go on");
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException(e);
            }
            event(output, delta(JSON.createObjectNode().put("content", other)));
            end(output, "stop");
        });
    }

    /** Whatever it is, with its head. */
    public ScriptedModel answers(int status, String type, String headers, String body) {
        return then(output -> {
            head(output, status, type, headers);
            output.write(body.getBytes(UTF_8));
        });
    }

    public ScriptedModel saysGarbage() {
        return then(output -> {
            begin(output);
            output.write("data: {\"choices\":[{]]\n\ndata: \0\1\2\n\n<html>".getBytes(UTF_8));
        });
    }

    /** The heads of the requests so far. */
    public List<String> heads() {
        return heads;
    }

    /** The bodies of the requests so far. */
    public List<JsonNode> requests() {
        return requests;
    }

    public String lastRequest() {
        return requests.getLast().path("messages").toString();
    }

    @Override
    public void take(Sandbox sandbox, Connection connection) {
        serve(connection.input(), connection.output());
    }

    /** Answers the one request that comes by a connection, wherever that is from, and closes it. */
    public void serve(InputStream from, OutputStream to) {
        try (InputStream input = new BufferedInputStream(from);
                OutputStream output = to) {
            String head = head(input);
            if (head.startsWith("CONNECT ")) {
                output.write("HTTP/1.1 200 OK\r\n\r\n".getBytes(UTF_8));
                output.flush();
                head = head(input);
            }
            if (head.isEmpty()) {
                return;
            }
            byte[] body = body(head.toLowerCase(Locale.ROOT), input);
            heads.add(head);
            requests.add(JSON.readTree(body));
            Answer answer = script.poll();
            if (answer == null) {
                new ScriptedModel()
                        .fails(400, "the test has no answer to this")
                        .script
                        .remove()
                        .to(output);
            } else {
                answer.to(output);
            }
            output.flush();
        } catch (IOException e) {
            // Agents that are ended or told to stop do not listen to the end.
            if (requests.isEmpty()) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private static byte[] body(String head, InputStream input) throws IOException {
        if (!head.contains("\r\ntransfer-encoding: chunked\r\n")) {
            return input.readNBytes(
                    Integer.parseInt(head.replaceFirst("(?s).*\r\ncontent-length: *(\\d+)\r\n.*", "$1")));
        }
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        for (int size = chunk(input); size > 0; size = chunk(input)) {
            body.write(input.readNBytes(size));
            input.readNBytes(2);
        }
        input.readNBytes(2);
        return body.toByteArray();
    }

    /** The size of the next chunk. */
    private static int chunk(InputStream input) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c = input.read(); c >= 0 && c != '\n'; c = input.read()) {
            line.append((char) c);
        }
        return Integer.parseInt(line.toString().split(";")[0].strip(), 16);
    }

    private static String head(InputStream input) throws IOException {
        StringBuilder head = new StringBuilder();
        for (int c = input.read(); c >= 0; c = input.read()) {
            head.append((char) c);
            if (c == '\n' && head.toString().endsWith("\r\n\r\n")) {
                return head.toString();
            }
        }
        return "";
    }

    private static void head(OutputStream output, int status, String type, String more) throws IOException {
        output.write(("HTTP/1.1 " + status + " Scripted\r\nContent-Type: " + type + "\r\nConnection: close\r\n" + more
                        + "\r\n")
                .getBytes(UTF_8));
    }

    private static void begin(OutputStream output) throws IOException {
        head(output, 200, "text/event-stream", "");
    }

    private static ObjectNode delta(ObjectNode delta) {
        ObjectNode chunk = chunk();
        chunk.putArray("choices")
                .addObject()
                .put("index", 0)
                .putNull("finish_reason")
                .set("delta", delta);
        return chunk;
    }

    private static ObjectNode chunk() {
        return JSON.createObjectNode()
                .put("id", "chatcmpl-1")
                .put("object", "chat.completion.chunk")
                .put("created", 1)
                .put("model", "scripted");
    }

    private static void event(OutputStream output, ObjectNode event) throws IOException {
        output.write(("data: " + event + "\n\n").getBytes(UTF_8));
        output.flush();
    }

    private static void end(OutputStream output, String reason) throws IOException {
        ObjectNode last = chunk();
        last.putArray("choices")
                .addObject()
                .put("index", 0)
                .put("finish_reason", reason)
                .putObject("delta");
        event(output, last);
        ObjectNode usage = chunk();
        usage.putArray("choices");
        usage.putObject("usage")
                .put("prompt_tokens", 11)
                .put("completion_tokens", 7)
                .put("total_tokens", 18);
        event(output, usage);
        output.write("data: [DONE]\n\n".getBytes(UTF_8));
    }
}
