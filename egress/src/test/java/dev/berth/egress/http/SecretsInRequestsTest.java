package dev.berth.egress.http;

import static dev.berth.egress.http.World.PLACEHOLDER;
import static dev.berth.egress.http.World.VALUE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.egress.policy.Binding.Piece;
import dev.berth.egress.policy.Binding.Place;
import dev.berth.egress.policy.Refusal.Reason;
import dev.berth.egress.policy.Use;
import dev.berth.egress.policy.Visit;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.io.Content;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(300)
class SecretsInRequestsTest {
    private World world;
    private Origin origin;
    private final BlockingQueue<String> seen = new LinkedBlockingQueue<>();

    @BeforeEach
    void start() throws Exception {
        world = new World();
        origin = world.secure("api.test", (request, response, callback) -> {
            StringBuilder text = new StringBuilder();
            text.append(request.getMethod())
                    .append(' ')
                    .append(request.getHttpURI().getPathQuery())
                    .append('\n');
            for (HttpField field : request.getHeaders()) {
                text.append(field.getName())
                        .append(": ")
                        .append(field.getValue())
                        .append('\n');
            }
            text.append(Content.Source.asString(request, StandardCharsets.UTF_8));
            seen.add(text.toString());
            Content.Sink.write(response, true, "fine", callback);
        });
    }

    @AfterEach
    void stop() throws Exception {
        world.close();
    }

    private String seen() throws InterruptedException {
        String request = seen.poll(60, TimeUnit.SECONDS);
        assertThat(request).as("what the server saw").isNotNull();
        return request;
    }

    private URI uri(String pathAndQuery) {
        return URI.create("https://api.test:" + origin.port() + pathAndQuery);
    }

    private HttpResponse<String> send(HttpRequest request) throws Exception {
        return send(Version.HTTP_1_1, request);
    }

    private HttpResponse<String> send(Version version, HttpRequest request) throws Exception {
        try (HttpClient client = world.client(version)) {
            return client.send(request, BodyHandlers.ofString());
        }
    }

    private static void assertRefused(HttpResponse<String> answer, Reason reason) {
        assertThat(answer.body()).startsWith("berth: ").endsWith("\n");
        assertThat(answer.headers().firstValue("X-Berth-Refused")).contains(reason.toString());
        assertThat(answer.headers().firstValue("Content-Type")).contains("text/plain");
        assertThat(answer.statusCode()).isEqualTo(reason.status());
    }

    @ParameterizedTest
    @EnumSource(Version.class)
    void aPlaceholderInItsHeaderBecomesTheValue(Version version) throws Exception {
        world.bind("api.test", origin.port(), new Place.Header("X-Api-Key", "{}"));

        HttpResponse<String> answer = send(
                version,
                HttpRequest.newBuilder(uri("/v1"))
                        .header("x-api-key", PLACEHOLDER)
                        .build());

        assertThat(answer.body()).isEqualTo("fine");
        assertThat(answer.version()).isEqualTo(version);
        assertThat(World.parsed(seen())).containsEntry("x-api-key", VALUE);
        assertThat(world.policy.uses.poll(60, TimeUnit.SECONDS))
                .isEqualTo(new Use(
                        "KEY", dev.berth.egress.policy.Target.of("api.test", origin.port()), "GET", "/v1", 200));
    }

    @Test
    void aHeaderThatIsAbsentIsPutIn() throws Exception {
        world.bind("api.test", origin.port(), new Place.Header("Authorization", "Bearer {}"));

        send(HttpRequest.newBuilder(uri("/")).build());

        assertThat(World.parsed(seen())).containsEntry("authorization", "Bearer " + VALUE);
    }

    @Test
    void aHeaderThatIsSetReplacesWhatTheProgramSaid() throws Exception {
        world.bind(
                "api.test",
                origin.port(),
                new Place.Set("Authorization", List.of(new Piece("Bearer ", false), new Piece("KEY", true))));
        world.bind("api.test", origin.port(), new Place.Set("X-Plain", List.of(new Piece("fine", false))));

        HttpResponse<String> answer = send(HttpRequest.newBuilder(uri("/"))
                .header("Authorization", "Bearer my own")
                .build());

        assertThat(World.parsed(seen()))
                .containsEntry("authorization", "Bearer " + VALUE)
                .containsEntry("x-plain", "fine");
        assertThat(answer.body()).as("what is no secret comes back as it is").isEqualTo("fine");
        assertThat(world.policy.uses.poll(60, TimeUnit.SECONDS))
                .extracting(Use::secret)
                .isEqualTo("KEY");
    }

