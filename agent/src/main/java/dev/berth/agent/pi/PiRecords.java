package dev.berth.agent.pi;

import dev.berth.agent.AgentEvent;
import dev.berth.agent.AgentEvent.Outcome;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
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
    private static final int LONGEST_OUTPUT = 16_000;
    private static final int LONGEST_TITLE = 200;

    private boolean running;
    private boolean settling;
    private boolean failedLast;
    private boolean aborted;
    private @Nullable String error;
    private int queued;
    private long inputTokens;
    private long outputTokens;
    private double cost;

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

    /** Messages that it has not taken up yet. */
    int queued() {
        return queued;
    }

    /** It said that it is busy, when it was asked. */
    void foundRunning() {
        running = true;
    }

    List<AgentEvent> read(ObjectNode record) {
        List<AgentEvent> events = new ArrayList<>();
        switch (record.path("type").asString("")) {
            case "agent_start" -> begin(events);
            case "agent_end" -> agentEnd(record);
            case "agent_settled" -> {
                aborted |= record.path("aborted").asBoolean(false);
                finish(events);
            }
            case "turn_end", "entry_appended" -> events.add(new AgentEvent.Noted());
            case "message_update" -> delta(record.path("assistantMessageEvent"), events);
            case "message_end" -> messageEnd(record.path("message"), events);
            case "tool_execution_start" -> toolStart(record, events);
            case "tool_execution_update" ->
                events.add(new AgentEvent.ToolUpdated(call(record), text(record.path("partialResult"))));
            case "tool_execution_end" ->
                events.add(new AgentEvent.ToolEnded(
                        call(record), !record.path("isError").asBoolean(false), text(record.path("result"))));
            case "queue_update" ->
                queued =
                        record.path("steering").size() + record.path("followUp").size();
            case "auto_retry_start" -> {
                settling = false;
                events.add(new AgentEvent.Status(retrying(record)));
            }
            case "auto_retry_end" -> {
                if (!record.path("success").asBoolean(true)) {
                    settling = running;
                    failedLast = false;
                }
            }
            case "compaction_start" -> {
                settling = false;
                events.add(new AgentEvent.Status("Making the history of the conversation shorter"));
            }
            case "compaction_end" ->
                settling = running && !record.path("willRetry").asBoolean(false);
            case "extension_error" ->
                events.add(new AgentEvent.Status("An extension of the agent failed: "
                        + cut(record.path("error").asString(""), LONGEST_TITLE)));
            default -> {
                // Newer versions say more than this one understands.
            }
        }
        return events;
    }

    /** An older pi has nothing more to do. */
    List<AgentEvent> settled() {
        List<AgentEvent> events = new ArrayList<>();
        finish(events);
        return events;
    }

    private void begin(List<AgentEvent> events) {
        settling = false;
        failedLast = false;
        if (!running) {
            running = true;
            aborted = false;
            error = null;
            inputTokens = 0;
            outputTokens = 0;
            cost = 0;
            events.add(new AgentEvent.Began());
        }
    }

    private void agentEnd(ObjectNode record) {
        settling = running && !record.has("willRetry");
    }

    private void finish(List<AgentEvent> events) {
        settling = false;
        if (!running) {
            return;
        }
        running = false;
        events.add(new AgentEvent.Noted());
        String why = error;
        if (aborted) {
            events.add(new AgentEvent.Ended(Outcome.ABORTED, Optional.empty()));
        } else if (why != null) {
            events.add(new AgentEvent.Ended(Outcome.FAILED, Optional.of(why)));
        } else {
            events.add(new AgentEvent.Ended(Outcome.DONE, Optional.empty()));
        }
    }

    private static void delta(JsonNode event, List<AgentEvent> events) {
        String delta = event.path("delta").asString("");
        if (delta.isEmpty()) {
            return;
        }
        switch (event.path("type").asString("")) {
            case "text_delta" -> events.add(new AgentEvent.Text(delta));
            case "thinking_delta" -> events.add(new AgentEvent.Thought(delta));
            default -> {
                // The arguments of a tool, which come whole with its start.
            }
        }
    }

    private void messageEnd(JsonNode message, List<AgentEvent> events) {
        if (!message.path("role").asString("").equals("assistant")) {
            return;
        }
        String reason = message.path("stopReason").asString("");
        failedLast = reason.equals("error");
        aborted = reason.equals("aborted");
        error = failedLast ? cut(message.path("errorMessage").asString("the model failed"), LONGEST_OUTPUT) : null;
        JsonNode usage = message.path("usage");
        if (usage.isObject()) {
            inputTokens +=
                    usage.path("input").asLong(0) + usage.path("cacheRead").asLong(0);
            outputTokens += usage.path("output").asLong(0);
            cost += usage.path("cost").path("total").asDouble(0);
            events.add(new AgentEvent.Used(inputTokens, outputTokens, cost > 0 ? Optional.of(cost) : Optional.empty()));
        }
    }

    private static void toolStart(ObjectNode record, List<AgentEvent> events) {
        String tool = record.path("toolName").asString("");
        Map<String, Object> arguments = arguments(record.path("args"));
        events.add(new AgentEvent.ToolStarted(call(record), tool, title(tool, arguments), arguments));
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
