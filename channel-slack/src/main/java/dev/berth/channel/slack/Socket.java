package dev.berth.channel.slack;

import com.slack.api.Slack;
import com.slack.api.bolt.response.Response;
import com.slack.api.bolt.socket_mode.request.SocketModeRequest;
import com.slack.api.bolt.socket_mode.request.SocketModeRequestParser;
import com.slack.api.socket_mode.impl.SocketModeClientJavaWSImpl;
import com.slack.api.socket_mode.queue.impl.ConcurrentLinkedMessageQueue;
import com.slack.api.socket_mode.response.AckResponse;
import java.io.IOException;
import java.net.URISyntaxException;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The connection of Socket Mode, which is made anew whenever it is lost. */
final class Socket implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Socket.class);
    private static final int MOST = 256;

    private final Client client;

    Socket(Slack slack, String appToken, Intake intake, Duration watch) {
        try {
            this.client = new Client(slack, appToken, watch);
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
        SocketModeRequestParser parser = new SocketModeRequestParser(intake.appConfig());
        client.addWebSocketMessageListener(message -> receive(parser, intake, message));
    }

    /** Connects. If that fails it is tried again until it works, as Slack may come back later. */
    void start() {
        client.maintainCurrentSession();
    }

    private void receive(SocketModeRequestParser parser, Intake intake, String message) {
        SocketModeRequest request = parser.parse(message);
        if (request == null) {
            return;
        }
        try {
            Response response = intake.run(request.getBoltRequest());
            if (response.getStatusCode() == 200) {
                client.sendSocketModeResponse(
                        new AckResponse(request.getEnvelope().getEnvelopeId()));
            }
        } catch (Exception e) {
            // Without an acknowledgement it comes again.
            LOG.warn("a message of Slack's socket was not taken", e);
        }
    }

    @Override
    public void close() {
        try {
            client.close();
        } catch (IOException e) {
            LOG.info("the connection to Slack did not close well", e);
        }
    }

    /** Slack's own client, without the threads in it that look for messages a thousand times a second. */
    private static final class Client extends SocketModeClientJavaWSImpl {
        private final Semaphore room = new Semaphore(MOST);
        private final Duration watch;

        Client(Slack slack, String appToken, Duration watch) throws URISyntaxException {
            super(
                    slack,
                    appToken,
                    // The address comes with the first connection.
                    "wss://slack.invalid/",
                    0,
                    new ConcurrentLinkedMessageQueue(),
                    true,
                    true,
                    watch.toMillis());
            this.watch = watch;
        }

        /** Each on a thread of its own. What there is no room for comes again, as it is not acknowledged. */
        @Override
        public void enqueueMessage(String message) {
            if (!room.tryAcquire()) {
                LOG.warn("too much comes over Slack's socket at a time; it has to come again");
                return;
            }
            Thread.ofVirtual().name("slack-socket").start(() -> {
                try {
                    processMessage(message);
                } catch (IOException | RuntimeException e) {
                    LOG.warn("a message of Slack's socket could not be read", e);
                } finally {
                    room.release();
                }
            });
        }

        /** Slack's client gives up watching for good when Slack refuses a new connection once. */
        @Override
        public long maintainCurrentSession() {
            try {
                return super.maintainCurrentSession();
            } catch (RuntimeException e) {
                LOG.error("Slack does not let the app connect; check its app-level token: {}", e.getMessage());
                return System.currentTimeMillis() + 2 * watch.toMillis();
            }
        }
    }
}
