package dev.berth.agent.sandboxagent;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.berth.sandbox.Connection;
import dev.berth.sandbox.Sandbox;
import dev.berth.sandbox.SandboxException;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * The server inside the sandbox, as seen through a connection to its port.
 *
 * <p>It is known not to answer at times: when an agent takes long, and when one is to be deleted that lives. So every
 * request has a deadline, and what it is about goes on without an answer.
 *
 * @param token never part of an error or a log
 */
record Server(Sandbox sandbox, int port, String token) {
    private static final Logger LOG = LoggerFactory.getLogger(Server.class);
    /** The one agent that is asked for. */
    private static final String AGENT = "/v1/acp/berth";

    private static final String JSON = "Content-Type: application/json\r\n";
    private static final Duration SOON = Duration.ofSeconds(10);
    private static final Duration DELETING = Duration.ofSeconds(2);
    private static final int LONGEST_LINE = 16 << 10;
    private static final int MOST_HEADERS = 100;
    private static final int COMPLAINT = 2000;

    @Override
    public String toString() {
        return "the server on port " + port;
    }

    /** An answer of which the head was read. */
    private record Answer(int status, InputStream body) {}

    /** Events as they come, until it is closed. */
    record Stream(Connection connection, InputStream body) implements AutoCloseable {
        @Override
        public void close() {
            connection.close();
        }
    }

    boolean healthy() {
        try {
            return exchange("GET", "/v1/health", "", SOON).orElse(0) == 200;
        } catch (SandboxException e) {
            LOG.debug("sandbox-agent is not well", e);
            return false;
        }
    }

    /** Starts the agent with its first message. It answers when the agent has. */
    void begin(String agent, ObjectNode message, Duration deadline) {
        if (exchange("POST", AGENT + "?agent=" + agent, message.toString(), deadline)
                .isEmpty()) {
            throw SandboxException.timeout(
                    "the agent behind sandbox-agent did not answer within " + deadline.toSeconds() + " s");
        }
    }

    /** Gives the agent a message that it does not answer. */
    void tell(ObjectNode message) {
        if (exchange("POST", AGENT, message.toString(), SOON).isEmpty()) {
            throw SandboxException.timeout("sandbox-agent did not take a message within " + SOON.toSeconds() + " s");
        }
    }

    /**
     * Gives the agent a message whose answer comes with the events, whenever that is. Returns when it was written.
     *
     * @param refused told if the server did not take it
     */
    void ask(ObjectNode message, Consumer<SandboxException> refused) {
        Connection connection = sandbox.dial(port);
        try {
            send(connection, "POST", AGENT, JSON, message.toString());
        } catch (IOException e) {
            connection.close();
            throw SandboxException.unavailable("sandbox-agent broke off: " + e.getMessage(), e);
        }
        Thread.ofVirtual().name("sandbox-agent-http").start(() -> {
            try {
                await(later(() -> head(connection, "POST")), connection, SOON);
            } catch (SandboxException e) {
                refused.accept(e);
            }
        });
    }

    void delete() {
        exchange("DELETE", AGENT, "", DELETING);
    }

    /** What the agent has said after an event. */
    Stream events(long after) throws IOException {
        Connection connection = sandbox.dial(port);
        try {
            // Nothing says that it takes a zero.
            String from = after > 0 ? "Last-Event-ID: " + after + "\r\n" : "";
            send(connection, "GET", AGENT, "Accept: text/event-stream\r\n" + from, "");
            Answer answer = head(connection.input());
            if (answer.status != 200) {
                throw new IOException(refusal("GET", answer));
            }
            return new Stream(connection, answer.body);
        } catch (IOException | SandboxException e) {
            connection.close();
            throw e;
        }
    }

    /**
     * @return its status, or empty if it did not answer in time; then it may have done what it was asked
     * @throws SandboxException if it could not be reached or refused
     */
    private Optional<Integer> exchange(String method, String path, String body, Duration deadline) {
        Connection connection = sandbox.dial(port);
        return await(
                later(() -> {
                    send(connection, method, path, JSON, body);
                    return head(connection, method);
                }),
                connection,
                deadline);
    }

    /** A connection cannot be read for a while only, so somebody else does it. */
    private static CompletableFuture<Integer> later(Callable<Integer> work) {
        CompletableFuture<Integer> status = new CompletableFuture<>();
        Thread.ofVirtual().name("sandbox-agent-http").start(() -> {
            try {
                status.complete(work.call());
            } catch (Exception e) {
                status.completeExceptionally(e);
            }
        });
        return status;
    }

    private static int head(Connection connection, String method) throws IOException {
        Answer answer = head(connection.input());
        if (answer.status >= 300) {
            throw SandboxException.unavailable(refusal(method, answer));
        }
        return answer.status;
    }

    private static Optional<Integer> await(
            CompletableFuture<Integer> status, Connection connection, Duration deadline) {
        try {
            return Optional.of(status.get(deadline.toMillis(), TimeUnit.MILLISECONDS));
        } catch (TimeoutException e) {
            return Optional.empty();
        } catch (ExecutionException e) {
            throw e.getCause() instanceof SandboxException known
                    ? known
                    : SandboxException.unavailable("sandbox-agent broke off: " + e.getCause(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("interrupted while waiting for sandbox-agent", e);
        } finally {
            connection.close();
        }
    }

    private void send(Connection connection, String method, String path, String headers, String body)
            throws IOException {
        byte[] content = body.getBytes(UTF_8);
        ByteArrayOutputStream request = new ByteArrayOutputStream();
        request.write((method + " " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + token
                        + "\r\nConnection: close\r\n" + headers + "Content-Length: " + content.length + "\r\n\r\n")
                .getBytes(UTF_8));
        request.write(content);
        OutputStream output = connection.output();
        request.writeTo(output);
        output.flush();
    }

    private static Answer head(InputStream raw) throws IOException {
        InputStream in = new BufferedInputStream(raw);
        String[] first = Chunks.line(in, LONGEST_LINE).split(" ", 3);
        if (first.length < 2 || !first[1].matches("[1-5][0-9][0-9]")) {
            throw new IOException("what listens there does not speak HTTP");
        }
        boolean chunked = false;
        for (int i = 0; ; i++) {
            String header = Chunks.line(in, LONGEST_LINE);
            if (header.isEmpty()) {
                break;
            }
            if (i == MOST_HEADERS) {
                throw new IOException("the answer has more than " + MOST_HEADERS + " headers");
            }
            chunked |= header.toLowerCase(Locale.ROOT).matches("transfer-encoding:.*chunked");
        }
        return new Answer(Integer.parseInt(first[1]), chunked ? new Chunks(in) : in);
    }

    private static String refusal(String method, Answer answer) throws IOException {
        return "sandbox-agent answered " + method + " with status " + answer.status + ": "
                + new String(answer.body.readNBytes(COMPLAINT), UTF_8).strip();
    }
}
