package dev.berth.agent.pi;

import dev.berth.agent.AgentEvent;
import dev.berth.agent.AgentEvent.Outcome;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.filter.TokenFilter;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * Says in our words what pi's records mean, and when a run is over.
 *
 * <p>{@code agent_end} is not the end: trying again after an error, making the history shorter and messages that were
 * queued come after it. A pi that says {@code willRetry} there also says {@code agent_settled} when all is over; an older
 * one has to be {@linkplain #settling asked}.
 *
 * <p>Used by one thread at a time.
 */
final class PiRecords {
    /** Copies of the conversation come with many records, and are needed with none. */
    static final TokenFilter WANTED = new TokenFilter() {
        @Override
        public @Nullable TokenFilter includeProperty(String name) {
            return switch (name) {
                case "messages", "toolResults", "partial", "entry" -> null;
                case "message" -> WITHOUT_CONTENT;
                default -> this;
            };
        }
    };

    private static final TokenFilter WITHOUT_CONTENT = new TokenFilter() {
        @Override
        public @Nullable TokenFilter includeProperty(String name) {
            return name.equals("content") ? null : this;
        }
    };

    private static final int LONGEST_OUTPUT = 16_000;
    private static final int LONGEST_TITLE = 200;

    private boolean running;
    private boolean settling;
    private boolean speaksOfItsEnd;
    private boolean failedLast;
    private boolean aborted;
    private @Nullable String error;

    /** @param running whether a run goes on already */
    PiRecords(boolean running) {
        this.running = running;
    }

    boolean running() {
        return running;
    }

    /** Whether an older pi may be done, and should be asked for its state. */
    boolean settling() {
        return settling;
    }

    /** Whether its last attempt failed, so that another one may follow. */
    boolean failedLast() {
        return failedLast;
    }

    /** It said that it does nothing, though no end of its run was heard. */
    void foundIdle() {
        settling = running;
    }

    /** What a record means, if anything. It is never more than one thing, so that none is lost with the server. */
    Optional<AgentEvent> read(ObjectNode record) {
        return Optional.ofNullable(
                switch (record.path("type").asString("")) {
                    case "agent_start" -> begin();
                    case "agent_end" -> agentEnd(record);
                    case "agent_settled" -> {
                        aborted |= record.path("aborted").asBoolean(false);
                        yield finish();
                    }
                    case "turn_end" -> new AgentEvent.Noted();
                    case "message_update" -> delta(record.path("assistantMessageEvent"));
                    case "message_end" -> messageEnd(record.path("message"));
                    case "tool_execution_start" -> toolStart(record);
                    case "tool_execution_update" ->
                        new AgentEvent.ToolUpdated(call(record), text(record.path("partialResult")));
                    case "tool_execution_end" ->
                        new AgentEvent.ToolEnded(
                                call(record), !record.path("isError").asBoolean(false), text(record.path("result")));
                    case "auto_retry_start" -> {
                        settling = false;
                        yield new AgentEvent.Status(retrying(record));
                    }
                    case "auto_retry_end" -> retryEnd(record);
                    case "compaction_start" -> {
                        settling = false;
                        yield new AgentEvent.Status("Making the history of the conversation shorter");
                    }
                    case "compaction_end" -> compactionEnd(record);
                    case "extension_error" ->
                        new AgentEvent.Status("An extension of the agent failed: "
                                + cut(record.path("error").asString(""), LONGEST_TITLE));
                    default -> null; // newer versions say more than this one understands
                });
    }

    /** An older pi has nothing more to do. */
    Optional<AgentEvent> settled() {
        return Optional.ofNullable(finish());
    }

    /** It was told to stop, and is about to be ended. */
    Optional<AgentEvent> stopped() {
        aborted = true;
        return settled();
    }

    private @Nullable AgentEvent begin() {
        settling = false;
        failedLast = false;
        if (running) {
            return null;
        }
        running = true;
        aborted = false;
        error = null;
        return new AgentEvent.Began();
    }

    private @Nullable AgentEvent agentEnd(ObjectNode record) {
        speaksOfItsEnd = record.has("willRetry");
        settling = running && !speaksOfItsEnd;
        return null;
    }

    private @Nullable AgentEvent retryEnd(ObjectNode record) {
        if (!record.path("success").asBoolean(true)) {
            settling = running && !speaksOfItsEnd;
            failedLast = false;
        }
        return null;
    }

    private @Nullable AgentEvent compactionEnd(ObjectNode record) {
        settling = running && !speaksOfItsEnd && !record.path("willRetry").asBoolean(false);
        return null;
    }

    private @Nullable AgentEvent finish() {
        settling = false;
        if (!running) {
            return null;
        }
        running = false;
        if (aborted) {
            return new AgentEvent.Ended(Outcome.ABORTED, Optional.empty());
        }
        return error != null
                ? new AgentEvent.Ended(Outcome.FAILED, Optional.of(error))
                : new AgentEvent.Ended(Outcome.DONE, Optional.empty());
    }

    private static @Nullable AgentEvent delta(JsonNode event) {
        String delta = event.path("delta").asString("");
        if (delta.isEmpty()) {
            return null;
        }
        return switch (event.path("type").asString("")) {
            case "text_delta" -> new AgentEvent.Text(delta);
            case "thinking_delta" -> new AgentEvent.Thought(delta);
            default -> null; // the arguments of a tool, which come whole with its start
        };
    }

    private @Nullable AgentEvent messageEnd(JsonNode message) {
        if (!message.path("role").asString("").equals("assistant")) {
            return null;
        }
        String reason = message.path("stopReason").asString("");
        failedLast = reason.equals("error");
        aborted = reason.equals("aborted");
        error = failedLast ? cut(message.path("errorMessage").asString("the model failed"), LONGEST_OUTPUT) : null;
        JsonNode usage = message.path("usage");
        if (!usage.isObject()) {
            return null;
        }
        double cost = usage.path("cost").path("total").asDouble(0);
        return new AgentEvent.Used(
                usage.path("input").asLong(0) + usage.path("cacheRead").asLong(0),
                usage.path("output").asLong(0),
                cost > 0 ? Optional.of(cost) : Optional.empty());
    }

    private static AgentEvent toolStart(ObjectNode record) {
        String tool = record.path("toolName").asString("");
        Map<String, Object> arguments = arguments(record.path("args"));
        return new AgentEvent.ToolStarted(call(record), tool, title(tool, arguments), arguments);
    }

    /** One line for people. */
    static String title(String tool, Map<String, Object> arguments) {
        Object what = switch (tool) {
            case "bash" -> arguments.get("command");
            case "grep", "find" -> arguments.get("pattern");
            default -> arguments.get("path");
        };
        String doing = switch (tool) {
            case "bash" -> "Run";
            case "read" -> "Read";
            case "write" -> "Write";
            case "edit" -> "Edit";
            case "grep", "find" -> "Search";
            case "ls" -> "List";
            case AgentEvent.SHOW_FILE -> "Show";
            default -> tool;
        };
        return cut(what == null ? doing : doing + " " + what, LONGEST_TITLE);
    }

    /** As they are, but for what is too long to be told to anybody. */
    static Map<String, Object> arguments(JsonNode args) {
        Map<String, Object> arguments = new LinkedHashMap<>();
        args.properties().forEach(field -> {
            JsonNode value = field.getValue();
            arguments.put(field.getKey(), cut(value.isString() ? value.asString() : value.toString(), LONGEST_OUTPUT));
        });
        return arguments;
    }

    private static String retrying(ObjectNode record) {
        return "Trying again (%d of %d) in %d s: %s"
                .formatted(
                        record.path("attempt").asInt(0),
                        record.path("maxAttempts").asInt(0),
                        Math.max(1, record.path("delayMs").asLong(0) / 1000),
                        cut(record.path("errorMessage").asString("the model failed"), LONGEST_TITLE));
    }

    private static String call(ObjectNode record) {
        return record.path("toolCallId").asString("");
    }

    /** The end of what a tool printed. */
    private static String text(JsonNode result) {
        StringBuilder text = new StringBuilder();
        for (JsonNode part : result.path("content")) {
            text.append(part.path("text").asString(""));
        }
        return text.length() > LONGEST_OUTPUT ? text.substring(text.length() - LONGEST_OUTPUT) : text.toString();
    }

    private static String cut(String text, int length) {
        return text.length() > length ? text.substring(0, length) + "…" : text;
    }
}
