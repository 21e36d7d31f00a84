package dev.berth.gateway.api;

import dev.berth.gateway.http.Answer;
import dev.berth.gateway.http.Endpoint;
import dev.berth.gateway.http.Exchange;
import dev.berth.gateway.http.Socket;
import dev.berth.gateway.http.SocketEndpoint;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.EventFollower;
import dev.berth.session.LoggedEvent;
import dev.berth.session.SessionKey;
import dev.berth.session.Sessions;
import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Pattern;

/** What happens in a session, to those who watch: from any event on, each once, on any server. */
public final class EventApi {
    private static final Pattern NUMBER = Pattern.compile("[0-9]{1,15}");

    private final Sessions sessions;
    private final Duration heartbeat;

    public EventApi(Sessions sessions, Duration heartbeat) {
        this.sessions = sessions;
        this.heartbeat = heartbeat;
    }

    public Map<String, Endpoint> endpoints() {
        return Map.of("events", this::stream);
    }

    public Map<String, SocketEndpoint> sockets() {
        return Map.of("events", this::socket);
    }

    private Answer stream(Exchange exchange) {
        SessionKey key = SessionApi.known(sessions, SessionApi.key(exchange)).key();
        long after = after(exchange);
        boolean follow = follow(exchange);
        return Answer.events(events -> send(key, after, follow, new Sink() {
            @Override
            public void event(LoggedEvent event) throws IOException {
                events.event(event.seq(), kind(event.type()), show(event));
            }

            @Override
            public void heartbeat() throws IOException {
                events.heartbeat();
            }
        }));
    }

    private SocketEndpoint.Talk socket(Exchange exchange) {
        SessionKey key = SessionApi.known(sessions, SessionApi.key(exchange)).key();
        long after = after(exchange);
        boolean follow = follow(exchange);
        return socket -> send(key, after, follow, new Sink() {
            @Override
            public void event(LoggedEvent event) throws IOException, InterruptedException {
                socket.sendJson(show(event));
            }

            @Override
            public void heartbeat() throws IOException {
                requireThere(socket);
            }
        });
    }

    /** Where events go; pings of a WebSocket are sent by the server, so there a heartbeat only looks for the client. */
    private interface Sink {
        void event(LoggedEvent event) throws IOException, InterruptedException;

        void heartbeat() throws IOException;
    }

    private void send(SessionKey key, long after, boolean follow, Sink sink) throws IOException, InterruptedException {
        try (EventFollower follower = sessions.events().follow(key, after)) {
            while (!follower.ended()) {
                var events = follower.next(follow ? heartbeat : Duration.ZERO);
                for (LoggedEvent event : events) {
                    sink.event(event);
                }
                if (events.isEmpty()) {
                    if (!follow) {
                        return;
                    }
                    sink.heartbeat();
                }
            }
        }
    }

    private static void requireThere(Socket socket) throws IOException {
        if (!socket.open()) {
            throw new IOException("the client has gone");
        }
    }

    private static boolean follow(Exchange exchange) {
        return exchange.query("follow").map(Boolean::parseBoolean).orElse(true);
    }

    private static long after(Exchange exchange) {
        return exchange.header("Last-Event-ID")
                .map(EventApi::number)
                .or(() -> exchange.query("after").map(Long::parseLong))
                .orElse(0L);
    }

    private static Long number(String text) {
        if (!NUMBER.matcher(text).matches()) {
            throw SandboxException.invalid("Last-Event-ID has to be the number of an event of this session");
        }
        return Long.valueOf(text);
    }

    static Map<String, Object> show(LoggedEvent event) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("seq", event.seq());
        shown.put("at", event.at());
        shown.put("event", kind(event.type()));
        shown.put("type", event.type());
        shown.put("actor", event.actor());
        event.correlation().ifPresent(request -> shown.put("request_id", request));
        shown.put("data", event.data());
        return shown;
    }

    /** What a client chooses events by. */
    private static String kind(String type) {
        int dot = type.indexOf('.');
        String area = dot < 0 ? type : type.substring(0, dot);
        return switch (area) {
            case "tool", "output", "job", "approval", "artifact", "terminal", "run" -> area;
            case "turn", "checkpoint" -> "turn";
            default -> "state";
        };
    }
}
