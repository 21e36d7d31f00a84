package dev.berth.channel.slack;

import dev.berth.channel.Board;
import dev.berth.channel.ChannelException;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Files, from here to Slack and from there, without being kept in memory. */
final class Uploads implements AutoCloseable {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final Duration LONGEST = Duration.ofMinutes(15);
    /** What Slack takes. */
    static final long MOST = 1L << 30;

    private final SlackApi api;
    private final HttpClient http = HttpClient.newBuilder()
            .connectTimeout(Duration.ofSeconds(10))
            // A token that is sent along goes where it was meant to go.
            .followRedirects(HttpClient.Redirect.NEVER)
            .build();

    Uploads(SlackApi api) {
        this.api = api;
    }

    /** Makes a file appear at a spot. Returns its id. */
    String upload(Workspace workspace, Spot spot, Board.Shown file, InputStream content) throws InterruptedException {
        JsonNode place = api.need(
                workspace,
                "files.getUploadURLExternal",
                Map.of("filename", file.name(), "length", Long.toString(file.size())));
        String id = place.path("file_id").asString("");
        HttpRequest request = HttpRequest.newBuilder(
                        URI.create(place.path("upload_url").asString("")))
                .timeout(LONGEST)
                .header("Content-Type", "application/octet-stream")
                .POST(BodyPublishers.fromPublisher(BodyPublishers.ofInputStream(() -> content), file.size()))
                .build();
        try {
            int status = http.send(request, BodyHandlers.discarding()).statusCode();
            if (status != 200) {
                throw new ChannelException(
                        "Slack did not take the file: status " + status + "; try again later", false);
            }
        } catch (IOException e) {
            throw new ChannelException("the file could not be sent to Slack; try again later", e);
        }
        Map<String, String> arguments = new LinkedHashMap<>();
        String title = file.title().isBlank() ? file.name() : file.title();
        arguments.put("files", JSON.writeValueAsString(List.of(Map.of("id", id, "title", title))));
        arguments.put("channel_id", spot.channel());
        if (!spot.thread().isEmpty()) {
            arguments.put("thread_ts", spot.thread());
        }
        api.need(workspace, "files.completeUploadExternal", arguments);
        return id;
    }

    /** What is in a file of Slack. To be closed. */
    InputStream download(Workspace workspace, String url, String mimeType) throws IOException {
        URI address = URI.create(url);
        if (!trusted(address)) {
            throw new IOException("the file is not at Slack, so it was not fetched; attach the file itself");
        }
        HttpRequest request = HttpRequest.newBuilder(address)
                .timeout(LONGEST)
                .header("Authorization", "Bearer " + workspace.token())
                .GET()
                .build();
        HttpResponse<InputStream> response;
        try {
            response = http.send(request, BodyHandlers.ofInputStream());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while fetching a file from Slack", e);
        }
        String type = response.headers().firstValue("Content-Type").orElse("").toLowerCase(Locale.ROOT);
        // Without the right to read files Slack answers with its page for logging in, and status 200.
        boolean login = type.startsWith("text/html")
                && !mimeType.toLowerCase(Locale.ROOT).contains("html");
        if (response.statusCode() != 200 || login) {
            response.body().close();
            throw new IOException("Slack did not hand out the file (status " + response.statusCode()
                    + "); the app needs the scope files:read");
        }
        return response.body();
    }

    /** Tokens are sent to Slack alone. */
    private boolean trusted(URI address) {
        String host = address.getHost();
        if (host == null) {
            return false;
        }
        boolean slack =
                "https".equals(address.getScheme()) && (host.equals("slack.com") || host.endsWith(".slack.com"));
        return slack
                || (host.equals(api.base().getHost())
                        && address.getPort() == api.base().getPort());
    }

    @Override
    public void close() {
        http.shutdownNow();
    }
}
