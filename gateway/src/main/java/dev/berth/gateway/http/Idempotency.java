package dev.berth.gateway.http;

import dev.berth.gateway.auth.Scope;
import dev.berth.gateway.config.SealedColumn;
import dev.berth.gateway.config.Sealer;
import dev.berth.gateway.http.IdempotencyTable.Kept;
import dev.berth.gateway.http.IdempotencyTable.Name;
import dev.berth.gateway.http.IdempotencyTable.Row;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.store.Database;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * Lets clients repeat a request that makes something without making it twice: draft-ietf-httpapi-idempotency-key-header.
 * The first request with a key runs and its answer is kept; the same request with the same key gets that answer again.
 * What may turn out otherwise the next time, such as a limit that was reached, is not kept: then it runs again.
 */
public final class Idempotency {
    private static final Logger LOG = LoggerFactory.getLogger(Idempotency.class);
    static final String HEADER = "Idempotency-Key";
    static final String REPLAYED = "Idempotency-Replayed";

    private static final Pattern KEY = Pattern.compile("[\\x21-\\x7e]{1,255}");
    private static final Duration KEPT = Duration.ofHours(24);
    private static final Duration LEASE = Duration.ofSeconds(60);
    private static final int MOST_KEPT = 256 << 10;
    /** Statuses below 500 that say nothing about the request itself. */
    private static final Set<Integer> PASSING = Set.of(401, 403, 408, 429);

    /** What is sealed of the answers that are kept. */
    public static final SealedColumn SEALED = IdempotencyTable.SEALED;

    private final IdempotencyTable table;
    private final Set<UUID> running = ConcurrentHashMap.newKeySet();

    public Idempotency(Database database, Sealer sealer) {
        this.table = new IdempotencyTable(database, sealer);
    }

    /** The endpoint of an operation that makes something. */
    public Endpoint around(Endpoint endpoint) {
        return exchange -> {
            Optional<String> key = exchange.header(HEADER);
            return key.isPresent() ? answer(endpoint, exchange, key.get()) : endpoint.answer(exchange);
        };
    }

    /** To be called well within a minute, each time: keeps what runs from being taken for dead. */
    public void sweep() {
        if (!running.isEmpty()) {
            table.renew(List.copyOf(running), LEASE);
        }
        table.forget(KEPT);
    }

    private Answer answer(Endpoint endpoint, Exchange exchange, String key) throws Exception {
        if (!KEY.matcher(key).matches()) {
            throw SandboxException.invalid(HEADER + " has to be 1 to 255 visible ASCII characters, such as a UUID");
        }
        Name name = Name.of(exchange.caller(), key);
        byte[] request = digest(exchange);
        UUID run = UUID.randomUUID();
        if (table.claim(name, request, run, LEASE, KEPT)) {
            return run(endpoint, exchange, name, run);
        }
        Optional<Row> there = table.find(name);
        if (there.isPresent() && !MessageDigest.isEqual(there.get().request(), request)) {
            Problems.Problem problem = Problems.plain(
                    422,
                    "idempotency_key_reused",
                    "another request was made with this " + HEADER + "; use a new key for each request",
                    exchange.id());
            return new Answer.Raw(
                    problem.status(),
                    Problems.CONTENT_TYPE,
                    Bodies.JSON.writeValueAsString(problem.body()),
                    problem.headers());
        }
        Kept kept = there.flatMap(Row::answer)
                .orElseThrow(() -> SandboxException.conflict(
                        "the first request with this " + HEADER + " is still running; try again when it has ended"));
        return new Answer.Raw(kept.status(), kept.contentType(), kept.body(), Map.of(REPLAYED, "true"));
    }

    private Answer run(Endpoint endpoint, Exchange exchange, Name name, UUID run) throws Exception {
        running.add(run);
        try {
            Answer answer = endpoint.answer(exchange);
            end(name, run, kept(answer));
            return answer;
        } catch (SandboxException e) {
            Problems.Problem problem = Problems.of(e, exchange.id());
            end(name, run, kept(problem.status(), Problems.CONTENT_TYPE, problem.body()));
            throw e;
        } catch (Exception | Error e) {
            end(name, run, Optional.empty());
            throw e;
        } finally {
            running.remove(run);
        }
    }

    private static Optional<Kept> kept(Answer answer) {
        return switch (answer) {
            case Answer.Json(int status, Object value) -> kept(status, "application/json", value);
            case Answer.Done() -> Optional.of(new Kept(204, "", ""));
            default -> Optional.empty();
        };
    }

    private static Optional<Kept> kept(int status, String contentType, Object body) {
        if (status >= 500 || PASSING.contains(status)) {
            return Optional.empty();
        }
        String text = Bodies.JSON.writeValueAsString(body);
        return text.getBytes(StandardCharsets.UTF_8).length > MOST_KEPT
                ? Optional.empty()
                : Optional.of(new Kept(status, contentType, text));
    }

    /** What has happened has happened, whether or not it could be written down. */
    private void end(Name name, UUID run, Optional<Kept> answer) {
        try {
            answer.ifPresentOrElse(kept -> table.keep(name, run, kept), () -> table.release(name, run));
        } catch (SandboxException e) {
            LOG.atWarn().addKeyValue("error", e.getMessage()).log("idempotency.failed");
        }
    }

    /**
     * What makes two requests the same. What the caller may do is part of it, as a key that is made may do as much as its
     * maker. Of a body that is not JSON, and so only read by the endpoint, the length has to do.
     */
    private static byte[] digest(Exchange exchange) {
        ArrayNode request = JsonNodeFactory.instance.arrayNode();
        request.add(exchange.operation());
        request.add(Bodies.JSON.<JsonNode>valueToTree(new TreeMap<>(exchange.path())));
        request.add(Bodies.JSON.<JsonNode>valueToTree(new TreeMap<>(exchange.query())));
        request.add(exchange.caller().scopes().stream()
                .map(Scope::toString)
                .sorted()
                .reduce("", (all, scope) -> all + " " + scope));
        request.add(sorted(exchange.body()));
        request.add(exchange.isJson() ? "" : exchange.header("Content-Length").orElse(""));
        try {
            return MessageDigest.getInstance("SHA-256").digest(Bodies.JSON.writeValueAsBytes(request));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }

    /** The same value with the fields of every object in order, as their order means nothing. */
    private static JsonNode sorted(JsonNode node) {
        return switch (node) {
            case ObjectNode object -> {
                ObjectNode copy = JsonNodeFactory.instance.objectNode();
                object.properties().stream()
                        .sorted(Map.Entry.comparingByKey())
                        .forEach(field -> copy.set(field.getKey(), sorted(field.getValue())));
                yield copy;
            }
            case ArrayNode list -> {
                ArrayNode copy = JsonNodeFactory.instance.arrayNode();
                list.forEach(item -> copy.add(sorted(item)));
                yield copy;
            }
            default -> node;
        };
    }
}
