package dev.berth.agent.acp;

import dev.berth.agent.line.LineChannel.Receiver;
import dev.berth.sandbox.SandboxException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** The other side of a wire: what it is asked, and whether it is still there. Answers are matched by id. */
final class Peer {
    /** By which the answer to a prompt is known even if nothing else is left of who sent it. */
    static final String PROMPT = "prompt-";

    private static final String REQUEST = "berth-";
    private static final SecureRandom RANDOM = new SecureRandom();

    /** No two servers have the same. */
    private final String prefix = HexFormat.of().toHexDigits(RANDOM.nextInt()) + "-";

    private final AtomicLong counter = new AtomicLong();
    private final Map<String, CompletableFuture<JsonNode>> asked = new ConcurrentHashMap<>();
    /** Whoever reads may be quicker than who opens. */
    private final CompletableFuture<Wire> opened = new CompletableFuture<>();

    private volatile boolean alive = true;

    void open(Wire.Opener opener, Receiver receiver) {
        opened.complete(opener.open(receiver));
    }

    Wire wire() {
        return opened.join();
    }

    boolean alive() {
        return alive;
    }

    void requireAlive() {
        if (!alive) {
            throw SandboxException.unavailable("the agent is gone" + wire().complaint());
        }
    }

    String newPrompt() {
        return PROMPT + prefix + counter.incrementAndGet();
    }

    /** Whether this server made the id. */
    boolean made(String id) {
        return id.startsWith(REQUEST + prefix) || id.startsWith(PROMPT + prefix);
    }

    /** @throws SandboxException also if it refused */
    JsonNode ask(String method, ObjectNode params, Duration deadline) {
        JsonNode answer = exchange(method, params, deadline);
        if (answer.has("error")) {
            throw SandboxException.unavailable(
                    "the agent refused '" + method + "': " + Rpc.reason(answer.path("error")));
        }
        return answer.path("result");
    }

    /** The whole answer, whatever it says. */
    JsonNode exchange(String method, ObjectNode params, Duration deadline) {
        String id = REQUEST + prefix + counter.incrementAndGet();
        CompletableFuture<JsonNode> answer = new CompletableFuture<>();
        asked.put(id, answer);
        try {
            send(Rpc.request(id, method, params));
            return answer.get(deadline.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            throw SandboxException.timeout("the agent did not answer '" + method + "' within " + deadline.toSeconds()
                    + " s" + wire().complaint());
        } catch (ExecutionException e) {
            throw e.getCause() instanceof SandboxException known
                    ? known
                    : SandboxException.unavailable("the agent did not answer '" + method + "'", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SandboxException.unavailable("interrupted while waiting for the agent", e);
        } finally {
            asked.remove(id);
        }
    }

    void send(ObjectNode message) {
        requireAlive();
        try {
            wire().send(message);
        } catch (SandboxException e) {
            alive = false; // a part of the message may be lost, so this way to it is of no use any more
            throw e;
        }
    }

    /** @return false if nobody waits for it */
    boolean answered(String id, ObjectNode message) {
        CompletableFuture<JsonNode> answer = asked.get(id);
        return answer != null && answer.complete(message);
    }

    void over(SandboxException why) {
        alive = false;
        asked.values().forEach(answer -> answer.completeExceptionally(why));
    }

    void end() {
        alive = false;
        wire().end();
    }

    void close() {
        wire().close();
    }
}
