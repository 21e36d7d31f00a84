package dev.berth.gateway.e2b;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import tools.jackson.databind.JsonNode;

/** Asks as E2B's clients do. */
record E2bClient(String url, String header, String credential) {
    private static final HttpClient HTTP = HttpClient.newHttpClient();

    static E2bClient of(String url, String key) {
        return new E2bClient(url, "X-API-KEY", key);
    }

    E2bClient bearing(String token) {
        return new E2bClient(url, "Authorization", "Bearer " + token);
    }

    /** What came back. */
    record Reply(int status, byte[] bytes, HttpResponse<byte[]> response) {
        String body() {
            return new String(bytes, StandardCharsets.UTF_8);
        }

        JsonNode json() {
            return Json.MAPPER.readTree(bytes);
        }

        String header(String name) {
            return response.headers().firstValue(name).orElse("");
        }
    }

    Reply get(String path) {
        return send("GET", path, "");
    }

    Reply delete(String path) {
        return send("DELETE", path, "");
    }

    Reply post(String path, String json) {
        return send("POST", path, json);
    }

    Reply send(String method, String path, String json) {
        return send(
                method,
                path,
                json.isEmpty() ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(json));
    }

    Reply send(String method, String path, HttpRequest.BodyPublisher body) {
        try {
            HttpResponse<byte[]> response = HTTP.send(
                    HttpRequest.newBuilder(URI.create(url + path))
                            .method(method, body)
                            .header(header, credential)
                            .header("Content-Type", "application/json")
                            .build(),
                    HttpResponse.BodyHandlers.ofByteArray());
            return new Reply(response.statusCode(), response.body(), response);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }
}
