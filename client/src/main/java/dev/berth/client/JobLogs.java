package dev.berth.client;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;

/**
 * A page of what a job printed.
 *
 * @param next what to ask for the page behind this one with
 * @param complete whether the job has ended and nothing comes any more behind {@code next}
 */
public record JobLogs(String state, List<Chunk> chunks, long next, boolean complete, Json json) {
    /**
     * @param stream stdout or stderr
     */
    public record Chunk(long number, String stream, byte[] bytes) {}

    static JobLogs of(Json json) {
        return new JobLogs(
                json.get("state").text(),
                json.get("chunks").items().stream()
                        .map(chunk -> new Chunk(
                                chunk.get("number").whole(), chunk.get("stream").text(), bytes(chunk)))
                        .toList(),
                json.get("next").whole(),
                json.get("complete").truth(),
                json);
    }

    /** Output is text where it is text, and else base64. */
    static byte[] bytes(Json chunk) {
        return chunk.get("base64")
                .optionalText()
                .map(text -> Base64.getDecoder().decode(text))
                .orElseGet(() -> chunk.get("text").text().getBytes(StandardCharsets.UTF_8));
    }
}
