package dev.berth.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.gateway.EventReader.Event;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.net.http.WebSocketHandshakeException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** What happens in a session, as those see it who watch. Needs root and crun. */
@Timeout(300)
class EventApiTest {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static TestingBerth berth;
    private static String acme;

    @BeforeAll
    static void start() {
        berth = new TestingBerth();
        acme = berth.tenant("acme");
    }

    @AfterAll
    static void stop() {
        berth.close();
    }

    private static void run(String session, String command) {
        var reply = berth.post(
                acme, "/v1/sandbox/bash", JSON.writeValueAsString(Map.of("session_id", session, "command", command)));
        assertThat(reply.status()).as(reply.body()).isEqualTo(200);
    }

    private static List<Event> now(String session, long after) {
        List<Event> events = new ArrayList<>();
        try (EventReader reader =
                berth.events(acme, "/v1/sessions/" + session + "/events?follow=false&after=" + after, Map.of())) {
            for (var event = reader.next(); event.isPresent(); event = reader.next()) {
                events.add(event.get());
            }
        }
        return events;
    }

    @Test
    void whatHappenedIsToldInOrderWithoutGapsAndThenWhatHappens() {
        run("told", "true");
        try (EventReader reader = berth.events(acme, "/v1/sessions/told/events", Map.of())) {
            Event first = reader.next().orElseThrow();
            assertThat(first.id()).isEqualTo("1");
            assertThat(first.name()).isEqualTo("state");
            assertThat(first.data().path("seq").asLong()).isEqualTo(1);
            Event ran = reader.next("tool");
            assertThat(ran.data().path("data").path("what").asString()).isEqualTo("bash");
            run("told", "exit 3");
            assertThat(reader.next("tool").data().path("data").path("exit_code").asInt())
                    .isEqualTo(3);
            berth.sessions().pause(dev.berth.session.SessionKey.of("acme", "told"));
            assertThat(reader.next("state").data().path("type").asString()).isEqualTo("sandbox.pausing");
        }
        List<Event> all = now("told", 0);
        for (int i = 0; i < all.size(); i++) {
            assertThat(all.get(i).id()).isEqualTo(Integer.toString(i + 1));
        }
    }

    @Test
    void whoComesBackWithTheLastNumberMissesNothingAndGetsNothingTwice() {
        run("back", "true");
        List<String> seen = new ArrayList<>();
        String last = "0";
        for (int i = 0; i < 10; i++) {
            run("back", "exit " + i);
            try (EventReader reader = berth.events(acme, "/v1/sessions/back/events", Map.of("Last-Event-ID", last))) {
                for (Event event = reader.next("tool"); ; event = reader.next("tool")) {
                    seen.add(event.data().path("data").path("exit_code").toString());
                    last = event.id();
                    if (event.data().path("data").path("exit_code").asInt() == i && seen.size() == i + 2) {
                        break;
                    }
                }
            }
        }
        assertThat(seen).containsExactly("0", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9");
    }

    @Test
    void aWebSocketTellsTheSame() throws Exception {
        run("socket", "exit 7");
        LinkedBlockingQueue<JsonNode> received = new LinkedBlockingQueue<>();
        WebSocket socket = HttpClient.newHttpClient()
                .newWebSocketBuilder()
                .header("Authorization", "Bearer " + acme)
                .buildAsync(
                        URI.create(berth.url().replace("http", "ws") + "/v1/sessions/socket/events?after=1"),
                        new Collecting(received))
                .join();
        JsonNode event = received.poll(60, TimeUnit.SECONDS);
        assertThat(event).isNotNull();
        assertThat(event.path("seq").asLong()).isEqualTo(2);
        while (!event.path("event").asString().equals("tool")) {
            event = received.poll(60, TimeUnit.SECONDS);
            assertThat(event).isNotNull();
        }
        assertThat(event.path("data").path("exit_code").asInt()).isEqualTo(7);
        socket.sendClose(WebSocket.NORMAL_CLOSURE, "").join();
    }

    private record Collecting(LinkedBlockingQueue<JsonNode> received) implements WebSocket.Listener {
        @Override
        public CompletionStage<?> onText(WebSocket socket, CharSequence data, boolean last) {
            received.add(JSON.readTree(data.toString()));
            socket.request(1);
            return java.util.concurrent.CompletableFuture.completedStage(null);
        }
    }

    @Test
    void aWebSocketIsRefusedAsAnyRequestIs() {
        for (var wrong :
                List.of(Map.entry("/v1/sessions/none/events", 404), Map.entry("/v1/sessions/none/events?x=1", 400))) {
            assertThatThrownBy(() -> HttpClient.newHttpClient()
                            .newWebSocketBuilder()
                            .header("Authorization", "Bearer " + acme)
                            .buildAsync(
                                    URI.create(berth.url().replace("http", "ws") + wrong.getKey()),
                                    new WebSocket.Listener() {})
                            .join())
                    .isInstanceOf(CompletionException.class)
                    .cause()
                    .isInstanceOfSatisfying(
                            WebSocketHandshakeException.class,
                            e -> assertThat(e.getResponse().statusCode()).isEqualTo(wrong.getValue()));
        }
    }

    @Test
    void anotherTenantsSessionIsNotThere() {
        run("mine", "true");
        String rival = berth.tenant("rival-of-events");
        assertThat(berth.get(rival, "/v1/sessions/mine/events?follow=false").status())
                .isEqualTo(404);
        assertThat(berth.get(acme, "/v1/sessions/nobodys/events?follow=false").status())
                .isEqualTo(404);
    }

    @Test
    void aStrangeLastEventIdIsRefused() {
        run("strange", "true");
        var reply =
                berth.send(java.net.http.HttpRequest.newBuilder(URI.create(berth.url() + "/v1/sessions/strange/events"))
                        .header("Authorization", "Bearer " + acme)
                        .header("Last-Event-ID", "-1; DROP TABLE events")
                        .build());
        assertThat(reply.status()).isEqualTo(400);
    }
}
