package dev.berth.agent.chat;

import java.util.Optional;
import java.util.regex.Pattern;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * A model wants to use a tool.
 *
 * @param arguments as the model wrote them, which is meant to be JSON
 */
record Call(String id, String tool, String arguments) {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    /** What servers take; others refuse the whole conversation because of one. */
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_-]{1,64}");

    Call {
        tool = NAME.matcher(tool).matches() ? tool : "unknown";
    }

    /** Empty if they are no JSON object. */
    Optional<ObjectNode> parsed() {
        if (arguments.isBlank()) {
            return Optional.of(JSON.createObjectNode());
        }
        try {
            return JSON.readTree(arguments) instanceof ObjectNode object ? Optional.of(object) : Optional.empty();
        } catch (JacksonException e) {
            return Optional.empty();
        }
    }

    /** Nonsense is not said back to the model: some servers refuse the whole conversation because of it. */
    String wellFormed() {
        return parsed().isPresent() && !arguments.isBlank() ? arguments : "{}";
    }
}