    @Test
    void aHeaderThatIsSetOfASecretThatIsGoneKeepsTheRequestBack() throws Exception {
        world.bind("api.test", origin.port(), new Place.Set("Authorization", List.of(new Piece("OTHER", true))));

        assertRefused(send(HttpRequest.newBuilder(uri("/")).build()), Reason.SECRET_GONE);
    }

    @Test
    void aHeaderWithSomethingElseIsLeft() throws Exception {
        world.bind("api.test", origin.port(), new Place.Header("Authorization", "Bearer {}"));

        send(HttpRequest.newBuilder(uri("/"))
                .header("Authorization", "Bearer my own")
                .build());

        assertThat(World.parsed(seen())).containsEntry("authorization", "Bearer my own");
        assertThat(world.policy.uses).isEmpty();
    }

    @Test
    void aHeaderThatConnectionNamesDoesNotKeepTheValueOut() throws Exception {
        world.bind("api.test", origin.port(), new Place.Header("Authorization", "Bearer {}"));
        try (var socket = world.dialTls("api.test", origin.port())) {
            RawHttp.send(
                    socket,
                    "GET / HTTP/1.1\r\nHost: api.test:" + origin.port()
                            + "\r\nConnection: close, authorization\r\nAuthorization: Bearer other\r\n\r\n");
            assertThat(RawHttp.all(socket)).startsWith("HTTP/1.1 200");
        }

        assertThat(World.parsed(seen())).containsEntry("authorization", "Bearer " + VALUE);
    }

    @Test
    void thePasswordOfBasicAuthenticationBecomesTheValue() throws Exception {
        world.bind("api.test", origin.port(), new Place.Basic("bot"));

        send(HttpRequest.newBuilder(uri("/"))
                .header("Authorization", "Basic " + base64("me:" + PLACEHOLDER))
                .build());

        assertThat(World.parsed(seen())).containsEntry("authorization", "Basic " + base64("me:" + VALUE));
    }

    @Test
    void basicAuthenticationThatIsAbsentIsPutIn() throws Exception {
        world.bind("api.test", origin.port(), new Place.Basic("bot"));

        send(HttpRequest.newBuilder(uri("/")).build());

        assertThat(World.parsed(seen())).containsEntry("authorization", "Basic " + base64("bot:" + VALUE));
    }

    @Test
    void aPlaceholderInItsParameterBecomesTheValue() throws Exception {
        world.bind("api.test", origin.port(), new Place.Query("key"));

        send(HttpRequest.newBuilder(uri("/find?a=%2F1&key=" + PLACEHOLDER + "&b=2"))
                .build());

        assertThat(seen()).startsWith("GET /find?a=%2F1&key=sk-real%2Fvalue%2Bwith%3Dodd%26chars&b=2\n");
    }

    @Test
    void aParameterThatIsAbsentIsPutIn() throws Exception {
        world.bind("api.test", origin.port(), new Place.Query("key"));

        send(HttpRequest.newBuilder(uri("/find")).build());

        assertThat(seen()).startsWith("GET /find?key=sk-real%2Fvalue%2Bwith%3Dodd%26chars\n");
    }

