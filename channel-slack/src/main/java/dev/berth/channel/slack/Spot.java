package dev.berth.channel.slack;

import java.util.Map;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Where in Slack something is written.
 *
 * @param channel its id, a direct message's too
 * @param thread the time stamp of the message its thread begins with; empty for none
 * @param message the time stamp of the message that is answered
 */
record Spot(String channel, String thread, String message) {
    private static final JsonMapper JSON = JsonMapper.builder().build();

    /** A thread in a direct message: the assistant's panel, which has a line of its own for what is going on. */
    boolean panel() {
        return direct(channel) && !thread.isEmpty();
    }

    static boolean direct(String channel) {
        return channel.startsWith("D");
    }

    String json() {
        return JSON.writeValueAsString(Map.of("channel", channel, "thread", thread, "message", message));
    }

    static Spot of(String json) {
        try {
            JsonNode node = JSON.readTree(json);
            return new Spot(
                    node.path("channel").asString(""),
                    node.path("thread").asString(""),
                    node.path("message").asString(""));
        } catch (JacksonException e) {
            throw new IllegalArgumentException("this is not a reply of Slack", e);
        }
    }
}
