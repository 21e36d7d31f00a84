package dev.berth.agent.acp;

import dev.berth.agent.AgentEvent;
import dev.berth.agent.AgentEvent.Outcome;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Says in our words what an agent's messages mean.
 *
 * <p>Some agents tell of a tool before they know its arguments. Then it is held back for a moment, but never longer than
 * until something else is told: so everything that came before a position has been told there, and whoever takes up from
 * it knows that a tool it has not heard of was told of already.
 *
 * <p>Used by one thread at a time.
 */
final class Updates {
    private static final int LONGEST_OUTPUT = 16_000;
    private static final int LONGEST_TITLE = 200;
    /** How many uses of tools are remembered, in case that an agent ends none of them. */
    private static final int MOST_CALLS = 1000;

    /** @param position up to which everything has been told with this */
    record Told(AgentEvent event, long position) {}

    /** One use of a tool, as far as it is known. */
    private static final class Call {
        private final String id;
        private final long position;
        private String tool;
        private String title;
        private Map<String, Object> arguments = Map.of();
        private String output = "";
        private boolean started;

        Call(String id, JsonNode news, long position) {
            this.id = id;
            this.position = position;
            this.title = news.path("title").asString("");
            this.tool = tool(news.path("kind").asString(""), title);
            learn(news);
        }

        void learn(JsonNode news) {
            if (!news.path("title").asString("").isBlank()) {
                title = news.path("title").asString();
            }
            if (news.path("rawInput").isObject() && !news.path("rawInput").isEmpty()) {
                arguments = Updates.arguments(news.path("rawInput"));
            }
        }

        boolean knowsItsArguments() {
            return arguments.keySet().stream().anyMatch(name -> !name.equals("cwd"));
        }

        AgentEvent.ToolStarted start() {
            started = true;
            return new AgentEvent.ToolStarted(id, tool, Updates.title(tool, title, arguments), arguments);
        }
    }

    private final boolean fromTheMiddle;
    private final Map<String, Call> calls = new LinkedHashMap<>();

    /** @param fromTheMiddle whether somebody else has heard what came before */
    Updates(boolean fromTheMiddle) {
        this.fromTheMiddle = fromTheMiddle;
    }

    /** Whether a turn has certainly begun when this is heard. */
    static boolean begins(JsonNode update) {
        return switch (kind(update)) {
            case "agent_message_chunk", "agent_thought_chunk", "tool_call" -> true;
            default -> false;
        };
    }

    /**
     * What an update means, if anything.
     *
     * @param before the position before it
     * @param end the position behind it
     */
    List<Told> read(JsonNode update, long before, long end) {
        List<Told> told = new ArrayList<>();
        switch (kind(update)) {
            case "agent_message_chunk" ->
                chunk(update).ifPresent(text -> told.add(new Told(new AgentEvent.Text(text), end)));
            case "agent_thought_chunk" ->
                chunk(update).ifPresent(text -> told.add(new Told(new AgentEvent.Thought(text), end)));
            case "tool_call", "tool_call_update" -> tool(update, before, end, told);
            case "plan" -> plan(update).ifPresent(text -> told.add(new Told(new AgentEvent.Status(text), end)));
            default -> {} // of no interest to people, or newer than this
        }
        return withHeld(told);
    }

    /** It asks before it uses a tool. */
    List<Told> asked(String question, JsonNode toolCall, long end) {
        String id = toolCall.path("toolCallId").asString("");
        Call asking = new Call(id, toolCall, end);
        Call known = calls.get(id);
        if (known != null) {
            asking.tool = known.tool;
            if (asking.arguments.isEmpty()) {
                asking.arguments = known.arguments;
            }
            if (!known.started) {
                known.learn(toolCall);
            }
        }
        return withHeld(List.of(new Told(
                new AgentEvent.Asked(
                        question, asking.tool, title(asking.tool, asking.title, asking.arguments), asking.arguments),
                end)));
    }

    /** A turn is over, and with it everything that was going on. */
    void over() {
        calls.clear();
    }

    /** How a turn ended, by the answer to its prompt. */
    static AgentEvent.Ended end(JsonNode answer) {
        if (answer.has("error")) {
            return failed(Rpc.reason(answer.path("error")));
        }
        return switch (answer.path("result").path("stopReason").asString("")) {
            case "cancelled" -> new AgentEvent.Ended(Outcome.ABORTED, Optional.empty());
            case "refusal" -> failed("the model refused to go on with this");
            default -> new AgentEvent.Ended(Outcome.DONE, Optional.empty());
        };
    }

    private static AgentEvent.Ended failed(String why) {
        return new AgentEvent.Ended(Outcome.FAILED, Optional.of(cut(why, LONGEST_OUTPUT)));
    }

