package dev.berth.sandbox.local;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.sandbox.Connection;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Speaks to the code interpreter of a sandbox as its clients do: plain HTTP/1.1, one request to a connection. */
final class InterpreterClient {
    static final int PORT = 49999;
    private static final JsonMapper JSON = new JsonMapper();

    private final Sandbox sandbox;

    InterpreterClient(Sandbox sandbox) {
        this.sandbox = sandbox;
    }

    record Answer(int status, String text) {
        JsonNode json() {
            return JSON.readTree(text);
        }
    }

    /** The lines of an execution. */
    record Lines(List<JsonNode> all) {
        static Lines of(Answer answer) {
            assertThat(answer.status()).as(answer.text()).isEqualTo(200);
            List<JsonNode> lines = answer.text().lines().map(JSON::readTree).toList();
            assertThat(lines.getLast().path("type").asString()).isEqualTo("end_of_execution");
            return new Lines(lines);
        }

        List<JsonNode> of(String type) {
            return all.stream()
                    .filter(line -> line.path("type").asString().equals(type))
                    .toList();
        }

        String text(String type) {
            StringBuilder text = new StringBuilder();
            of(type).forEach(line -> text.append(line.path("text").asString()));
            return text.toString();
        }

        JsonNode result() {
            assertThat(of("result")).as(all.toString()).hasSize(1);
            return of("result").getFirst();
        }

        JsonNode error() {
            assertThat(of("error")).as(all.toString()).hasSize(1);
            return of("error").getFirst();
        }
    }

    Lines python(String code) {
        return execute(Map.of("code", code));
    }

    Lines run(String language, String code) {
        return execute(Map.of("code", code, "language", language));
    }

    Lines execute(Map<String, ?> body) {
        return Lines.of(request("POST", "/execute", body));
    }

    Answer request(String method, String path, Map<String, ?> body) {
        try (Connection connection = send(method, path, body)) {
            return answer(connection.input());
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    /** An execution whose answer is not read to its end: the client goes when it has seen something. */
    void leaveAfter(String seen, Map<String, ?> body) throws IOException {
        try (Connection connection = send("POST", "/execute", body)) {
            StringBuilder read = new StringBuilder();
            byte[] some = new byte[8192];
            while (read.indexOf(seen) < 0) {
                int n = connection.input().read(some);
                assertThat(n).as(read.toString()).isPositive();
                read.append(new String(some, 0, n, StandardCharsets.UTF_8));
            }
        }
    }

    Connection send(String method, String path, Map<String, ?> body) throws IOException {
        byte[] content = body.isEmpty() ? new byte[0] : JSON.writeValueAsBytes(body);
        String head = method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: "
                + content.length + "\r\n\r\n";
        Connection connection = sandbox.dial(PORT);
        connection.output().write(head.getBytes(StandardCharsets.US_ASCII));
        connection.output().write(content);
        connection.output().flush();
        return connection;
    }

    static Answer answer(InputStream in) throws IOException {
        byte[] all = in.readAllBytes();
        String text = new String(all, StandardCharsets.ISO_8859_1);
        int end = text.indexOf("\r\n\r\n");
        assertThat(end).as(text).isPositive();
        String head = text.substring(0, end);
        byte[] body = java.util.Arrays.copyOfRange(all, end + 4, all.length);
        if (head.contains("Transfer-Encoding: chunked")) {
            body = withoutChunks(body);
        }
        return new Answer(Integer.parseInt(head.split(" ", 3)[1]), new String(body, StandardCharsets.UTF_8));
    }

    /** Every chunk has to be whole lines: clients decode each by itself. */
    private static byte[] withoutChunks(byte[] chunked) {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        int at = 0;
        while (true) {
            int end = at;
            while (chunked[end] != '\r') {
                end++;
            }
            int size = Integer.parseInt(new String(chunked, at, end - at, StandardCharsets.US_ASCII), 16);
            if (size == 0) {
                return body.toByteArray();
            }
            assertThat(chunked[end + 2 + size - 1]).isEqualTo((byte) '\n');
            body.write(chunked, end + 2, size);
            at = end + 2 + size + 2;
        }
    }

    /** Waits until the server listens and says that it is well. One that is being ended may still break off. */
    InterpreterClient awaitHealth() throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (true) {
            try {
                assertThat(request("GET", "/health", Map.of())).isEqualTo(new Answer(200, "\"OK\""));
                return this;
            } catch (SandboxException | java.io.UncheckedIOException e) {
                assertThat(System.nanoTime()).as("the interpreter listens").isLessThan(deadline);
                TimeUnit.MILLISECONDS.sleep(20);
            }
        }
    }
}
