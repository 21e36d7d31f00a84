package dev.berth.agent.chat;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.berth.agent.chat.ModelException.Kind;
import dev.berth.agent.chat.Stop.Stopped;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * Asks a model, in the way of OpenAI's chat completions, and passes on its answer as it comes.
 *
 * <p>Whoever serves the model is not trusted: sizes and times have limits, redirections are not followed, since the key
 * would go along, and nothing that is said about an error has the key in it.
 */
public final class ModelClient implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ModelClient.class);
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int RETRIES = 3;
    private static final Duration LONGEST_PAUSE = Duration.ofMinutes(1);
    private static final int LONGEST_MESSAGE = 600;
    private static final int LONGEST_ERROR = 64 << 10;
    private static final long LONGEST_STREAM = 64L << 20;

    /** Is told what happens while the model answers. */
    interface Telling {
        void text(String piece);

        void thought(String piece);

        /** @param cost 0 if it is not known */
        void used(long inputTokens, long outputTokens, double cost);

        void status(String text);

        /** It is asked again, and what it said so far counts no more. */
        void again();
    }

    private final ModelConfig config;
    private final HttpClient http;
    private final AtomicLong counter = new AtomicLong(System.nanoTime());
    /** Whether the server takes a wish for usage; some refuse what they do not know. */
    private volatile boolean usage = true;

    public ModelClient(ModelConfig config) {
        this.config = config;
        this.http = HttpClient.newBuilder()
                // Small servers of models stumble over the offer of HTTP/2 that a plain connection begins with.
                .version(
                        "https".equals(config.url().getScheme())
                                ? HttpClient.Version.HTTP_2
                                : HttpClient.Version.HTTP_1_1)
                .followRedirects(HttpClient.Redirect.NEVER)
                .connectTimeout(config.patience().first())
                .executor(Executors.newVirtualThreadPerTaskExecutor())
                .build();
    }

    /** Asks, and asks again where that may help. */
    Answer ask(ArrayNode messages, ArrayNode tools, Telling telling, Stop stop) throws ModelException, Stopped {
        for (int attempt = 1; ; attempt++) {
            try {
                return askOnce(messages, tools, telling, stop);
            } catch (ModelException e) {
                Duration pause = e.after()
                        .filter(after -> !after.isNegative())
                        .orElse(config.patience().pause().multipliedBy(1L << (attempt - 1)));
                if (e.kind() != Kind.PASSING || attempt > RETRIES || pause.compareTo(LONGEST_PAUSE) > 0) {
                    throw e;
                }
                telling.status("Trying again (%d of %d) in %d s: %s"
                        .formatted(attempt, RETRIES, Math.max(1, pause.toSeconds()), e.getMessage()));
                stop.sleep(pause);
                telling.again();
            }
        }
    }

    private Answer askOnce(ArrayNode messages, ArrayNode tools, Telling telling, Stop stop)
            throws ModelException, Stopped {
        boolean withUsage = usage;
        try {
            return exchange(body(messages, tools, withUsage), telling, stop);
        } catch (ModelException e) {
            if (withUsage && e.kind() == Kind.REFUSED && e.getMessage().contains("stream_options")) {
                usage = false;
                return exchange(body(messages, tools, false), telling, stop);
            }
            throw e;
        }
    }

    private byte[] body(ArrayNode messages, ArrayNode tools, boolean withUsage) {
        ObjectNode body = JSON.createObjectNode().put("model", config.name()).put("stream", true);
        if (withUsage) {
            body.putObject("stream_options").put("include_usage", true);
        }
        body.set("messages", messages);
        body.set("tools", tools);
        // By way of a string, as half of a surrogate pair, which people can send, is an error otherwise.
        return JSON.writeValueAsString(body).getBytes(UTF_8);
    }

    private Answer exchange(byte[] body, Telling telling, Stop stop) throws ModelException, Stopped {
        stop.check();
        Optional<String> key = config.key().get().map(String::strip).filter(given -> !given.isEmpty());
        long begun = System.nanoTime();
        HttpResponse<Flow.Publisher<List<ByteBuffer>>> response = send(request(body, key), stop);
        try (Pieces pieces = new Pieces()) {
            response.body().subscribe(pieces);
            stop.then(pieces::close);
            String type =
                    response.headers().firstValue("Content-Type").orElse("").toLowerCase(Locale.ROOT);
            if (response.statusCode() != 200) {
                throw ModelErrors.of(
                        response.statusCode(),
                        covered(beginning(pieces), key),
                        response.headers().firstValue("Retry-After"),
                        config.name(),
                        config.url().toString());
            }
            if (type.startsWith("text/html") || type.startsWith("application/json")) {
                String said = type.startsWith("text/html") ? "" : ModelErrors.said(covered(beginning(pieces), key));
                throw new ModelException(
                        Kind.LASTING,
                        "the model's server answered with " + Words.line(type, 60)
                                + " in place of a stream; check the model's url, which often ends with /v1"
                                + (said.isEmpty() || said.startsWith("{") ? "" : ": " + said));
            }
            return read(pieces, begun, telling);
        } catch (IOException e) {
            stop.check();
            throw new ModelException(Kind.PASSING, "the connection to the model was cut in the middle of its answer");
        } catch (TimeoutException e) {
            stop.check();
            throw new ModelException(
                    Kind.LASTING,
                    "the model fell silent in the middle of its answer; try again, or look at its server");
        } catch (ModelException e) {
            stop.check();
            // Covered before it is cut, or a part of the key could be left.
            throw new ModelException(e.kind(), Words.line(covered(e.getMessage(), key), LONGEST_MESSAGE), e.after());
        }
    }

    private HttpRequest request(byte[] body, Optional<String> key) throws ModelException {
        HttpRequest.Builder request = HttpRequest.newBuilder(config.completions())
                .header("Content-Type", "application/json")
                .header("Accept", "text/event-stream")
                .POST(HttpRequest.BodyPublishers.ofByteArray(body));
        if (key.isPresent()) {
            // The error of the HTTP client would have the key in it.
            if (!key.get().chars().allMatch(c -> c > ' ' && c < 127)) {
                throw new ModelException(
                        Kind.LASTING,
                        "the model's key has characters that no key can have, such as a line break; set it anew in this"
                                + " server's configuration");
            }
            request.header("Authorization", "Bearer " + key.get());
        }
        return request.build();
    }

    private HttpResponse<Flow.Publisher<List<ByteBuffer>>> send(HttpRequest request, Stop stop)
            throws ModelException, Stopped {
        CompletableFuture<HttpResponse<Flow.Publisher<List<ByteBuffer>>>> sent =
                http.sendAsync(request, HttpResponse.BodyHandlers.ofPublisher());
        stop.then(() -> sent.cancel(true));
        try {
            return sent.get(config.patience().first().toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            sent.cancel(true);
            throw late();
        } catch (CancellationException | ExecutionException e) {
            stop.check();
            throw new ModelException(
                    Kind.PASSING,
                    "the model's server at " + config.url()
                            + " could not be reached; check its url, and whether it runs");
        } catch (InterruptedException e) {
            sent.cancel(true);
            Thread.currentThread().interrupt();
            throw new ModelException(Kind.LASTING, "interrupted while waiting for the model");
        }
    }

    private Answer read(Pieces pieces, long begun, Telling telling)
            throws IOException, TimeoutException, ModelException {
        SseReader events = new SseReader();
        AnswerBuilder builder = new AnswerBuilder(telling);
        String prefix = "call_" + Long.toString(counter.incrementAndGet(), 36) + "_";
        long bytes = 0;
        boolean anything = false;
        boolean over = false;
        while (!over) {
            Optional<byte[]> piece = next(pieces, begun, bytes == 0);
            over = piece.isEmpty();
            bytes += piece.map(some -> some.length).orElse(0);
            if (bytes > LONGEST_STREAM) {
                throw new ModelException(
                        Kind.LASTING, "the model's server sent more than " + LONGEST_STREAM + " bytes for one answer");
            }
            for (String event : over ? events.end() : events.take(piece.orElseThrow())) {
                if (event.strip().equals("[DONE]")) {
                    return builder.answer(prefix);
                }
                builder.take(event);
                anything = true;
            }
        }
        if (!builder.finished()) {
            throw anything || bytes == 0
                    ? new ModelException(
                            Kind.PASSING, "the connection to the model was cut in the middle of its answer")
                    : new ModelException(
                            Kind.LASTING,
                            "the model's server sent something that is no stream; check the model's url, which often ends"
                                    + " with /v1");
        }
        return builder.answer(prefix);
    }

    private Optional<byte[]> next(Pieces pieces, long begun, boolean first)
            throws IOException, TimeoutException, ModelException {
        Duration gone = Duration.ofNanos(System.nanoTime() - begun);
        Duration left = config.patience().whole().minus(gone);
        if (left.isNegative()) {
            throw new ModelException(
                    Kind.LASTING,
                    "the model's answer took more than "
                            + config.patience().whole().toSeconds() + " s; it was stopped");
        }
        Duration patience = first
                ? config.patience().first().minus(gone)
                : config.patience().silence();
        try {
            return pieces.next(patience);
        } catch (TimeoutException e) {
            if (first) {
                throw late();
            }
            throw e;
        }
    }

    private ModelException late() {
        return new ModelException(
                Kind.LASTING,
                "the model did not begin to answer within "
                        + config.patience().first().toSeconds() + " s; try again, or look at its server");
    }

    /** What a server says about an error, as far as it does: its status is known already. */
    private String beginning(Pieces pieces) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try {
            for (Optional<byte[]> piece = pieces.next(config.patience().silence());
                    piece.isPresent() && bytes.size() < LONGEST_ERROR;
                    piece = pieces.next(config.patience().silence())) {
                bytes.writeBytes(piece.get());
            }
        } catch (IOException | TimeoutException e) {
            LOG.debug("the model's server did not say all about its error", e);
        }
        return bytes.toString(UTF_8);
    }

    private static String covered(String text, Optional<String> key) {
        return key.map(secret -> text.replace(secret, "***")).orElse(text);
    }

    /** Lets go of its connections; whoever waits for an answer is told that there is none. */
    @Override
    public void close() {
        http.shutdownNow();
        http.close();
    }
}
