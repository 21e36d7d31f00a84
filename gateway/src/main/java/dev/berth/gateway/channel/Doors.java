package dev.berth.gateway.channel;

import dev.berth.gateway.channel.Door.Knock;
import dev.berth.gateway.http.Answer;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.Exchange;
import dev.berth.gateway.http.HttpProblem;
import dev.berth.sandbox.SandboxException;
import java.io.IOException;
import java.io.InputStream;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The addresses by which services reach their channels. A channel that is not there has none. */
public final class Doors {
    private static final int MOST_BYTES = 2 << 20;
    private static final List<String> HEADERS = List.of(
            "Content-Type",
            "Cookie",
            "Berth-Signature",
            "X-Slack-Signature",
            "X-Slack-Request-Timestamp",
            "X-Slack-Retry-Num",
            "X-Slack-Retry-Reason");
    private static final List<String> QUERY = List.of("code", "state", "error");

    private final Map<String, Door> byChannel = new ConcurrentHashMap<>();

    /** Opens the door of a channel. */
    public void open(String channel, Door door) {
        byChannel.put(channel, door);
    }

    public Map<String, Endpoint> endpoints() {
        return Map.of(
                "slackEvents", exchange -> take(exchange, "slack", "POST", "events"),
                "slackInstall", exchange -> take(exchange, "slack", "GET", "install"),
                "slackCallback", exchange -> take(exchange, "slack", "GET", "callback"),
                "webhookChannel", exchange -> take(exchange, "webhook", "POST", exchange.path("workspace")));
    }

    private Answer take(Exchange exchange, String channel, String method, String page) throws Exception {
        Door door = byChannel.get(channel);
        if (door == null) {
            throw SandboxException.notFound("this server has no such channel");
        }
        Map<String, List<String>> headers = new HashMap<>();
        HEADERS.forEach(name -> exchange.header(name).ifPresent(value -> headers.put(name, List.of(value))));
        Map<String, String> query = new HashMap<>();
        QUERY.forEach(name -> exchange.query(name).ifPresent(value -> query.put(name, value)));
        return door.take(new Knock(method, page, query, headers, body(exchange)));
    }

    private static byte[] body(Exchange exchange) throws IOException {
        try (InputStream in = exchange.stream()) {
            byte[] body = in.readNBytes(MOST_BYTES + 1);
            if (body.length > MOST_BYTES) {
                throw new HttpProblem(413, "too_large", "a request has " + MOST_BYTES + " bytes at most here");
            }
            return body;
        }
    }
}
