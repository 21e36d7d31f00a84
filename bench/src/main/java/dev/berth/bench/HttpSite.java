package dev.berth.bench;

import dev.berth.gateway.Gateway;
import dev.berth.gateway.GatewayConfig;
import dev.berth.gateway.http.ServerConfig;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** The API as a server has it, and a client that keeps its connection. */
final class HttpSite implements AutoCloseable {
    private static final String KEY = "berth_the-key-of-the-benchmark";

    private final Gateway gateway;
    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final HttpRequest request;

    private HttpSite(Gateway gateway) {
        this.gateway = gateway;
        this.request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + gateway.port() + "/v1/sandbox/bash"))
                .header("Authorization", "Bearer " + KEY)
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString("{\"session_id\":\"" + SessionSite.KEY.id()
                        + "\",\"tenant_id\":\"" + SessionSite.KEY.tenant() + "\",\"command\":\"true\"}"))
                .build();
    }

    static HttpSite open(SessionSite site) {
        site.resolve().close();
        return new HttpSite(Gateway.start(
                GatewayConfig.of(ServerConfig.onLoopback(0), site.data().resolve("outputs"), KEY, new byte[32]),
                site.sessions(),
                site.provider(),
                site.database(),
                new PrometheusMeterRegistry(PrometheusConfig.DEFAULT)));
    }

    void runTrue() throws IOException, InterruptedException {
        HttpResponse<String> response = client.send(request, HttpResponse.BodyHandlers.ofString());
        if (response.statusCode() != 200 || !response.body().contains("\"success\":true")) {
            throw new IllegalStateException("'true' failed over HTTP: " + response.body());
        }
    }

    @Override
    public void close() {
        client.close();
        gateway.close();
    }
}
