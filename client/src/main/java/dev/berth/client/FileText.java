package dev.berth.client;

/**
 * Lines of a text file.
 *
 * @param startLine counted from 1
 * @param more whether there are lines behind these
 */
public record FileText(String path, String content, long startLine, long endLine, boolean more, Json json) {
    static FileText of(Json json) {
        return new FileText(
                json.get("path").text(),
                json.get("content").text(),
                json.get("start_line").whole(),
                json.get("end_line").whole(),
                json.get("has_more").truth(),
                json);
    }
}
