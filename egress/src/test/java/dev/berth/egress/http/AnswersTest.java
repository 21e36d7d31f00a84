package dev.berth.egress.http;

import static dev.berth.egress.http.World.VALUE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.egress.policy.Binding.Place;
import dev.berth.egress.policy.Refusal.Reason;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.GZIPOutputStream;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.io.Content;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(300)
class AnswersTest {
    private static final String STARS = "*".repeat(VALUE.length());

    private World world;

    @BeforeEach
    void start() throws Exception {
        world = new World();
    }

    @AfterEach
    void stop() throws Exception {
        world.close();
    }

    private Origin bound(Origin.Page page) throws Exception {
        Origin origin = world.secure("api.test", page);
        world.bind("api.test", origin.port(), new Place.Header("X-Api-Key", "{}"));
        return origin;
    }

    private static HttpRequest get(Origin origin) {
        return HttpRequest.newBuilder(uri(origin)).build();
    }

    private static URI uri(Origin origin) {
        return URI.create("https://api.test:" + origin.port() + "/");
    }

    private HttpResponse<String> send(Version version, HttpRequest request) throws Exception {
        try (HttpClient client = world.client(version)) {
            return client.send(request, BodyHandlers.ofString());
        }
    }

    @ParameterizedTest
    @EnumSource(Version.class)
    void aValueThatComesBackIsStarredInHeadersAndBody(Version version) throws Exception {
        Origin origin = bound((request, response, callback) -> {
            response.getHeaders().put("X-Echo", "it is " + VALUE + ".");
            Content.Sink.write(response, true, "<" + VALUE + "|" + VALUE + ">", callback);
        });

        HttpResponse<String> answer = send(version, get(origin));

        assertThat(answer.body()).isEqualTo("<" + STARS + "|" + STARS + ">");
        assertThat(answer.headers().firstValue("X-Echo")).contains("it is " + STARS + ".");
    }

    @Test
    void aValueIsFoundAcrossThePiecesOfABody() throws Exception {
        Origin origin = bound((request, response, callback) -> {
            try (OutputStream out = Content.Sink.asOutputStream(response)) {
                for (byte b : ("a" + VALUE + "b").getBytes(StandardCharsets.UTF_8)) {
                    out.write(b);
                    out.flush();
                }
            }
            callback.succeeded();
        });

        assertThat(send(Version.HTTP_1_1, get(origin)).body()).isEqualTo("a" + STARS + "b");
    }

    @Test
    void otherSpellingsOfAValueAreStarredToo() throws Exception {
        String escaped = URLEncoder.encode(VALUE, StandardCharsets.UTF_8);
        Origin origin = bound((request, response, callback) ->
                Content.Sink.write(response, true, escaped + " " + VALUE.replace("/", "\\/"), callback));

        assertThat(send(Version.HTTP_1_1, get(origin)).body())
                .isEqualTo("*".repeat(escaped.length()) + " " + "*".repeat(VALUE.length() + 1));
    }

    @Test
    void theCredentialsOfBasicAuthenticationAreStarred() throws Exception {
        Origin origin = world.secure(
                "api.test",
                (request, response, callback) ->
                        Content.Sink.write(response, true, request.getHeaders().get("Authorization"), callback));
        world.bind("api.test", origin.port(), new Place.Basic("bot"));
        String encoded = Base64.getEncoder().encodeToString(("bot:" + VALUE).getBytes(StandardCharsets.UTF_8));

        assertThat(send(Version.HTTP_1_1, get(origin)).body())
                .startsWith("Basic **")
                .hasSize("Basic ".length() + encoded.length())
                .doesNotContain(encoded.substring(4, 12));
    }

    @ParameterizedTest
    @ValueSource(strings = {"gzip", "deflate"})
    void aCompressedBodyIsSearchedToo(String encoding) throws Exception {
        Origin origin = bound((request, response, callback) -> {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            try (OutputStream out =
                    encoding.equals("gzip") ? new GZIPOutputStream(bytes) : new DeflaterOutputStream(bytes)) {
                out.write(("[" + VALUE + " " + request.getHeaders().get("Accept-Encoding") + "]")
                        .getBytes(StandardCharsets.UTF_8));
            }
            response.getHeaders().put("Content-Encoding", encoding);
            response.write(true, ByteBuffer.wrap(bytes.toByteArray()), callback);
        });

        HttpResponse<String> answer = send(
                Version.HTTP_1_1,
                HttpRequest.newBuilder(uri(origin))
                        .header("Accept-Encoding", "gzip, br")
                        .build());

        assertThat(answer.body()).isEqualTo("[" + STARS + " identity]");
        assertThat(answer.headers().firstValue("Content-Encoding")).isEmpty();
    }

