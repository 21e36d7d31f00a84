package dev.berth.egress.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.Socket;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jetty.io.Content;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(300)
class SmugglingTest {
    private World world;
    private Origin origin;
    private final AtomicInteger served = new AtomicInteger();

    @BeforeEach
    void start() throws Exception {
        world = new World();
        origin = world.plain((request, response, callback) -> {
            served.incrementAndGet();
            Content.Sink.write(response, true, request.getHttpURI().getPathQuery(), callback);
        });
    }

    @AfterEach
    void stop() throws Exception {
        world.close();
    }

    /** HOST stands for the host and port of a server that may be reached. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                "POST / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
                "POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
                "POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 4, 5\r\n\r\nabcde",
                "POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: +4\r\n\r\nabcd",
                "POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: -1\r\n\r\n",
                "POST / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
                "POST / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
                "POST / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: HOST\r\nX-A: 1\r\n folded\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: HOST\r\nHost: HOST\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: HOST\r\nHost: evil.test\r\n\r\n",
                "GET / HTTP/1.1\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: HOST\r\nX-A: a\0b\r\n\r\n",
                "GET / HTTP/1.1\nHost: HOST\n\n",
                "GET / HTTP/1.1\r\nHost: HOST\r\nNoColon\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: HOST\r\n: empty\r\n\r\n",
                "GET / HTTP/9.9\r\nHost: HOST\r\n\r\n",
                "GET http://user:pw@HOST/ HTTP/1.1\r\nHost: HOST\r\n\r\n",
                "GET http://evil.test/ HTTP/1.1\r\nHost: HOST\r\n\r\n",
                "GET https://HOST/ HTTP/1.1\r\nHost: HOST\r\n\r\n",
                "GET ftp://HOST/ HTTP/1.1\r\nHost: HOST\r\n\r\n",
                "CONNECT HOST HTTP/1.1\r\nHost: HOST\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: HOST@evil.test\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n"
            })
    void whatCanBeReadInTwoWaysIsRefused(String request) throws Exception {
        String host = "api.test:" + origin.port();
        try (Socket socket = world.dial("api.test", origin.port())) {
            RawHttp.send(socket, request.replace("HOST", host));
            String answer = RawHttp.head(socket);
            assertThat(answer).containsPattern("^HTTP/1.1 (4|5)\\d\\d ").contains("X-Berth-Refused: ");
        }
        assertThat(served).hasValue(0);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "4\nabcd\n0\n\n",
                "4;\nabcd\r\n0\r\n\r\n",
                "0x4\r\nabcd\r\n0\r\n\r\n",
                "-4\r\nabcd\r\n0\r\n\r\n",
                "4\r\nabcdX0\r\n\r\n",
                "FFFFFFFFFFFFFFFFF\r\nabcd\r\n0\r\n\r\n"
            })
    void chunksThatCanBeReadInTwoWaysDoNotPass(String chunks) throws Exception {
        String host = "api.test:" + origin.port();
        try (Socket socket = world.dial("api.test", origin.port())) {
            RawHttp.send(
                    socket,
                    "POST / HTTP/1.1\r\nHost: " + host + "\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks
                            + "GET /second HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
            socket.shutdownOutput();
            assertThat(RawHttp.all(socket)).doesNotContain("/second");
        }
    }

    @Test
    void requestsOnOneConnectionAreAnsweredInTurn() throws Exception {
        String host = "api.test:" + origin.port();
        try (Socket socket = world.dial()) {
            RawHttp.send(
                    socket,
                    "GET http://" + host + "/1 HTTP/1.1\r\nHost: " + host + "\r\n\r\n" + "GET http://" + host
                            + "//2%2F?a=|x HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
            assertThat(RawHttp.message(socket)).endsWith("\r\n\r\n/1");
            assertThat(RawHttp.message(socket)).startsWith("HTTP/1.1");
        }
    }

    @Test
    void aPathGoesOutAsItWasWritten() throws Exception {
        java.util.concurrent.BlockingQueue<String> lines = new java.util.concurrent.LinkedBlockingQueue<>();
        int port = world.raw(socket -> {
            lines.add(RawHttp.head(socket).lines().findFirst().orElseThrow());
            RawHttp.send(socket, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        });
        for (String path : java.util.List.of("/@a%2fb", "//evil.test/x", "/a/./b?x=%zz&y=[1]", "/a;b=c//d?")) {
            try (Socket socket = world.dial()) {
                RawHttp.send(
                        socket,
                        "GET http://api.test:" + port + path + " HTTP/1.1\r\nHost: api.test:" + port + "\r\n\r\n");
                assertThat(RawHttp.head(socket)).as(path).startsWith("HTTP/1.1 200");
                assertThat(lines.poll(60, java.util.concurrent.TimeUnit.SECONDS))
                        .isEqualTo("GET " + path + " HTTP/1.1");
            }
        }
    }

    @Test
    void anEmptyBodyIsSaidToBeEmpty() throws Exception {
        int port = world.raw(socket -> {
            String head = RawHttp.head(socket);
            RawHttp.send(socket, "HTTP/1.1 200 OK\r\nContent-Length: " + head.length() + "\r\n\r\n" + head);
        });
        try (Socket socket = world.dial("api.test", port)) {
            RawHttp.send(socket, "POST / HTTP/1.1\r\nHost: api.test:" + port + "\r\nContent-Length: 0\r\n\r\n");
            assertThat(RawHttp.message(socket))
                    .containsOnlyOnce("Content-Length: 0")
                    .doesNotContain("Transfer-Encoding");
        }
    }

    @Test
    void aRequestThatComesBackToTheProxyIsRefused() throws Exception {
        // A server that forwards what it gets to the proxy again.
        int port = world.raw(socket -> {
            String head = RawHttp.head(socket);
            try (Socket again = world.dial()) {
                RawHttp.send(
                        again,
                        head.replace("GET /", "GET http://api.test:" + origin.port() + "/")
                                .replaceFirst("Host: [^\r]*", "Host: api.test:" + origin.port()));
                RawHttp.send(socket, RawHttp.message(again).replace("X-Berth-Refused", "X-Was"));
            }
        });
        try (Socket socket = world.dial()) {
            RawHttp.send(socket, "GET http://loop.test:" + port + "/ HTTP/1.1\r\nHost: loop.test:" + port + "\r\n\r\n");
            assertThat(RawHttp.message(socket)).contains("X-Was: loop");
        }
        assertThat(served).hasValue(0);
    }

    @Test
    void aRequestToTheProxyItselfIsToldWhatItIs() throws Exception {
        try (Socket socket = world.dial()) {
            RawHttp.send(socket, "GET / HTTP/1.1\r\nHost: 127.0.0.1:3128\r\n\r\n");
            assertThat(RawHttp.message(socket))
                    .contains("X-Berth-Refused: bad_request")
                    .contains("this is the proxy itself");
        }
    }

    @Test
    void headersThatAreTooLargeAreToldAsSuch() throws Exception {
        try (Socket socket = world.dial("api.test", origin.port())) {
            RawHttp.send(
                    socket,
                    "GET / HTTP/1.1\r\nHost: api.test:" + origin.port() + "\r\nX-Long: " + "a".repeat(70_000)
                            + "\r\n\r\n");
            assertThat(RawHttp.head(socket)).startsWith("HTTP/1.1 431").contains("X-Berth-Refused: too_large");
        }
    }
}