    @Test
    void aPlaceholderInAnyOtherPlaceIsRefusedAndNotSent() throws Exception {
        world.bind("api.test", origin.port(), new Place.Header("X-Api-Key", "{}"));
        String encoded = PLACEHOLDER.replace("-", "%2D");
        List<HttpRequest> leaks = List.of(
                HttpRequest.newBuilder(uri("/"))
                        .header("X-Other", "a " + PLACEHOLDER + " b")
                        .build(),
                HttpRequest.newBuilder(uri("/"))
                        .header("Authorization", "Basic " + base64("u:" + PLACEHOLDER))
                        .build(),
                HttpRequest.newBuilder(uri("/at/" + PLACEHOLDER)).build(),
                HttpRequest.newBuilder(uri("/at/" + encoded)).build(),
                HttpRequest.newBuilder(uri("/?q=" + PLACEHOLDER)).build(),
                HttpRequest.newBuilder(uri("/?q=" + encoded)).build());

        for (HttpRequest leak : leaks) {
            HttpResponse<String> answer = send(leak);

            assertRefused(answer, Reason.PLACEHOLDER);
            assertThat(answer.body())
                    .contains("KEY")
                    .doesNotContain(PLACEHOLDER)
                    .doesNotContain(VALUE);
            Visit visit = world.policy.visit();
            assertThat(visit.refused()).contains(Reason.PLACEHOLDER);
            assertThat(visit.target().host()).isEqualTo("api.test");
        }
        assertThat(seen).isEmpty();
    }

