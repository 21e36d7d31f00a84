package dev.berth.channel.slack;

import dev.berth.channel.ChannelException;
import dev.berth.channel.Incoming;
import java.io.IOException;
import java.io.InputStream;
import java.util.Map;
import tools.jackson.databind.JsonNode;

/** A file that came with a message. */
record SlackFile(
        SlackApi api,
        Workspaces workspaces,
        Uploads uploads,
        String team,
        String id,
        String name,
        long size,
        String mimeType,
        String url)
        implements Incoming.Attachment {

    static SlackFile of(SlackApi api, Workspaces workspaces, Uploads uploads, String team, JsonNode file) {
        return new SlackFile(
                api,
                workspaces,
                uploads,
                team,
                file.path("id").asString(""),
                file.path("name").asString(""),
                file.path("size").asLong(0),
                file.path("mimetype").asString(""),
                address(file));
    }

    private static String address(JsonNode file) {
        String download = file.path("url_private_download").asString("");
        return download.isEmpty() ? file.path("url_private").asString("") : download;
    }

    @Override
    public InputStream open() throws IOException {
        try {
            Workspace workspace = workspaces.get(team);
            String address = url;
            if (address.isEmpty()) {
                // Of a file from another organisation the event has the id alone.
                address = address(
                        api.need(workspace, "files.info", Map.of("file", id)).path("file"));
            }
            if (address.isEmpty()) {
                throw new IOException("Slack has a link to this file only; attach the file itself");
            }
            return uploads.download(workspace, address, mimeType);
        } catch (ChannelException e) {
            throw new IOException(e.getMessage(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while fetching a file from Slack", e);
        }
    }

    @Override
    public String toString() {
        return id;
    }
}
