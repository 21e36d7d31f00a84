package dev.berth.gateway.e2b.envd;

import dev.berth.gateway.e2b.E2bError;
import dev.berth.gateway.e2b.Json;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * A message in protocol buffers' JSON: names in lowerCamelCase or as the definition has them, what is missing or null is
 * not set, what nobody knows is passed over, and numbers may stand in strings.
 */
record Message(ObjectNode fields) {
    static Message parse(byte[] json) {
        try {
            return new Message(Json.object(json));
        } catch (E2bError e) {
            throw ConnectError.invalid("unmarshal message: the message is not a JSON object");
        }
    }

    private Optional<JsonNode> field(String name) {
        JsonNode node = fields.get(name);
        return Optional.ofNullable(node != null ? node : fields.get(snakeCase(name)))
                .filter(found -> !found.isNull());
    }

    private static String snakeCase(String name) {
        return name.replaceAll("([A-Z])", "_$1").toLowerCase(Locale.ROOT);
    }

    boolean has(String name) {
        return field(name).isPresent();
    }

    Optional<Message> message(String name) {
        return field(name).map(node -> {
            if (node instanceof ObjectNode object) {
                return new Message(object);
            }
            throw wrong(name, "an object");
        });
    }

    Optional<String> text(String name) {
        return field(name).map(node -> text(name, node));
    }

    private static String text(String name, JsonNode node) {
        if (node.isString()) {
            return node.stringValue();
        }
        throw wrong(name, "a string");
    }

    boolean flag(String name, boolean otherwise) {
        return field(name)
                .map(node -> {
                    if (node.isBoolean()) {
                        return node.booleanValue();
                    }
                    throw wrong(name, "true or false");
                })
                .orElse(otherwise);
    }

    /** A {@code uint32}; ours are all within an int. */
    Optional<Integer> number(String name) {
        return field(name).map(node -> {
            String text = node.isString() ? node.stringValue() : whole(node) ? Long.toString(node.asLong()) : "";
            if (text.matches("[0-9]{1,10}") && Long.parseLong(text) <= Integer.MAX_VALUE) {
                return Integer.parseInt(text);
            }
            throw wrong(name, "a number from 0 to 2^31-1");
        });
    }

    private static boolean whole(JsonNode node) {
        return node.isNumber() && node.canConvertToLong() && node.asDouble() == node.asLong();
    }

    /** A value of an enumeration, by its name or its number, as text. */
    Optional<String> constant(String name) {
        return field(name).map(node -> whole(node) ? Long.toString(node.asLong()) : text(name, node));
    }

    /** Base64 of either alphabet, padded or not. */
    Optional<byte[]> bytes(String name) {
        return text(name).map(text -> {
            String plain = text.replace('-', '+').replace('_', '/').replaceAll("=+$", "");
            try {
                return Base64.getDecoder().decode(plain);
            } catch (IllegalArgumentException e) {
                throw wrong(name, "base64");
            }
        });
    }

    List<String> texts(String name) {
        List<String> texts = new ArrayList<>();
        field(name).ifPresent(node -> {
            if (!node.isArray()) {
                throw wrong(name, "a list of strings");
            }
            node.forEach(element -> texts.add(text(name, element)));
        });
        return texts;
    }

    Map<String, String> textMap(String name) {
        Map<String, String> map = new LinkedHashMap<>();
        message(name)
                .ifPresent(object -> object.fields().forEachEntry((key, value) -> map.put(key, text(name, value))));
        return map;
    }

    private static ConnectError wrong(String name, String expected) {
        return ConnectError.invalid("unmarshal message: '" + name + "' has to be " + expected);
    }
}
