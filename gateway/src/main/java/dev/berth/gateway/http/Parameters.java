package dev.berth.gateway.http;

import com.networknt.schema.Schema;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;

/** Parameters of an address are text; a schema may say that the text has to be a number. */
final class Parameters {
    private Parameters() {}

    static JsonNode value(String text, Schema schema) {
        String type = schema.getSchemaNode().path("type").asString("string");
        try {
            return switch (type) {
                case "integer" -> JsonNodeFactory.instance.numberNode(Long.parseLong(text));
                case "boolean" ->
                    switch (text) {
                        case "true" -> JsonNodeFactory.instance.booleanNode(true);
                        case "false" -> JsonNodeFactory.instance.booleanNode(false);
                        default -> JsonNodeFactory.instance.stringNode(text);
                    };
                default -> JsonNodeFactory.instance.stringNode(text);
            };
        } catch (NumberFormatException e) {
            return JsonNodeFactory.instance.stringNode(text); // and the schema says what is wrong with it
        }
    }
}
