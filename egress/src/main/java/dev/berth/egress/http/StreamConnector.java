package dev.berth.egress.http;

import dev.berth.egress.policy.Gate.Way;
import dev.berth.egress.policy.Passage;
import dev.berth.egress.trust.Authority;
import java.security.GeneralSecurityException;
import java.util.Optional;
import java.util.concurrent.Executor;
import javax.net.ssl.SSLEngine;
import org.eclipse.jetty.alpn.server.ALPNServerConnectionFactory;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.io.ssl.SslConnection;
import org.eclipse.jetty.server.AbstractConnector;
import org.eclipse.jetty.server.ConnectionFactory;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.util.ssl.SslContextFactory;

/** Lets Jetty serve connections that come from sandboxes, and not from a socket. */
final class StreamConnector extends AbstractConnector {
    private static final String[] TLS = {"TLSv1.3", "TLSv1.2"};

    /** Jetty wants one to read the certificates of clients, which have none here. */
    private final SslContextFactory chains = new SslContextFactory.Server();

    private final Authority authority;
    private final HttpConnectionFactory plain;
    private final ALPNServerConnectionFactory choice;

    StreamConnector(
            Server server,
            Executor executor,
            Authority authority,
            HttpConnectionFactory plain,
            ALPNServerConnectionFactory choice,
            ConnectionFactory... others) {
        super(server, executor, null, null, 0);
        this.authority = authority;
        this.plain = plain;
        this.choice = choice;
        addConnectionFactory(plain);
        addConnectionFactory(choice);
        for (ConnectionFactory other : others) {
            addConnectionFactory(other);
        }
    }

    /** Returns when the connection is over. */
    void serve(Passage passage, Optional<Way> way, boolean tls) throws GeneralSecurityException {
        StreamEndPoint endPoint =
                new StreamEndPoint(passage, way, getScheduler(), getExecutor(), this::onEndPointClosed);
        endPoint.setIdleTimeout(getIdleTimeout());
        Connection connection =
                tls ? opened(endPoint, way.orElseThrow().target().host()) : plain.newConnection(this, endPoint);
        endPoint.setConnection(connection);
        endPoint.onOpen();
        onEndPointOpened(endPoint);
        connection.onOpen();
        endPoint.carry();
    }

    private Connection opened(EndPoint endPoint, String host) throws GeneralSecurityException {
        SSLEngine engine = authority.context(host).createSSLEngine();
        engine.setUseClientMode(false);
        engine.setEnabledProtocols(TLS);
        SslConnection connection = new SslConnection(getByteBufferPool(), getExecutor(), chains, endPoint, engine);
        connection.setRenegotiationAllowed(false);
        EndPoint inner = connection.getSslEndPoint();
        inner.setConnection(choice.newConnection(this, inner));
        return connection;
    }

    /** The connection that a request came on, below whatever was put over it. */
    static StreamEndPoint below(EndPoint endPoint) {
        EndPoint bottom = endPoint;
        while (bottom instanceof EndPoint.Wrapper wrapper) {
            bottom = wrapper.unwrap();
        }
        return (StreamEndPoint) bottom;
    }

    @Override
    protected void accept(int acceptor) {
        throw new IllegalStateException("connections are brought, not awaited");
    }

    @Override
    public Object getTransport() {
        return this;
    }
}