    static Optional<AgentEvent> used(JsonNode answer) {
        JsonNode usage = answer.path("result").path("usage");
        long input = usage.path("inputTokens").asLong(0)
                + usage.path("cachedReadTokens").asLong(0);
        long output = usage.path("outputTokens").asLong(0);
        return input + output > 0
                ? Optional.of(new AgentEvent.Used(input, output, Optional.empty()))
                : Optional.empty();
    }

    private static String kind(JsonNode update) {
        return update.path("sessionUpdate").asString("");
    }

    private static Optional<String> chunk(JsonNode update) {
        return Optional.of(update.path("content").path("text").asString("")).filter(text -> !text.isEmpty());
    }

    private void tool(JsonNode news, long before, long end, List<Told> told) {
        String id = news.path("toolCallId").asString("");
        String status = news.path("status").asString("");
        boolean over = status.equals("completed") || status.equals("failed");
        Call call = calls.get(id);
        if (call == null) {
            call = new Call(id, news, end);
            call.started = fromTheMiddle && kind(news).equals("tool_call_update");
            remember(call);
        } else {
            call.learn(news);
        }
        if (!call.started && (call.knowsItsArguments() || !(status.isEmpty() || status.equals("pending")))) {
            told.add(new Told(call.start(), over ? before : end));
        }
        String output = output(news);
        if (over) {
            calls.remove(id);
            told.add(new Told(
                    new AgentEvent.ToolEnded(id, status.equals("completed"), output.isEmpty() ? call.output : output),
                    end));
        } else if (!output.isEmpty() && !output.equals(call.output)) {
            if (!call.started) {
                told.add(new Told(call.start(), before));
            }
            call.output = output;
            told.add(new Told(new AgentEvent.ToolUpdated(id, output), end));
        }
    }

    private void remember(Call call) {
        calls.put(call.id, call);
        if (calls.size() > MOST_CALLS) {
            calls.remove(calls.keySet().iterator().next());
        }
    }

    private List<Told> withHeld(List<Told> told) {
        if (told.isEmpty()) {
            return told;
        }
        List<Told> all = new ArrayList<>();
        for (Call call : calls.values()) {
            if (!call.started) {
                all.add(new Told(call.start(), call.position));
            }
        }
        all.addAll(told);
        return all;
    }

    private static Optional<String> plan(JsonNode update) {
        int number = 0;
        for (JsonNode entry : update.path("entries")) {
            number++;
            if (entry.path("status").asString("").equals("in_progress")) {
                return Optional.of("Step %d of %d: %s"
                        .formatted(
                                number,
                                update.path("entries").size(),
                                cut(entry.path("content").asString(""), LONGEST_TITLE)));
            }
        }
        return Optional.empty();
    }

    /** The protocol has no names of tools, only kinds; a title that is one word is taken for the name where it helps. */
    private static String tool(String kind, String title) {
        boolean name = title.matches("[A-Za-z][A-Za-z0-9_.-]{0,63}");
        return switch (kind) {
            case "execute" -> "bash";
            case "edit" -> title.equals("write") ? "write" : "edit";
            case "delete", "move" -> "edit";
            case "read" -> "read";
            default -> name ? title : kind.isEmpty() ? "other" : cut(kind, LONGEST_TITLE);
        };
    }

    /** One line for people. */
    private static String title(String tool, String title, Map<String, Object> arguments) {
        Object path = arguments.getOrDefault(
                "filePath", arguments.getOrDefault("filepath", arguments.getOrDefault("path", title)));
        String line = switch (tool) {
            case "bash" -> "Run " + arguments.getOrDefault("command", title);
            case "read" -> "Read " + path;
            case "write" -> "Write " + path;
            case "edit" -> "Edit " + path;
            case AgentEvent.SHOW_FILE -> "Show " + path;
            default -> title.isEmpty() ? tool : title;
        };
        return cut(line, LONGEST_TITLE);
    }

    /** As they are, but for what is too long to be told to anybody. */
    private static Map<String, Object> arguments(JsonNode input) {
        Map<String, Object> arguments = new LinkedHashMap<>();
        input.properties().forEach(field -> {
            JsonNode value = field.getValue();
            arguments.put(field.getKey(), cut(value.isString() ? value.asString() : value.toString(), LONGEST_OUTPUT));
        });
        return arguments;
    }

    /** The end of what a tool printed. */
    private static String output(JsonNode news) {
        StringBuilder text = new StringBuilder();
        for (JsonNode part : news.path("content")) {
            text.append(part.path("content").path("text").asString(""));
        }
        if (text.isEmpty()) {
            JsonNode raw = news.path("rawOutput");
            text.append(text(raw)).append(text(raw.path("output"))).append(text(raw.path("error")));
        }
        return text.length() > LONGEST_OUTPUT ? text.substring(text.length() - LONGEST_OUTPUT) : text.toString();
    }

    private static String text(@Nullable JsonNode node) {
        return node != null && node.isString() ? node.asString() : "";
    }

    private static String cut(String text, int length) {
        return text.length() > length ? text.substring(0, length) + "…" : text;
    }
}
