package dev.berth.gateway.mcp;

import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** JSON as the protocol has it. */
final class Messages {
    static final JsonMapper JSON = JsonMapper.builder().build();

    private Messages() {}

    /** The id of a request, so that the same id is always equal. */
    static Object id(JsonNode node) {
        return node.isString() ? node.asString() : (Object) node.asLong();
    }
}