    @Test
    void anEncodingThatCannotBeSearchedIsRefused() throws Exception {
        Origin origin = bound((request, response, callback) -> {
            response.getHeaders().put("Content-Encoding", "br");
            Content.Sink.write(response, true, "???", callback);
        });

        HttpResponse<String> answer = send(Version.HTTP_1_1, get(origin));

        assertThat(answer.headers().firstValue("X-Berth-Refused")).contains("upstream_garbage");
        assertThat(world.policy.visit().refused()).contains(Reason.UPSTREAM_GARBAGE);
    }

    @Test
    void anAnswerWithoutASecretIsLeftAsItIs() throws Exception {
        Origin origin = world.secure("api.test", (request, response, callback) -> {
            response.getHeaders().put("Content-Encoding", "br");
            Content.Sink.write(response, true, VALUE + request.getHeaders().get("Accept-Encoding"), callback);
        });

        HttpResponse<String> answer = send(
                Version.HTTP_1_1,
                HttpRequest.newBuilder(uri(origin))
                        .header("Accept-Encoding", "br")
                        .build());

        assertThat(answer.body()).isEqualTo(VALUE + "br");
        assertThat(answer.headers().firstValue("Content-Encoding")).contains("br");
    }

    @ParameterizedTest
    @EnumSource(Version.class)
    void anEventArrivesWhileTheNextOneIsNotThereYet(Version version) throws Exception {
        CountDownLatch goOn = new CountDownLatch(1);
        Origin origin = bound((request, response, callback) -> {
            response.getHeaders().put("Content-Type", "text/event-stream");
            try (OutputStream out = Content.Sink.asOutputStream(response)) {
                out.write("data: 1\n\n".getBytes(StandardCharsets.UTF_8));
                out.flush();
                assertThat(goOn.await(60, TimeUnit.SECONDS)).isTrue();
                out.write("data: 2\n\n".getBytes(StandardCharsets.UTF_8));
            }
            callback.succeeded();
        });
        try (HttpClient client = world.client(version);
                InputStream events =
                        client.send(get(origin), BodyHandlers.ofInputStream()).body()) {
            assertThat(new String(events.readNBytes(9), StandardCharsets.UTF_8)).isEqualTo("data: 1\n\n");
            goOn.countDown();
            assertThat(new String(events.readAllBytes(), StandardCharsets.UTF_8))
                    .isEqualTo("data: 2\n\n");
        }
    }

    @ParameterizedTest
    @EnumSource(Version.class)
    void aLargeBodyComesThroughInConstantMemory(Version version) throws Exception {
        long size = 256L << 20;
        byte[] piece = new byte[1 << 16];
        Origin origin = bound((request, response, callback) -> {
            try (OutputStream out = Content.Sink.asOutputStream(response)) {
                for (long left = size; left > 0; left -= piece.length) {
                    out.write(piece);
                }
            }
            callback.succeeded();
        });
        long most = 0;
        long count = 0;
        try (HttpClient client = world.client(version);
                InputStream body =
                        client.send(get(origin), BodyHandlers.ofInputStream()).body()) {
            byte[] buffer = new byte[1 << 16];
            Runtime runtime = Runtime.getRuntime();
            runtime.gc();
            long before = runtime.totalMemory() - runtime.freeMemory();
            long next = size / 4;
            for (int n = body.read(buffer); n >= 0; n = body.read(buffer)) {
                count += n;
                if (count >= next) {
                    runtime.gc();
                    most = Math.max(most, runtime.totalMemory() - runtime.freeMemory() - before);
                    next += size / 4;
                }
            }
        }
        assertThat(count).isEqualTo(size);
        assertThat(most).as("bytes that stay in memory").isLessThan(64 << 20);
        assertThat(world.policy.visit().received()).isGreaterThanOrEqualTo(size);
    }

    @ParameterizedTest
    @EnumSource(Version.class)
    void aLargeBodyGoesOut(Version version) throws Exception {
        Origin origin = bound((request, response, callback) -> {
            long count = 0;
            try (InputStream in = Content.Source.asInputStream(request)) {
                byte[] buffer = new byte[1 << 16];
                for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
                    count += n;
                }
            }
            Content.Sink.write(response, true, "" + count, callback);
        });
        byte[] body = new byte[50 << 20];

