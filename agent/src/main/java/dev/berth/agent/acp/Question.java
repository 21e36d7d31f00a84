package dev.berth.agent.acp;

import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * A request for permission. All that is needed to answer it is in its name, so that a server can do it which has not heard
 * the request itself.
 *
 * @param life of the agent that asked; a later one counts from the beginning again
 * @param id as the agent wrote it
 * @param allow the option that allows this once, null if there is none
 * @param reject the one that does not, null if there is none
 */
record Question(
        String life,
        JsonNode id,
        @Nullable String allow,
        @Nullable String reject) {
    private static final Logger LOG = LoggerFactory.getLogger(Question.class);
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int LONGEST = 500;

    static Question of(String life, ObjectNode request) {
        JsonNode options = request.path("params").path("options");
        @Nullable String rejectOnce = option(options, "reject_once");
        // What would be allowed for ever is nobody's to allow here.
        return new Question(
                life,
                request.path("id"),
                option(options, "allow_once"),
                rejectOnce == null ? option(options, "reject_always") : rejectOnce);
    }

    private static @Nullable String option(JsonNode options, String kind) {
        for (JsonNode option : options) {
            if (option.path("kind").asString("").equals(kind)
                    && option.path("optionId").isString()) {
                return option.path("optionId").asString();
            }
        }
        return null;
    }

    /** @return empty if this is none, or one of another agent */
    static Optional<Question> named(String name, String life) {
        if (!name.startsWith(life + ":")) {
            return Optional.empty();
        }
        try {
            JsonNode parts = JSON.readTree(name.substring(life.length() + 1));
            return Optional.of(new Question(life, parts.path(0), text(parts.path(1)), text(parts.path(2))));
        } catch (JacksonException e) {
            LOG.debug("this is no question", e);
            return Optional.empty();
        }
    }

    private static @Nullable String text(JsonNode node) {
        return node.isString() ? node.asString() : null;
    }

    /** Whether it can be told to anybody. */
    boolean sound() {
        return (id.isString() || id.isNumber()) && name().length() <= LONGEST;
    }

    String name() {
        ArrayNode parts = JSON.createArrayNode();
        parts.add(id);
        parts.add(allow);
        parts.add(reject);
        return life + ":" + parts;
    }

    ObjectNode answer(boolean allowed) {
        @Nullable String option = allowed ? allow : reject;
        if (option == null) {
            return cancelled();
        }
        ObjectNode answer = Rpc.answer(id);
        answer.putObject("result")
                .putObject("outcome")
                .put("outcome", "selected")
                .put("optionId", option);
        return answer;
    }

    ObjectNode cancelled() {
        ObjectNode answer = Rpc.answer(id);
        answer.putObject("result").putObject("outcome").put("outcome", "cancelled");
        return answer;
    }
}
