package dev.berth.bench;

import dev.berth.bench.rival.Timed;
import dev.berth.gateway.Gateway;
import dev.berth.gateway.GatewayConfig;
import dev.berth.gateway.http.ServerConfig;
import dev.berth.session.SessionKey;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/** The API as a server has it, and clients that keep their connections. */
final class HttpSite implements AutoCloseable {
    static final String KEY = "berth_the-key-of-the-benchmark";

    private final Gateway gateway;
    private final List<HttpConnection> connections = new ArrayList<>();

    private HttpSite(Gateway gateway) {
        this.gateway = gateway;
    }

    static HttpSite open(SessionSite site) {
        return open(site, UnaryOperator.identity());
    }

    /** @param change what is to be other than usual */
    static HttpSite open(SessionSite site, UnaryOperator<GatewayConfig> change) {
        return new HttpSite(Gateway.start(
                change.apply(GatewayConfig.of(ServerConfig.onLoopback(0), site.data(), KEY, new byte[32])),
                site.sessions(),
                site.provider(),
                site.database(),
                new PrometheusMeterRegistry(PrometheusConfig.DEFAULT)));
    }

    String url() {
        return "http://127.0.0.1:" + gateway.port();
    }

    /** Runs {@code true} in a session, each time by the same connection. */
    Timed runTrue(SessionKey session) throws IOException {
        HttpConnection connection = connect();
        String body = "{\"session_id\":\"" + session.id() + "\",\"tenant_id\":\"" + session.tenant()
                + "\",\"command\":\"true\"}";
        byte[] request = bytes(head("POST /v1/sandbox/bash", "Content-Type: application/json", body.length()) + body);
        return () -> {
            String answer = connection.call(request);
            if (!answer.contains("\"success\":true")) {
                throw new IllegalStateException("'true' failed over HTTP: " + answer);
            }
        };
    }

    /** Puts a file of this machine into a session's workspace. */
    Timed upload(SessionKey session, Path source, String target) throws IOException {
        HttpConnection connection = connect();
        byte[] request = bytes(
                head("PUT " + address(session, target), "Content-Type: application/octet-stream", Files.size(source)));
        return () -> {
            try (InputStream content = Files.newInputStream(source)) {
                connection.call(request, content);
            }
        };
    }

    /** Gets a file of a session's workspace onto this machine. */
    Timed download(SessionKey session, String source, Path target) throws IOException {
        HttpConnection connection = connect();
        byte[] request = bytes(head("GET " + address(session, source), "Accept: */*", 0));
        return () -> {
            try (OutputStream content = Files.newOutputStream(target)) {
                connection.call(request, content);
            }
        };
    }

    /** Says something to a session's agent, on a connection that is there already, and listens until it has answered. */
    EventClock prompt(SessionKey session) throws IOException {
        String body = "{\"text\":\"Are you there?\"}";
        byte[] request = bytes(head(
                        "POST /v1/sessions/" + session.id() + "/prompt?tenant_id=" + session.tenant(),
                        "Content-Type: application/json\r\nAccept: text/event-stream",
                        body.length())
                + body);
        try (HttpConnection connection = new HttpConnection(gateway.port())) {
            EventClock events = new EventClock(System::nanoTime);
            connection.call(request, events);
            return events;
        }
    }

    private HttpConnection connect() throws IOException {
        HttpConnection connection = new HttpConnection(gateway.port());
        connections.add(connection);
        return connection;
    }

    private static String address(SessionKey session, String file) {
        return "/v1/sandbox/files?session_id=" + session.id() + "&tenant_id=" + session.tenant() + "&path=" + file;
    }

    private static String head(String request, String header, long length) {
        return request + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + KEY + "\r\n" + header
                + "\r\nContent-Length: " + length + "\r\n\r\n";
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    @Override
    public void close() throws IOException {
        for (HttpConnection connection : connections) {
            connection.close();
        }
        gateway.close();
    }
}
