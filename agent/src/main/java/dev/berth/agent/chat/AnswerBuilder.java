package dev.berth.agent.chat;

import dev.berth.agent.chat.ModelException.Kind;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.MissingNode;

/** Puts an answer together from its pieces, and passes on what people want to see at once. */
final class AnswerBuilder {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int LONGEST = 1 << 20;
    private static final int MOST_CALLS = 16;

    /** A use of a tool, as far as it has come. */
    private static final class Draft {
        private String id = "";
        private String tool = "";
        private final StringBuilder arguments = new StringBuilder();
    }

    private final ModelClient.Telling telling;
    private final StringBuilder text = new StringBuilder();
    private final List<Draft> drafts = new ArrayList<>();
    private String finish = "";
    private int thought;
    private JsonNode usage = MissingNode.getInstance();

    AnswerBuilder(ModelClient.Telling telling) {
        this.telling = telling;
    }

    /** Takes the data of an event. */
    void take(String data) throws ModelException {
        JsonNode chunk;
        try {
            chunk = JSON.readTree(data);
        } catch (JacksonException e) {
            throw nonsense();
        }
        if (!chunk.isObject()) {
            throw nonsense();
        }
        JsonNode error = chunk.path("error");
        if (error.isObject() || error.isString()) {
            throw ModelErrors.inStream(error);
        }
        if (chunk.path("usage").isObject()) {
            usage = chunk.path("usage"); // some servers send it again and again, each time with all so far
        }
        JsonNode choice = chunk.path("choices").path(0);
        JsonNode delta = choice.path("delta");
        think(delta.path("reasoning_content").asString(delta.path("reasoning").asString("")));
        say(delta.path("content").asString(""));
        for (JsonNode call : delta.path("tool_calls")) {
            call(call);
        }
        finish = choice.path("finish_reason").asString(finish);
        if (text.length()
                        + thought
                        + drafts.stream()
                                .mapToInt(draft -> draft.arguments.length())
                                .sum()
                > LONGEST) {
            throw new ModelException(
                    Kind.LASTING, "the model's answer has more than " + LONGEST + " characters; it was stopped");
        }
    }

    private void think(String piece) {
        if (!piece.isEmpty()) {
            thought += piece.length();
            telling.thought(piece);
        }
    }

    private void say(String piece) {
        if (!piece.isEmpty()) {
            text.append(piece);
            telling.text(piece);
        }
    }

    /** Some servers leave out the index and send each call in one piece, some repeat the id and the name in each. */
    private void call(JsonNode piece) throws ModelException {
        String id = piece.path("id").asString("");
        Draft draft = draft(piece.path("index").asInt(-1), id);
        if (!id.isEmpty()) {
            draft.id = id;
        }
        JsonNode function = piece.path("function");
        if (draft.tool.isEmpty()) {
            draft.tool = function.path("name").asString("");
        }
        JsonNode arguments = function.path("arguments");
        draft.arguments.append(arguments.isObject() ? arguments.toString() : arguments.asString(""));
    }

    private Draft draft(int index, String id) throws ModelException {
        if (index < 0) {
            boolean another =
                    drafts.isEmpty() || (!id.isEmpty() && !drafts.getLast().id.equals(id));
            index = another ? drafts.size() : drafts.size() - 1;
        }
        if (index >= MOST_CALLS) {
            throw new ModelException(
                    Kind.LASTING,
                    "the model wanted to use more than " + MOST_CALLS + " tools at a time; it was stopped");
        }
        while (drafts.size() <= index) {
            drafts.add(new Draft());
        }
        return drafts.get(index);
    }

    /** Whether the model said that it is done. */
    boolean finished() {
        return !finish.isEmpty();
    }

    /** @param prefix of ids that are missing or there twice, not used in the conversation before */
    Answer answer(String prefix) throws ModelException {
        if (usage.isObject()) {
            telling.used(
                    Math.max(0, usage.path("prompt_tokens").asLong(0)),
                    Math.max(0, usage.path("completion_tokens").asLong(0)),
                    usage.path("cost").asDouble(0));
        }
        if (finish.equals("content_filter")) {
            throw new ModelException(
                    Kind.REFUSED, "the model's provider held the answer back, by its rules for contents");
        }
        Set<String> ids = new HashSet<>();
        List<Call> calls = new ArrayList<>();
        for (Draft draft : drafts) {
            if (draft.tool.isEmpty() && draft.arguments.isEmpty()) {
                continue; // an index that was left out
            }
            boolean usable = !draft.id.isBlank() && draft.id.length() <= 128 && ids.add(draft.id);
            calls.add(new Call(usable ? draft.id : prefix + calls.size(), draft.tool, draft.arguments.toString()));
        }
        return new Answer(text.toString(), calls, finish.equals("length"));
    }

    private static ModelException nonsense() {
        return new ModelException(
                Kind.LASTING,
                "the model's server sent something that is no answer; check the model's url, and whether it can stream");
    }
}
