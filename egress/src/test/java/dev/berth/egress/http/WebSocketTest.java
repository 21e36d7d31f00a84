package dev.berth.egress.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.egress.policy.Binding.Place;
import dev.berth.egress.policy.Visit;
import java.net.Socket;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(300)
class WebSocketTest {
    private World world;
    private final BlockingQueue<String> heads = new LinkedBlockingQueue<>();

    @BeforeEach
    void start() throws Exception {
        world = new World();
    }

    @AfterEach
    void stop() throws Exception {
        world.close();
    }

    /** Says early, and then back whatever it is told. */
    private void echo(Socket socket) throws Exception {
        heads.add(RawHttp.head(socket));
        RawHttp.send(
                socket,
                "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                        + "Sec-WebSocket-Accept: abc\r\n\r\nearly");
        byte[] buffer = new byte[1024];
        for (int n = socket.getInputStream().read(buffer);
                n >= 0;
                n = socket.getInputStream().read(buffer)) {
            socket.getOutputStream().write(buffer, 0, n);
            socket.getOutputStream().flush();
        }
    }

    private static String handshake(String host, int port) {
        return "GET /chat HTTP/1.1\r\nHost: " + host + ":" + port
                + "\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n"
                + "Sec-WebSocket-Version: 13\r\n\r\n";
    }

    private void converse(Socket socket, int port) throws Exception {
        RawHttp.send(socket, handshake("api.test", port));
        assertThat(RawHttp.head(socket)).startsWith("HTTP/1.1 101").contains("Sec-WebSocket-Accept: abc");
        assertThat(RawHttp.exactly(socket, 5)).isEqualTo("early");
        for (int i = 0; i < 50; i++) {
            RawHttp.send(socket, "message " + (100 + i));
            assertThat(RawHttp.exactly(socket, 11)).isEqualTo("message " + (100 + i));
        }
    }

    @Test
    void aWebSocketInClearIsCarried() throws Exception {
        int port = world.raw(this::echo);
        try (Socket socket = world.dial("api.test", port)) {
            converse(socket, port);
        }
        Visit visit = world.policy.visit();
        assertThat(visit.refused()).isEmpty();
        assertThat(visit.sent()).isGreaterThan(550);
        assertThat(visit.received()).isGreaterThan(555);
    }

    @Test
    void aWebSocketInOpenedTlsIsCarriedAndGetsItsSecret() throws Exception {
        KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(world.outside.server("api.test"), TestAuthority.PASSWORD);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), null, null);
        int port = world.raw(socket -> {
            SSLSocket tls = (SSLSocket) context.getSocketFactory().createSocket(socket, null, true);
            tls.setUseClientMode(false);
            echo(tls);
        });
        world.bind("api.test", port, new Place.Header("Authorization", "Bearer {}"));
        try (Socket socket = world.dialTls("api.test", port)) {
            converse(socket, port);
        }
        assertThat(heads.poll(60, TimeUnit.SECONDS)).contains("Authorization: Bearer " + World.VALUE);
        assertThat(world.policy.visit().refused()).isEmpty();
    }

    @Test
    void aServerThatDoesNotWantToSwitchAnswersAsUsual() throws Exception {
        int port = world.raw(socket -> {
            RawHttp.head(socket);
            RawHttp.send(socket, "HTTP/1.1 426 no\r\nContent-Length: 2\r\n\r\nno");
        });
        try (Socket socket = world.dial("api.test", port)) {
            RawHttp.send(socket, handshake("api.test", port));
            assertThat(RawHttp.message(socket)).startsWith("HTTP/1.1 426").endsWith("\r\n\r\nno");
        }
    }

    @Test
    void aSwitchThatNobodyAskedForIsGarbage() throws Exception {
        int port = world.raw(this::echo);
        try (Socket socket = world.dial("api.test", port)) {
            RawHttp.send(socket, "GET / HTTP/1.1\r\nHost: api.test:" + port + "\r\n\r\n");
            assertThat(RawHttp.message(socket)).contains("X-Berth-Refused: upstream_garbage");
        }
    }

    @Test
    void onlyWebSocketIsSwitchedTo() throws Exception {
        int port = world.raw(socket -> {
            String head = RawHttp.head(socket);
            heads.add(head);
            RawHttp.send(socket, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        });
        try (Socket socket = world.dial("api.test", port)) {
            RawHttp.send(
                    socket,
                    "GET / HTTP/1.1\r\nHost: api.test:" + port
                            + "\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAAA\r\n\r\n");
            assertThat(RawHttp.message(socket)).endsWith("ok");
        }
        assertThat(heads.poll(60, TimeUnit.SECONDS))
                .doesNotContainIgnoringCase("h2c")
                .doesNotContainIgnoringCase("http2-");
    }
}