    @Test
    void aPlaceholderForAnotherHostIsRefused() throws Exception {
        world.bind("elsewhere.test", origin.port(), new Place.Header("X-Api-Key", "{}"));

        assertRefused(
                send(HttpRequest.newBuilder(uri("/"))
                        .header("X-Api-Key", PLACEHOLDER)
                        .build()),
                Reason.PLACEHOLDER);
        assertThat(seen).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(Version.class)
    void aPlaceholderInABodyIsRefused(Version version) throws Exception {
        world.bind("api.test", origin.port(), new Place.Header("X-Api-Key", "{}"));

        HttpResponse<String> answer = send(
                version,
                HttpRequest.newBuilder(uri("/"))
                        .POST(BodyPublishers.ofString("{\"key\": \"" + PLACEHOLDER + "\"}"))
                        .build());

        assertRefused(answer, Reason.PLACEHOLDER);
        assertThat(seen).isEmpty();
    }

    @Test
    void aPlaceholderInABodyIsFoundAcrossTheBordersOfChunks() throws Exception {
        world.bind("api.test", origin.port(), new Place.Header("X-Api-Key", "{}"));
        try (var socket = world.dialTls("api.test", origin.port())) {
            RawHttp.send(
                    socket,
                    "POST / HTTP/1.1\r\nHost: api.test:" + origin.port() + "\r\nTransfer-Encoding: chunked\r\n\r\n");
            for (char c : ("x" + PLACEHOLDER).toCharArray()) {
                RawHttp.send(socket, "1\r\n" + c + "\r\n");
            }
            RawHttp.send(socket, "0\r\n\r\n");

            assertThat(RawHttp.head(socket)).startsWith("HTTP/1.1 403").contains("X-Berth-Refused: placeholder");
        }
        assertThat(seen).isEmpty();
    }

    @Test
    void aBodyThatOnlyBeginsLikeAPlaceholderPasses() throws Exception {
        world.bind("api.test", origin.port(), new Place.Header("X-Api-Key", "{}"));
        String body = "a " + PLACEHOLDER.substring(0, PLACEHOLDER.length() - 1);

        assertThat(send(HttpRequest.newBuilder(uri("/"))
                                .POST(BodyPublishers.ofString(body))
                                .build())
                        .body())
                .isEqualTo("fine");
        assertThat(seen()).endsWith("\n" + body);
    }

    @Test
    void aSecretThatIsGoneIsRefusedFromTheNextRequestOnTheSameConnectionOn() throws Exception {
        world.bind("api.test", origin.port(), new Place.Header("X-Api-Key", "{}"));
        HttpRequest request = HttpRequest.newBuilder(uri("/"))
                .header("X-Api-Key", PLACEHOLDER)
                .build();
        String raw = "GET / HTTP/1.1\r\nHost: api.test:" + origin.port() + "\r\nX-Api-Key: " + PLACEHOLDER + "\r\n\r\n";
        try (var socket = world.dialTls("api.test", origin.port())) {
            RawHttp.send(socket, raw);
            assertThat(RawHttp.message(socket)).startsWith("HTTP/1.1 200");
            world.policy.values.clear();
            RawHttp.send(socket, raw);
            assertThat(RawHttp.message(socket)).contains("X-Berth-Refused: secret_gone");
        }
        assertRefused(send(request), Reason.SECRET_GONE);
        assertThat(seen).hasSize(1);
    }

    @Test
    void aNetworkThatWasTakenAwayIsGoneForTheNextRequestOnTheSameConnection() throws Exception {
        String raw = "GET / HTTP/1.1\r\nHost: api.test:" + origin.port() + "\r\n\r\n";
        try (var socket = world.dialTls("api.test", origin.port())) {
            RawHttp.send(socket, raw);
            assertThat(RawHttp.message(socket)).startsWith("HTTP/1.1 200");
            world.policy.network = dev.berth.sandbox.Network.NONE;
            RawHttp.send(socket, raw);
            assertThat(RawHttp.message(socket)).contains("X-Berth-Refused: no_network");
        }
    }

    @Test
    void aSecretIsNotSentInClear() throws Exception {
        Origin clear = world.plain((request, response, callback) -> {
            seen.add(String.valueOf(request.getHeaders().get("X-Api-Key")));
            Content.Sink.write(response, true, "fine", callback);
        });
        world.bind("clear.test", clear.port(), new Place.Header("X-Api-Key", "{}"));
        URI uri = URI.create("http://clear.test:" + clear.port() + "/");

        assertRefused(
                send(HttpRequest.newBuilder(uri)
                        .header("X-Api-Key", PLACEHOLDER)
                        .build()),
                Reason.NOT_ENCRYPTED);
        assertThat(send(HttpRequest.newBuilder(uri).build()).body()).isEqualTo("fine");
        assertThat(seen()).isEqualTo("null");
    }

    @Test
    void aSecretMarkedForItIsSentInClear() throws Exception {
        Origin clear = world.plain((request, response, callback) -> {
            seen.add(String.valueOf(request.getHeaders().get("X-Api-Key")));
            Content.Sink.write(response, true, "fine", callback);
        });
        world.bind("KEY", PLACEHOLDER, VALUE, "clear.test", clear.port(), new Place.Header("X-Api-Key", "{}"), true);

        send(HttpRequest.newBuilder(URI.create("http://clear.test:" + clear.port() + "/"))
                .build());

        assertThat(seen()).isEqualTo(VALUE);
    }

    @Test
    void aValueThatAHeaderCannotCarryIsNotSent() throws Exception {
        world.bind(
                "KEY",
                PLACEHOLDER,
                "a\r\nX-Evil: 1",
                "api.test",
                origin.port(),
                new Place.Header("X-Api-Key", "{}"),
                false);

        HttpResponse<String> answer = send(HttpRequest.newBuilder(uri("/"))
                .header("X-Api-Key", PLACEHOLDER)
                .build());

        assertRefused(answer, Reason.UNAVAILABLE);
        assertThat(answer.body()).doesNotContain("Evil");
        assertThat(seen).isEmpty();
    }

    @Test
    void onlyBoundMethodsAndPathsGetTheValue() throws Exception {
        // What is bound is all that is allowed by name.
        world.policy.network = dev.berth.sandbox.Network.restricted(
                dev.berth.sandbox.Network.Rule.to("127.0.0.0/8").withPorts(origin.port()));
        world.policy.values.put("KEY", VALUE);
        world.policy.bindings.add(new dev.berth.egress.policy.Binding(
                "KEY",
                PLACEHOLDER,
                List.of(dev.berth.sandbox.Destination.Domain.of("api.test")),
                List.of(origin.port()),
                List.of("GET"),
                List.of("/v1/*"),
                new Place.Header("X-Api-Key", "{}"),
                false));

        assertThat(send(HttpRequest.newBuilder(uri("/v1/a")).build()).body()).isEqualTo("fine");
        assertThat(World.parsed(seen())).containsEntry("x-api-key", VALUE);
        assertRefused(send(HttpRequest.newBuilder(uri("/v2")).build()), Reason.NOT_ALLOWED);
        assertRefused(send(HttpRequest.newBuilder(uri("/v1/%2e%2e/v2")).build()), Reason.BAD_REQUEST);
        assertRefused(
                send(HttpRequest.newBuilder(uri("/v1/a"))
                        .POST(BodyPublishers.ofString("x"))
                        .build()),
                Reason.NOT_ALLOWED);
        assertThat(seen).isEmpty();
    }

    private static String base64(String text) {
        return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }
}