        assertThat(send(
                                version,
                                HttpRequest.newBuilder(uri(origin))
                                        .POST(BodyPublishers.ofByteArray(body))
                                        .build())
                        .body())
                .isEqualTo("" + body.length);
    }

    @Test
    void aProgramThatWaitsToBeToldSendsItsBody() throws Exception {
        Origin origin = bound((request, response, callback) ->
                Content.Sink.write(response, true, Content.Source.asString(request, StandardCharsets.UTF_8), callback));
        try (var socket = world.dialTls("api.test", origin.port())) {
            RawHttp.send(
                    socket,
                    "POST / HTTP/1.1\r\nHost: api.test:" + origin.port()
                            + "\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
            assertThat(RawHttp.head(socket)).startsWith("HTTP/1.1 100");
            RawHttp.send(socket, "hello");
            assertThat(RawHttp.message(socket)).startsWith("HTTP/1.1 200").endsWith("\r\n\r\nhello");
        }
    }

    @Test
    void trailersComeThrough() throws Exception {
        Origin origin = bound((request, response, callback) -> {
            HttpFields.Mutable trailers = HttpFields.build();
            response.getHeaders().put("Trailer", "grpc-status");
            response.setTrailersSupplier(() -> trailers);
            trailers.put("grpc-status", "0");
            trailers.put("grpc-message", VALUE);
            Content.Sink.write(response, true, "x", callback);
        });
        try (var socket = world.dialTls("api.test", origin.port())) {
            RawHttp.send(socket, "GET / HTTP/1.1\r\nHost: api.test:" + origin.port() + "\r\nConnection: close\r\n\r\n");

            assertThat(RawHttp.all(socket))
                    .containsIgnoringCase("grpc-status: 0")
                    .contains(STARS)
                    .doesNotContain(VALUE);
        }
    }

    @Test
    void aRedirectIsForTheProgramToFollow() throws Exception {
        Origin origin = bound((request, response, callback) -> org.eclipse.jetty.server.Response.sendRedirect(
                request, response, callback, 302, "https://evil.test/", true));

        HttpResponse<String> answer = send(Version.HTTP_1_1, get(origin));

        assertThat(answer.statusCode()).isEqualTo(302);
        assertThat(answer.headers().firstValue("Location")).contains("https://evil.test/");
    }

    @Test
    void whatAServerSaysOfItsOwnConnectionStaysOutside() throws Exception {
        Origin origin = bound((request, response, callback) -> {
            response.getHeaders().put("Alt-Svc", "h3=\":443\"");
            response.getHeaders().put("X-Berth-Refused", "not_allowed");
            response.getHeaders().put("Proxy-Authenticate", "Basic");
            response.getHeaders().put("X-Mine", "1");
            Content.Sink.write(response, true, "x", callback);
        });

        HttpResponse<String> answer = send(Version.HTTP_1_1, get(origin));

        assertThat(answer.headers().map().keySet())
                .contains("x-mine")
                .doesNotContain("alt-svc", "x-berth-refused", "proxy-authenticate");
    }

    @Test
    void whatASandboxMayCarryEndsInTheMiddleOfABody() throws Exception {
        Origin origin = bound((request, response, callback) -> {
            try (OutputStream out = Content.Sink.asOutputStream(response)) {
                out.write(new byte[1 << 20]);
            }
            callback.succeeded();
        });
        world.policy.network = world.policy.network.withCaps(new dev.berth.sandbox.Network.Caps(0, 100_000, 0));
        try (var socket = world.dialTls("api.test", origin.port())) {
            RawHttp.send(socket, "GET / HTTP/1.1\r\nHost: api.test:" + origin.port() + "\r\n\r\n");
            assertThat(RawHttp.head(socket)).startsWith("HTTP/1.1 200");
            byte[] got = socket.getInputStream().readAllBytes();
            assertThat(got.length).isLessThanOrEqualTo(110_000);
        } catch (java.io.IOException e) {
            assertThat(e).isInstanceOf(javax.net.ssl.SSLException.class); // it broke off without saying goodbye
        }
        assertThat(world.policy.visit().refused()).contains(Reason.CAP_BYTES);
    }

    @RepeatedTest(10)
    void aHeadHasItsLengthAndNoBody() throws Exception {
        Origin origin = bound((request, response, callback) -> {
            response.getHeaders().put("Content-Length", "1234");
            callback.succeeded();
        });

        HttpResponse<String> answer = send(
                Version.HTTP_1_1,
                HttpRequest.newBuilder(uri(origin))
                        .method("HEAD", BodyPublishers.noBody())
                        .build());

        assertThat(answer.headers().firstValue("Content-Length")).contains("1234");
    }
}
