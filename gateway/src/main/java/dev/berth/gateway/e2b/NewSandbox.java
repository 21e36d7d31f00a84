package dev.berth.gateway.e2b;

import dev.berth.session.Expiry;
import dev.berth.session.Expiry.Then;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** What a client wants of a sandbox that is to be made, read from what it sent. */
record NewSandbox(
        String template,
        Map<String, String> metadata,
        Map<String, String> env,
        Expiry expiry,
        boolean secure,
        ObjectNode body) {

    private static final Duration USUAL = Duration.ofMinutes(5);
    /** What the first API had, whose clients said themselves how long. */
    private static final Duration USUAL_ONCE = Duration.ofSeconds(15);

    private static final int MOST_METADATA = 64;
    /** Programs are set up by them, and some by hundreds. */
    private static final int MOST_VARIABLES = 1024;

    private static final int MOST_TEXT = 8 << 10;

    static NewSandbox read(ObjectNode body, boolean first, Timeouts timeouts) {
        JsonNode template = body.path("templateID");
        if (!template.isString() || template.asString().isBlank()) {
            throw new E2bError(400, "templateID is required, and is a text");
        }
        if (body.path("mcp").isObject() && !body.path("mcp").isEmpty()) {
            throw new E2bError(400, "MCP gateways are not supported here; run the servers in the sandbox instead");
        }
        if (body.path("iam").path("tokens").isObject()
                && !body.path("iam").path("tokens").isEmpty()) {
            throw new E2bError(400, "workload identity tokens (iam) are not supported here");
        }
        boolean pauses = flag(body, "autoPause").orElse(false);
        Optional<Boolean> keepsMemory = flag(body, "autoPauseMemory");
        boolean wakes = flag(body.path("autoResume"), "enabled").orElse(false);
        if (keepsMemory.isPresent() && !keepsMemory.get() && !pauses) {
            throw new E2bError(400, "autoPauseMemory: false needs autoPause");
        }
        if (keepsMemory.isPresent() && !keepsMemory.get() && wakes) {
            throw new E2bError(
                    400, "a sandbox that is paused without its memory cannot be resumed by traffic (autoResume)");
        }
        Then then = !pauses ? Then.DELETE : keepsMemory.orElse(true) ? Then.PAUSE : Then.STOP;
        Duration timeout = timeouts.positive(timeouts.read(body.path("timeout"), first ? USUAL_ONCE : USUAL));
        return new NewSandbox(
                template.asString(),
                texts(body, "metadata", MOST_METADATA),
                texts(body, "envVars", MOST_VARIABLES),
                new Expiry(timeout, then, wakes),
                !first || flag(body, "secure").orElse(false),
                body);
    }

    /** What is true or false, if it is there. */
    static Optional<Boolean> flag(JsonNode object, String name) {
        JsonNode value = object.path(name);
        if (value.isMissingNode() || value.isNull()) {
            return Optional.empty();
        }
        if (!value.isBoolean()) {
            throw new E2bError(400, name + " must be true or false");
        }
        return Optional.of(value.asBoolean());
    }

    private static Map<String, String> texts(ObjectNode body, String name, int most) {
        JsonNode values = body.path(name);
        if (values.isMissingNode() || values.isNull()) {
            return Map.of();
        }
        if (!values.isObject() || values.size() > most) {
            throw new E2bError(400, name + " must be an object of at most " + most + " texts");
        }
        Map<String, String> texts = new LinkedHashMap<>();
        values.properties().forEach(entry -> {
            if (!entry.getValue().isString()
                    || entry.getValue().asString().length() > MOST_TEXT
                    || (entry.getKey() + entry.getValue().asString()).indexOf('\0') >= 0) {
                throw new E2bError(400, name + "." + entry.getKey() + " must be a text of at most " + MOST_TEXT);
            }
            texts.put(entry.getKey(), entry.getValue().asString());
        });
        return texts;
    }
}
