package dev.berth.gateway.mcp;

import com.fasterxml.jackson.annotation.JsonTypeInfo;
import io.modelcontextprotocol.spec.McpSchema.ElicitRequest;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** JSON as the protocol has it. */
final class Messages {
    /** Has its kind as a field of its own, which Jackson refuses to write beside the one that the SDK asks it for. */
    @JsonTypeInfo(use = JsonTypeInfo.Id.NONE)
    private interface WithoutType {}

    static final JsonMapper JSON = JsonMapper.builder()
            .addMixIn(ElicitRequest.class, WithoutType.class)
            .build();

    private Messages() {}

    /** The id of a request, so that the same id is always equal. */
    static Object id(JsonNode node) {
        return node.isString() ? node.asString() : (Object) node.asLong();
    }
}
