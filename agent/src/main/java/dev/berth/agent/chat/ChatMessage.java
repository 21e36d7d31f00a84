package dev.berth.agent.chat;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** One message of a conversation with a model, in the form in which it is sent and kept. */
sealed interface ChatMessage {
    JsonMapper JSON = JsonMapper.builder().build();

    /** What is paid for a message besides its text. */
    int FRAME = 64;

    record User(String text) implements ChatMessage {}

    record Assistant(String text, List<Call> calls) implements ChatMessage {
        public Assistant {
            calls = List.copyOf(calls);
        }
    }

    /** What a tool says to the model. */
    record Result(String call, String text) implements ChatMessage {}

    default int size() {
        return FRAME
                + switch (this) {
                    case User user -> user.text.length();
                    case Assistant assistant ->
                        assistant.text.length()
                                + assistant.calls.stream()
                                        .mapToInt(
                                                call -> FRAME + call.arguments().length())
                                        .sum();
                    case Result result -> result.text.length();
                };
    }

    default ObjectNode json() {
        ObjectNode json = JSON.createObjectNode();
        switch (this) {
            case User user -> json.put("role", "user").put("content", user.text);
            case Result result ->
                json.put("role", "tool").put("tool_call_id", result.call).put("content", result.text);
            case Assistant assistant -> {
                json.put("role", "assistant");
                if (assistant.calls.isEmpty()) {
                    json.put("content", assistant.text);
                } else {
                    json.put("content", assistant.text.isEmpty() ? null : assistant.text);
                    var calls = json.putArray("tool_calls");
                    for (Call call : assistant.calls) {
                        calls.addObject()
                                .put("id", call.id())
                                .put("type", "function")
                                .putObject("function")
                                .put("name", call.tool())
                                .put("arguments", call.wellFormed());
                    }
                }
            }
        }
        return json;
    }

    /** Empty if it is none. */
    static Optional<ChatMessage> of(JsonNode json) {
        String text = json.path("content").asString("");
        return switch (json.path("role").asString("")) {
            case "user" -> Optional.of(new User(text));
            case "tool" -> Optional.of(new Result(json.path("tool_call_id").asString(""), text));
            case "assistant" -> {
                List<Call> calls = new ArrayList<>();
                for (JsonNode call : json.path("tool_calls")) {
                    JsonNode function = call.path("function");
                    calls.add(new Call(
                            call.path("id").asString(""),
                            function.path("name").asString(""),
                            function.path("arguments").asString("")));
                }
                yield Optional.of(new Assistant(text, calls));
            }
            default -> Optional.empty();
        };
    }
}
