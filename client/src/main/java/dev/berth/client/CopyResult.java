package dev.berth.client;

import java.util.List;
import java.util.Optional;

/**
 * What became of many files.
 *
 * @param errors those that were refused, each with the reason
 * @param stopped why the rest was not looked at
 */
public record CopyResult(long written, long bytes, List<String> errors, Optional<String> stopped, Json json) {
    static CopyResult of(Json json) {
        return new CopyResult(
                json.get("written").whole(),
                json.get("bytes").whole(),
                json.get("errors").items().stream().map(CopyResult::line).toList(),
                json.get("stopped").optionalText(),
                json);
    }

    private static String line(Json error) {
        return error.get("path").text() + ": "
                + error.get("message")
                        .optionalText()
                        .orElseGet(() -> error.get("error").text());
    }
}
