package dev.berth.client;

/**
 * A file that was given to a session.
 *
 * @param path where it is in the workspace
 * @param renamed whether its name had to be made safe
 */
public record Upload(String path, String name, boolean renamed, long size, String sha256, Json json) {
    static Upload of(Json json) {
        return new Upload(
                json.get("path").text(),
                json.get("name").text(),
                json.get("renamed").truth(),
                json.get("size").whole(),
                json.get("sha256").text(),
                json);
    }
}
