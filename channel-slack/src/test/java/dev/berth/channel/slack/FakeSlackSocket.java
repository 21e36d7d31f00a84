package dev.berth.channel.slack;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.java_websocket.WebSocket;
import org.java_websocket.handshake.ClientHandshake;
import org.java_websocket.server.WebSocketServer;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** Slack's side of Socket Mode. */
final class FakeSlackSocket implements AutoCloseable {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    /** As long as Slack waits for an acknowledgement. */
    private static final long DEADLINE_SECONDS = 3;

    private static final int RETRIES = 10;

    private final FakeSlack slack;
    private final Server server = new Server();
    private final CountDownLatch started = new CountDownLatch(1);
    private final Map<String, CompletableFuture<Boolean>> waiting = new ConcurrentHashMap<>();
    private final Map<String, Boolean> tickets = new ConcurrentHashMap<>();
    private final AtomicInteger lose = new AtomicInteger();
    private final AtomicInteger opened = new AtomicInteger();
    private final AtomicInteger redeliveries = new AtomicInteger();

    FakeSlackSocket(FakeSlack slack) {
        this.slack = slack;
        server.setReuseAddr(true);
        server.setDaemon(true);
        server.start();
        try {
            if (!started.await(60, TimeUnit.SECONDS)) {
                throw new AssertionError("the socket of Slack did not start");
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** An address that is good for one connection. */
    URI address() {
        String ticket = UUID.randomUUID().toString();
        tickets.put(ticket, true);
        return URI.create("ws://127.0.0.1:" + server.getPort() + "/link/?ticket=" + ticket);
    }

    void deliver(String type, JsonNode payload) {
        for (int attempt = 0; attempt <= RETRIES; attempt++) {
            String id = UUID.randomUUID().toString();
            CompletableFuture<Boolean> acknowledged = new CompletableFuture<>();
            waiting.put(id, acknowledged);
            ObjectNode envelope = JSON.createObjectNode()
                    .put("envelope_id", id)
                    .put("type", type)
                    .put("accepts_response_payload", !type.equals("events_api"));
            envelope.set("payload", payload);
            if (attempt > 0) {
                redeliveries.incrementAndGet();
                envelope.put("retry_attempt", attempt).put("retry_reason", "timeout");
            }
            slack.await(this::open, connections -> !connections.isEmpty())
                    .getLast()
                    .send(envelope.toString());
            try {
                if (acknowledged.get(DEADLINE_SECONDS, TimeUnit.SECONDS)) {
                    return;
                }
            } catch (TimeoutException e) {
                // it is sent again
            } catch (InterruptedException | java.util.concurrent.ExecutionException e) {
                throw new AssertionError(e);
            } finally {
                waiting.remove(id);
            }
        }
        throw new AssertionError("the app never acknowledged " + payload);
    }

    private List<WebSocket> open() {
        List<WebSocket> open = new ArrayList<>(server.getConnections());
        open.removeIf(connection -> !connection.isOpen());
        return open;
    }

    void lose(int times) {
        lose.addAndGet(times);
    }

    void refresh() {
        open().forEach(connection -> connection.send("{\"type\":\"disconnect\",\"reason\":\"refresh_requested\"}"));
    }

    void cut() {
        open().forEach(connection -> connection.closeConnection(1006, "cut"));
    }

    int opened() {
        return opened.get();
    }

    int redeliveries() {
        return redeliveries.get();
    }

    @Override
    public void close() {
        try {
            server.stop(1_000);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private final class Server extends WebSocketServer {
        Server() {
            super(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 1);
        }

        @Override
        public void onStart() {
            started.countDown();
        }

        @Override
        public void onOpen(WebSocket connection, ClientHandshake handshake) {
            String resource = handshake.getResourceDescriptor();
            if (tickets.remove(resource.substring(resource.indexOf('=') + 1)) == null) {
                connection.close(4000, "no such ticket");
                return;
            }
            connection.send("{\"type\":\"hello\",\"num_connections\":1}");
            opened.incrementAndGet();
            slack.changed();
        }

        @Override
        public void onMessage(WebSocket connection, String message) {
            String id = JSON.readTree(message).path("envelope_id").asString("");
            CompletableFuture<Boolean> acknowledged = waiting.get(id);
            if (acknowledged != null) {
                boolean lost = lose.getAndUpdate(left -> Math.max(0, left - 1)) > 0;
                acknowledged.complete(!lost);
            }
        }

        @Override
        public void onClose(WebSocket connection, int code, String reason, boolean remote) {
            slack.changed();
        }

        @Override
        public void onError(WebSocket connection, Exception e) {
            slack.changed();
        }
    }
}
