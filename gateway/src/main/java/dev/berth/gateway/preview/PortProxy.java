package dev.berth.gateway.preview;

import dev.berth.gateway.http.Departure;
import dev.berth.gateway.http.HttpProblem;
import dev.berth.sandbox.Connection;
import dev.berth.sandbox.ErrorCode;
import dev.berth.sandbox.SandboxException;
import dev.berth.session.Session;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hc.core5.http.ClassicHttpRequest;
import org.apache.hc.core5.http.ClassicHttpResponse;
import org.apache.hc.core5.http.Header;
import org.apache.hc.core5.http.HttpException;
import org.apache.hc.core5.http.HttpHost;
import org.apache.hc.core5.http.config.Http1Config;
import org.apache.hc.core5.http.impl.io.DefaultBHttpClientConnection;
import org.apache.hc.core5.http.io.entity.EntityTemplate;
import org.apache.hc.core5.http.message.BasicClassicHttpRequest;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpVersion;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.HttpStream;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Passes a request on to what listens on a port of a session's sandbox, and its answer back, each byte as it comes. The
 * address under which a client sees the port is the caller's affair.
 */
public final class PortProxy implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PortProxy.class);
    private static final int BUFFER = 16 << 10;
    private static final int MOST_HEADER_BYTES = 48 << 10;
    private static final Http1Config HTTP = Http1Config.custom()
            .setBufferSize(BUFFER)
            .setMaxLineLength(BUFFER)
            .setMaxHeaderCount(200)
            .setMaxEmptyLineCount(10)
            .build();

    /** For so long both sides may be silent. */
    private static final Duration PATIENCE = Duration.ofMinutes(5);

    /** How often somebody is looked for who is awaited on a port. */
    private static final Duration LOOK = Duration.ofMillis(100);

    /** The code of the problem that nobody listens on a port. */
    public static final String CLOSED = "port_closed";

    private static final long MOST_DRAINED = 16 << 20;

    /** Each breaks when its session goes down: what is asleep does not answer, and nobody knows for how long. */
    private final Map<Connection, Session.Watch> open = new ConcurrentHashMap<>();

    /**
     * Where a request goes.
     *
     * @param path with its query, as it is to be asked for inside
     * @param origin how the client sees it
     * @param patience how long to wait for somebody to listen there
     */
    public record Target(int port, String path, Origin origin, Duration patience) {}

    /** Serves a request to its end. The session is closed then, or when what the connection became is over. */
    public void serve(Request request, Response response, Callback callback, Session session, Target target) {
        boolean kept = false;
        Connection connection = null;
        try {
            connection = dial(session, target);
            open.put(connection, session.whenDown(connection::close));
            kept = new Passage(request, response, callback, session, connection, target).pass();
        } finally {
            if (!kept) {
                release(connection, session);
            }
        }
    }

    private void release(@Nullable Connection connection, Session session) {
        if (connection != null) {
            Session.Watch watch = open.remove(connection);
            if (watch != null) {
                watch.close();
            }
            connection.close();
        }
        session.close();
    }

    private static Connection dial(Session session, Target target) {
        long deadline = System.nanoTime() + target.patience().toNanos();
        while (true) {
            try {
                return session.sandbox().dial(target.port());
            } catch (SandboxException e) {
                if (e.code() != ErrorCode.NOT_FOUND) {
                    throw e;
                }
            }
            if (System.nanoTime() >= deadline || !pause()) {
                throw new HttpProblem(
                        502,
                        CLOSED,
                        "nothing listens on port " + target.port() + " in the sandbox; start a server there");
            }
        }
    }

    /** Whether to look again. */
    private static boolean pause() {
        try {
            Thread.sleep(LOOK);
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** Breaks off everything that goes on. */
    @Override
    public void close() {
        open.keySet().forEach(Connection::close);
    }

    /** One request on its way. */
    private final class Passage {
        private final Request request;
        private final Response response;
        private final Callback callback;
        private final Session session;
        private final Connection connection;
        private final Target target;
        private final Origin origin;
        private final DefaultBHttpClientConnection http = new DefaultBHttpClientConnection(HTTP);
        private final Departure departure;
        private volatile long lastMoved = System.nanoTime();
        private volatile @Nullable IOException clientGone;

        Passage(
                Request request,
                Response response,
                Callback callback,
                Session session,
                Connection connection,
                Target target) {
            this.request = request;
            this.response = response;
            this.callback = callback;
            this.session = session;
            this.connection = connection;
            this.target = target;
            this.origin = target.origin();
            this.departure = Departure.of(request, () -> gone(new EOFException("the client left")));
        }

        private void gone(IOException how) {
            clientGone = how;
            connection.close();
        }

        /** Whether the connection goes on after the request. */
        boolean pass() {
            request.addIdleTimeoutListener(_ -> System.nanoTime() - lastMoved > PATIENCE.toNanos());
            request.addFailureListener(_ -> connection.close()); // and with that, all who wait for it
            ClassicHttpRequest outgoing = outgoing();
            Optional<Thread> sender = Optional.empty();
            try {
                ClassicHttpResponse answer;
                try {
                    http.bind(new StreamSocket(connection));
                    http.sendRequestHeader(outgoing);
                    http.flush();
                    if (outgoing.getEntity() != null) {
                        // Beside the answer, as that may come before all of the request was read.
                        sender = Optional.of(
                                Thread.ofVirtual().name("preview-in").start(() -> send(outgoing)));
                    } else if (upgrade().isEmpty()) {
                        departure.watch();
                    }
                    answer = receive();
                    if (answer.getCode() == 101 && upgrade().isPresent()) {
                        upgrade(answer);
                        return true;
                    }
                    if (answer.getCode() < 200) {
                        throw badGateway("it switches to a protocol that nobody asked for");
                    }
                    if (hasBody(answer)) {
                        http.receiveResponseEntity(answer);
                    }
                } catch (HttpException e) {
                    throw badGateway(String.valueOf(e.getMessage()));
                } catch (IOException e) {
                    throw badGateway("it broke off before it answered");
                }
                begin(answer);
                if (answer.getEntity() != null) {
                    copy(answer.getEntity().getContent());
                }
                finish(sender);
                callback.succeeded();
            } catch (IOException e) {
                finish(sender);
                // The client finds a connection that broke, not an answer that looks complete.
                callback.failed(e);
            } catch (HttpProblem e) {
                finish(sender);
                IOException gone = clientGone;
                if (gone != null) {
                    callback.failed(gone);
                    return false;
                }
                throw e;
            }
            return false;
        }

        private HttpProblem badGateway(String why) {
            return new HttpProblem(
                    502,
                    "bad_gateway",
                    "what listens on port " + target.port() + " does not answer as HTTP/1.1 wants it: " + why);
        }

        /** Ends what goes on beside the answer. A sender that still writes finds that the connection is closed. */
        private void finish(Optional<Thread> sender) {
            connection.close();
            try {
                if (sender.isPresent()) {
                    sender.get().join();
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            departure.close();
        }

        // ---- in --------------------------------------------------------------------------------------------------

        private ClassicHttpRequest outgoing() {
            ClassicHttpRequest outgoing = new BasicClassicHttpRequest(
                    request.getMethod(), new HttpHost("http", "localhost", target.port()), target.path());
            Set<String> named = Origin.named(request.getHeaders().getValuesList(HttpHeader.CONNECTION));
            for (HttpField field : request.getHeaders()) {
                String value = field.getValue();
                if (value != null && origin.goesIn(field.getName(), named)) {
                    outgoing.addHeader(field.getName(), value);
                }
            }
            outgoing.addHeader("Host", origin.host());
            outgoing.addHeader("X-Forwarded-For", Request.getRemoteAddr(request));
            outgoing.addHeader(
                    "X-Forwarded-Host", String.valueOf(request.getHttpURI().getAuthority()));
            outgoing.addHeader("X-Forwarded-Proto", request.isSecure() ? "https" : "http");
            origin.toldInside().forEach(outgoing::addHeader);
            origin.cookiesIn(request.getHeaders().getValuesList(HttpHeader.COOKIE))
                    .ifPresent(cookies -> outgoing.addHeader("Cookie", cookies));
            if (upgrade().isPresent()) {
                outgoing.addHeader("Connection", "Upgrade");
                outgoing.addHeader("Upgrade", upgrade().get());
            } else {
                outgoing.addHeader("Connection", "close");
                addBody(outgoing);
            }
            return outgoing;
        }

        private void addBody(ClassicHttpRequest outgoing) {
            long length = request.getLength();
            boolean framed = request.getHeaders().contains(HttpHeader.TRANSFER_ENCODING)
                    || request.getHeaders().contains(HttpHeader.CONTENT_LENGTH);
            // HTTP/2 need not say how much comes, or whether anything does.
            boolean maybe = request.getConnectionMetaData().getHttpVersion() == HttpVersion.HTTP_2
                    && !Set.of("GET", "HEAD", "DELETE", "OPTIONS").contains(request.getMethod());
            if (!framed && !maybe) {
                return;
            }
            if (length >= 0) {
                outgoing.addHeader("Content-Length", Long.toString(length));
            } else {
                outgoing.addHeader("Transfer-Encoding", "chunked");
            }
            if (length != 0) {
                outgoing.setEntity(new EntityTemplate(length, null, null, this::writeBody));
            }
        }

        /** What a client wants to speak instead of HTTP, if its connection can be given away. */
        private Optional<String> upgrade() {
            boolean wanted = request.getConnectionMetaData().getHttpVersion() == HttpVersion.HTTP_1_1
                    && request.getHeaders().contains(HttpHeader.CONNECTION, "upgrade")
                    && request.getLength() <= 0
                    && !request.getHeaders().contains(HttpHeader.TRANSFER_ENCODING);
            // Not HTTP/2, which is HTTP still, and would get past everything here.
            return wanted
                    ? Optional.ofNullable(request.getHeaders().get(HttpHeader.UPGRADE))
                            .filter(protocol ->
                                    !protocol.toLowerCase(Locale.ROOT).contains("h2c"))
                    : Optional.empty();
        }

        private void send(ClassicHttpRequest outgoing) {
            try {
                http.sendRequestEntity(outgoing);
                http.flush();
            } catch (IOException | HttpException e) {
                // If it is the sandbox that reads no more, then its answer says why, or that it broke off.
                LOG.debug("a body was not sent to its end", e);
            }
        }

        private void writeBody(OutputStream out) throws IOException {
            byte[] buffer = new byte[BUFFER];
            InputStream body = Request.asInputStream(request);
            boolean taken = true;
            long left = MOST_DRAINED;
            for (int n = read(body, buffer); n >= 0 && left > 0; n = read(body, buffer)) {
                lastMoved = System.nanoTime();
                if (!taken) {
                    left -= n; // read on for a while, or many clients never look at the answer
                    continue;
                }
                try {
                    out.write(buffer, 0, n);
                    out.flush();
                } catch (IOException e) {
                    LOG.debug("the sandbox takes no more of a body", e);
                    taken = false;
                }
            }
            if (left > 0) {
                departure.watch();
            }
        }

        private int read(InputStream body, byte[] buffer) throws IOException {
            try {
                return body.read(buffer);
            } catch (IOException e) {
                gone(e);
                throw e;
            }
        }

        // ---- out -------------------------------------------------------------------------------------------------

        /** The answer's head; what comes before it, as 100 and 103, was for this server only. */
        private ClassicHttpResponse receive() throws IOException, HttpException {
            for (int interim = 0; interim < 10; interim++) {
                ClassicHttpResponse answer = http.receiveResponseHeader();
                lastMoved = System.nanoTime();
                long size = Arrays.stream(answer.getHeaders())
                        .mapToLong(header -> header.getName().length()
                                + String.valueOf(header.getValue()).length()
                                + 4L)
                        .sum();
                if (size > MOST_HEADER_BYTES) {
                    throw new HttpException("its headers are larger than " + MOST_HEADER_BYTES + " bytes");
                }
                if (answer.getCode() >= 200 || answer.getCode() == 101) {
                    return answer;
                }
            }
            throw new HttpException("it has nothing but interim answers");
        }

        private boolean hasBody(ClassicHttpResponse answer) {
            return !request.getMethod().equals("HEAD") && answer.getCode() != 204 && answer.getCode() != 304;
        }

        private void begin(ClassicHttpResponse answer) {
            response.setStatus(answer.getCode());
            copyHeaders(answer);
            origin.toldOutside().forEach((name, value) -> response.getHeaders().add(name, value));
            Optional<Long> length = answer.getEntity() == null
                    ? Optional.ofNullable(answer.getFirstHeader("Content-Length"))
                            .flatMap(Passage::number)
                    : Optional.of(answer.getEntity().getContentLength()).filter(it -> it >= 0);
            if (answer.getCode() != 204) {
                length.ifPresent(it -> response.getHeaders().put(HttpHeader.CONTENT_LENGTH, it));
            }
        }

        private static Optional<Long> number(Header header) {
            String value = String.valueOf(header.getValue());
            return value.matches("[0-9]{1,18}") ? Optional.of(Long.valueOf(value)) : Optional.empty();
        }

        private void copyHeaders(ClassicHttpResponse answer) {
            Set<String> named = Origin.named(Arrays.stream(answer.getHeaders("Connection"))
                    .map(header -> String.valueOf(header.getValue()))
                    .toList());
            for (Header header : answer.getHeaders()) {
                String name = header.getName();
                String value = String.valueOf(header.getValue());
                if (name.equalsIgnoreCase("Set-Cookie")) {
                    response.getHeaders().add(name, origin.cookieOut(value));
                } else if (List.of("location", "content-location").contains(name.toLowerCase(Locale.ROOT))) {
                    response.getHeaders().add(name, origin.location(value));
                } else if (origin.goesOut(name, named)) {
                    response.getHeaders().add(name, value);
                }
            }
        }

        private void copy(InputStream body) throws IOException {
            OutputStream out = Content.Sink.asOutputStream(response);
            byte[] buffer = new byte[BUFFER];
            for (int n = body.read(buffer); n >= 0; n = body.read(buffer)) {
                out.write(buffer, 0, n);
                lastMoved = System.nanoTime();
            }
        }

        private void upgrade(ClassicHttpResponse answer) throws IOException, HttpException {
            // Nothing frames what comes now, so this is all that follows, what was read too early included.
            http.receiveResponseEntity(answer);
            EndPoint client = request.getConnectionMetaData().getConnection().getEndPoint();
            Tunnel tunnel = new Tunnel(
                    client,
                    request.getConnectionMetaData().getConnector().getExecutor(),
                    answer.getEntity().getContent(),
                    connection.output(),
                    connection,
                    () -> release(connection, session));
            response.setStatus(101);
            copyHeaders(answer);
            response.getHeaders().put(HttpHeader.CONNECTION, "Upgrade");
            response.getHeaders().put(HttpHeader.UPGRADE, upgrade().orElseThrow());
            Request.addCompletionListener(request, failure -> {
                if (failure != null) {
                    release(connection, session); // the client went before it knew, and there will be no tunnel
                }
            });
            request.setAttribute(HttpStream.UPGRADE_CONNECTION_ATTRIBUTE, tunnel);
            callback.succeeded();
        }
    }
}
