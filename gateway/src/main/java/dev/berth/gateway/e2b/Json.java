package dev.berth.gateway.e2b;

import java.nio.charset.StandardCharsets;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** JSON as E2B's clients write it: fields that nobody knows are passed over, and names stay as they are. */
public final class Json {
    private static final int DEEPEST = 64;
    /** Each is an object of ours, whatever little it takes in the body. */
    private static final int MOST_TOKENS = 200_000;

    public static final JsonMapper MAPPER = JsonMapper.builder(JsonFactory.builder()
                    .streamReadConstraints(StreamReadConstraints.builder()
                            .maxNestingDepth(DEEPEST)
                            .maxTokenCount(MOST_TOKENS)
                            .maxStringLength(Integer.MAX_VALUE)
                            .maxNumberLength(100)
                            .build())
                    .build())
            .build();

    private Json() {}

    /** The object that a body has; an empty one if there is no body, as E2B's are optional where they can be. */
    public static ObjectNode object(byte[] body) {
        if (body.length == 0) {
            return JsonNodeFactory.instance.objectNode();
        }
        try {
            JsonNode node = MAPPER.readTree(new String(body, StandardCharsets.UTF_8));
            if (node instanceof ObjectNode object) {
                return object;
            }
        } catch (JacksonException e) {
            throw new E2bError(400, "Error when parsing request: the body is not JSON, or has too many parts");
        }
        throw new E2bError(400, "Error when parsing request: the body has to be a JSON object");
    }

    public static byte[] bytes(Object value) {
        return MAPPER.writeValueAsBytes(value);
    }
}
