package dev.berth.egress.http;

import dev.berth.egress.policy.Gate;
import dev.berth.egress.policy.Gate.Way;
import dev.berth.egress.policy.HttpSide;
import dev.berth.egress.policy.Passage;
import dev.berth.egress.trust.Authority;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.eclipse.jetty.alpn.server.ALPNServerConnectionFactory;
import org.eclipse.jetty.http.HttpCompliance;
import org.eclipse.jetty.http.UriCompliance;
import org.eclipse.jetty.http2.server.HTTP2ServerConnectionFactory;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.component.LifeCycle;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The HTTP that is looked into: Jetty's server towards the sandboxes, and its client towards the world. */
public final class Inspector implements HttpSide {
    private static final Logger LOG = LoggerFactory.getLogger(Inspector.class);
    private static final String HTTP_1 = "http/1.1"; // in lower case, as ALPN has it
    private static final int BUFFER = 32 << 10;
    private static final int HTTP2_WINDOW = 1 << 20;

    /**
     * Paths that can be read in several ways are the business of the gate, which knows whether paths matter; npm and
     * GitLab have escaped slashes in theirs.
     */
    private static final UriCompliance PATHS = UriCompliance.RFC3986.with(
            "EGRESS",
            UriCompliance.Violation.AMBIGUOUS_PATH_SEGMENT,
            UriCompliance.Violation.AMBIGUOUS_EMPTY_SEGMENT,
            UriCompliance.Violation.AMBIGUOUS_PATH_SEPARATOR,
            UriCompliance.Violation.AMBIGUOUS_PATH_PARAMETER,
            UriCompliance.Violation.AMBIGUOUS_PATH_ENCODING,
            UriCompliance.Violation.BAD_UTF8_ENCODING,
            UriCompliance.Violation.TRUNCATED_UTF8_ENCODING);

    private final ExecutorService tasks = Executors.newVirtualThreadPerTaskExecutor();
    private final QueuedThreadPool threads = new QueuedThreadPool();
    private final Server server;
    private final StreamConnector connector;
    private final Upstream upstream;

    /** @param trusted whose certificates servers outside may have; empty for whom the JDK trusts */
    public Inspector(Gate gate, Authority authority, Limits limits, Optional<KeyStore> trusted, SecureRandom random) {
        threads.setName("egress-http");
        threads.setDaemon(true);
        threads.setVirtualThreadsExecutor(tasks);
        server = new Server(threads);
        upstream = new Upstream(limits, trusted, threads);
        connector = connector(authority, limits);
        server.addConnector(connector);
        server.setErrorHandler(new RefusalPages());
        byte[] pseudonym = new byte[8];
        random.nextBytes(pseudonym);
        Exchange.Parts parts = new Exchange.Parts(
                gate, upstream, limits, tasks, "berth-" + HexFormat.of().formatHex(pseudonym));
        server.setHandler(new Handler.Abstract() {
            @Override
            public boolean handle(Request request, Response response, Callback callback) {
                new Exchange(parts, request, response, callback).run();
                return true;
            }
        });
        try {
            server.start();
            upstream.start();
        } catch (Exception e) {
            close();
            throw new IllegalStateException("the HTTP side of the egress proxy does not start", e);
        }
    }

    private StreamConnector connector(Authority authority, Limits limits) {
        HttpConfiguration http = new HttpConfiguration();
        http.setSendServerVersion(false);
        http.setSendDateHeader(false);
        http.setRequestHeaderSize(limits.headerBytes());
        http.setResponseHeaderSize(BUFFER);
        http.setMaxResponseHeaderSize(2 * limits.headerBytes());
        http.setHttpCompliance(HttpCompliance.STRICT);
        http.setUriCompliance(PATHS);
        http.setIdleTimeout(limits.idle().toMillis());
        HttpConnectionFactory http1 = new HttpConnectionFactory(http);
        http1.setInputBufferSize(BUFFER);
        HTTP2ServerConnectionFactory http2 = new HTTP2ServerConnectionFactory(http);
        http2.setInputBufferSize(BUFFER);
        http2.setConnectProtocolEnabled(false);
        http2.setInitialSessionRecvWindow(HTTP2_WINDOW);
        http2.setInitialStreamRecvWindow(HTTP2_WINDOW / 2);
        http2.setStreamIdleTimeout(0); // the server outside is the one that has to move; see Exchange
        ALPNServerConnectionFactory choice = new ALPNServerConnectionFactory("h2", HTTP_1);
        choice.setDefaultProtocol(HTTP_1); // of programs that know no ALPN
        StreamConnector made = new StreamConnector(server, tasks, authority, http1, choice, http2);
        made.setIdleTimeout(limits.idle().toMillis());
        return made;
    }

    @Override
    public void proxy(Passage passage) {
        serve(passage, Optional.empty(), false);
    }

    @Override
    public void within(Passage passage, Way way, boolean tls) {
        serve(passage, Optional.of(way), tls);
    }

    private void serve(Passage passage, Optional<Way> way, boolean tls) {
        try {
            connector.serve(passage, way, tls);
        } catch (GeneralSecurityException e) {
            LOG.warn("TLS to {} cannot be opened", way.map(Way::target).orElse(null), e);
        } finally {
            passage.connection().close();
        }
    }

    @Override
    public void close() {
        upstream.close(); // first, as it uses the server's threads
        LifeCycle.stop(server);
        LifeCycle.stop(threads);
        tasks.shutdownNow(); // what still waits for somebody is interrupted
    }
}
