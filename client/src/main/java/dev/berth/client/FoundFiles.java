package dev.berth.client;

import java.util.List;
import java.util.Optional;

/**
 * Files that were found by their names.
 *
 * @param nextOffset where to go on, if there are more
 */
public record FoundFiles(List<Found> files, Optional<Integer> nextOffset, Json json) {
    /** @param path relative to the workspace */
    public record Found(String path, long size) {}

    static FoundFiles of(Json json) {
        return new FoundFiles(
                json.get("files").items().stream()
                        .map(file -> new Found(
                                file.get("path").text(), file.get("size").whole()))
                        .toList(),
                json.get("next_offset").optionalInt(),
                json);
    }
}
