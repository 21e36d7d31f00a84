package dev.berth.channel.slack;

import java.util.LinkedHashMap;
import java.util.Map;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Writes messages at one spot, and changes them. */
final class Writer {
    /** Which messages are of which run: it is how they are found again if nobody wrote that down in time. */
    static final String EVENT_TYPE = "berth_run";

    private static final JsonMapper JSON = JsonMapper.builder().build();

    private final SlackApi api;
    private final Pace pace;
    final Workspace workspace;
    final Spot spot;

    Writer(SlackApi api, Pace pace, Workspace workspace, Spot spot) {
        this.api = api;
        this.pace = pace;
        this.workspace = workspace;
        this.spot = spot;
    }

    /** Returns the time stamp of the message, which is its name. */
    String post(Letter letter, Map<String, String> metadata) throws InterruptedException {
        Map<String, String> arguments = arguments(letter);
        // What a model links to is not fetched by Slack: the address may carry what the model has read.
        arguments.put("unfurl_links", "false");
        arguments.put("unfurl_media", "false");
        arguments.put("link_names", "false");
        if (!spot.thread().isEmpty()) {
            arguments.put("thread_ts", spot.thread());
        }
        if (!metadata.isEmpty()) {
            arguments.put(
                    "metadata", JSON.writeValueAsString(Map.of("event_type", EVENT_TYPE, "event_payload", metadata)));
        }
        String ts =
                api.need(workspace, "chat.postMessage", arguments).path("ts").asString("");
        pace.changed(spot.channel() + ts);
        return ts;
    }

    /** A message that somebody has deleted stays deleted. */
    void update(String ts, Letter letter) throws InterruptedException {
        pace.await(spot.channel() + ts);
        Map<String, String> arguments = arguments(letter);
        arguments.put("ts", ts);
        SlackApi.Answer answer = api.call(workspace, "chat.update", arguments);
        pace.changed(spot.channel() + ts);
        if (!answer.ok() && !gone(answer.error())) {
            throw SlackApi.failure("chat.update", answer.error());
        }
    }

    void delete(String ts) throws InterruptedException {
        SlackApi.Answer answer = api.call(workspace, "chat.delete", Map.of("channel", spot.channel(), "ts", ts));
        if (!answer.ok() && !gone(answer.error())) {
            throw SlackApi.failure("chat.delete", answer.error());
        }
    }

    private static boolean gone(String error) {
        return switch (error) {
            case "message_not_found", "cant_update_message", "edit_window_closed", "cant_delete_message" -> true;
            default -> false;
        };
    }

    /** Says something to one person alone. In a direct message there is nobody else, and no such message. */
    void whisper(String user, String text) throws InterruptedException {
        if (Spot.direct(spot.channel())) {
            post(Letter.of(text), Map.of());
            return;
        }
        Map<String, String> arguments = arguments(Letter.of(text));
        arguments.put("user", user);
        if (!spot.thread().isEmpty()) {
            arguments.put("thread_ts", spot.thread());
        }
        api.need(workspace, "chat.postEphemeral", arguments);
    }

    /** The line below an assistant's thread. Returns whether Slack shows it. */
    boolean status(String text) throws InterruptedException {
        return api.call(
                        workspace,
                        "assistant.threads.setStatus",
                        Map.of("channel_id", spot.channel(), "thread_ts", spot.thread(), "status", text))
                .ok();
    }

    /** What is written there since the message that is answered. Empty pages for a bot that may not read. */
    JsonNode written(String cursor) throws InterruptedException {
        Map<String, String> arguments = new LinkedHashMap<>();
        arguments.put("channel", spot.channel());
        arguments.put("include_all_metadata", "true");
        arguments.put("limit", "200");
        arguments.put("oldest", spot.message().isEmpty() ? "0" : spot.message());
        if (!cursor.isEmpty()) {
            arguments.put("cursor", cursor);
        }
        if (spot.thread().isEmpty()) {
            return api.need(workspace, "conversations.history", arguments);
        }
        arguments.put("ts", spot.thread());
        return api.need(workspace, "conversations.replies", arguments);
    }

    private Map<String, String> arguments(Letter letter) {
        Map<String, String> arguments = new LinkedHashMap<>();
        arguments.put("channel", spot.channel());
        arguments.put("text", letter.text());
        // Without this, blocks that a message had would stay when it gets text alone.
        arguments.put("blocks", letter.blocks().isEmpty() ? "[]" : letter.blocks());
        return arguments;
    }
}
