package dev.berth.gateway.http;

import dev.berth.sandbox.SandboxException;
import io.javalin.websocket.WsConfig;
import io.javalin.websocket.WsContext;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.websocket.api.StatusCode;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.MDC;

/** The open WebSockets, each with a thread for its conversation. */
final class Sockets {
    /** Under which the conversation waits for the connection to become a WebSocket. */
    static final String TALK = "talk";

    private static final Logger LOG = LoggerFactory.getLogger(Sockets.class);

    private final Duration heartbeat;
    private final Map<String, Socket> open = new ConcurrentHashMap<>();

    Sockets(Duration heartbeat) {
        this.heartbeat = heartbeat;
    }

    void configure(WsConfig socket) {
        socket.onConnect(context -> connected(context));
        socket.onMessage(context -> received(context, new Socket.Message.Text(context.message())));
        socket.onBinaryMessage(context -> {
            ByteBuffer data = context.data();
            byte[] bytes = new byte[data.remaining()];
            data.get(bytes);
            received(context, new Socket.Message.Binary(bytes));
        });
        socket.onClose(context -> gone(context));
        socket.onError(context -> gone(context));
    }

    private void connected(WsContext context) {
        SocketEndpoint.Talk talk = Objects.requireNonNull(context.attribute(TALK));
        String request = context.attribute("request");
        Socket socket = new Socket(context.session);
        open.put(context.sessionId(), socket);
        context.enableAutomaticPings(heartbeat.toMillis(), TimeUnit.MILLISECONDS);
        Thread.ofVirtual().name("socket").start(() -> {
            MDC.put("correlation", request);
            try {
                talk.with(socket);
                socket.close(StatusCode.NORMAL, "");
            } catch (SandboxException e) {
                socket.close(e);
            } catch (IOException e) {
                LOG.debug("a client has gone", e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                socket.close(StatusCode.SHUTDOWN, "the server stops");
            } catch (Exception e) {
                LOG.atError().setCause(e).log("socket.failed");
                socket.close(StatusCode.SERVER_ERROR, "internal");
            }
        });
    }

    private void received(WsContext context, Socket.Message message) throws InterruptedException {
        Socket socket = open.get(context.sessionId());
        if (socket != null) {
            socket.received(message);
        }
    }

    private void gone(WsContext context) {
        Optional.ofNullable(open.remove(context.sessionId())).ifPresent(Socket::gone);
    }

    int count() {
        return open.size();
    }

    void close() {
        open.values().forEach(socket -> socket.close(StatusCode.SHUTDOWN, "the server stops"));
    }
}
