package dev.berth.channel.slack;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** What was written of one run: for every slot of it the message, and a hash of what that says. */
final class Memo {
    private static final JsonMapper JSON = JsonMapper.builder().build();

    /** @param hash empty if it is not known what the message says */
    record Written(String ts, String hash) {}

    private final Map<String, Written> slots = new LinkedHashMap<>();
    private int version;
    private boolean done;

    static Memo of(String text) {
        Memo memo = new Memo();
        if (!text.isBlank()) {
            JsonNode node = JSON.readTree(text);
            memo.version = node.path("version").asInt(0);
            memo.done = node.path("done").asBoolean(false);
            node.path("slots")
                    .properties()
                    .forEach(slot -> memo.slots.put(
                            slot.getKey(),
                            new Written(
                                    slot.getValue().path(0).asString(""),
                                    slot.getValue().path(1).asString(""))));
        }
        return memo;
    }

    String json() {
        ObjectNode node = JSON.createObjectNode().put("version", version).put("done", done);
        ObjectNode all = node.putObject("slots");
        slots.forEach((slot, written) -> {
            ArrayNode pair = all.putArray(slot);
            pair.add(written.ts).add(written.hash);
        });
        return node.toString();
    }

    /** It grows with every change. */
    int version() {
        return version;
    }

    Optional<Written> get(String slot) {
        return Optional.ofNullable(slots.get(slot));
    }

    void put(String slot, String ts, String hash) {
        slots.put(slot, new Written(ts, hash));
        version++;
    }

    void remove(String slot) {
        slots.remove(slot);
        version++;
    }

    List<String> slots() {
        return List.copyOf(slots.keySet());
    }

    boolean done() {
        return done;
    }

    void finish() {
        done = true;
        version++;
    }
}
