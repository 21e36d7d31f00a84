package dev.berth.agent.acp;

import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** Messages of JSON-RPC 2.0. */
final class Rpc {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int METHOD_NOT_FOUND = -32601;

    private Rpc() {}

    static ObjectNode object() {
        return JSON.createObjectNode();
    }

    static ObjectNode notification(String method, ObjectNode params) {
        ObjectNode message = object().put("jsonrpc", "2.0").put("method", method);
        message.set("params", params);
        return message;
    }

    static ObjectNode request(String id, String method, ObjectNode params) {
        return notification(method, params).put("id", id);
    }

    /** An answer that has no content yet. */
    static ObjectNode answer(JsonNode id) {
        ObjectNode message = object().put("jsonrpc", "2.0");
        message.set("id", id);
        return message;
    }

    static ObjectNode notKnown(ObjectNode request) {
        ObjectNode message = answer(request.path("id"));
        message.putObject("error").put("code", METHOD_NOT_FOUND).put("message", "this client does not do that");
        return message;
    }

    /** Why a request failed, without words that say nothing. */
    static String reason(JsonNode error) {
        String message = error.path("message").asString("").replaceFirst("^Internal error:? *", "");
        String details = error.path("data").isString()
                ? error.path("data").asString()
                : error.path("data").path("details").asString("");
        String all = message.isEmpty() || details.isEmpty() ? message + details : message + ": " + details;
        return all.isEmpty() ? "it did not say why" : all;
    }
}
