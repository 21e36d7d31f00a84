package dev.berth.gateway.http;

import java.time.Duration;
import org.eclipse.jetty.alpn.server.ALPNServerConnectionFactory;
import org.eclipse.jetty.http2.HTTP2Cipher;
import org.eclipse.jetty.http2.server.HTTP2ServerConnectionFactory;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.SecureRequestCustomizer;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.SslConnectionFactory;
import org.eclipse.jetty.util.ssl.SslContextFactory;

/** HTTP/1.1 and HTTP/2 on the same port: in clear by prior knowledge or upgrade, in TLS by ALPN. */
final class Connectors {
    /** Of a large body. A connection has a buffer only while there is something to read. */
    private static final int READ_AT_ONCE = 64 << 10;

    private Connectors() {}

    /** Where the configuration says that the server listens. */
    static ServerConnector of(ServerConfig config, Server server, HttpConfiguration http) {
        ServerConnector connector;
        if (config.tls().isPresent()) {
            SslContextFactory.Server tls = new SslContextFactory.Server();
            tls.setKeyStorePath(config.tls().get().keyStore().toString());
            tls.setKeyStorePassword(config.tls().get().password());
            connector = tls(server, http, tls, config.idle(), true);
        } else {
            connector =
                    ClientEndPoint.connector(server, new HttpConnectionFactory(http), Http2.clear(http, config.idle()));
            connector.setIdleTimeout(config.idle().toMillis());
            connector.getConnectionFactory(HttpConnectionFactory.class).setInputBufferSize(READ_AT_ONCE);
        }
        connector.setHost(config.host());
        connector.setPort(config.port());
        return connector;
    }

    /**
     * @param socketsInHttp2 whether WebSockets may be streams of HTTP/2, as RFC 8441 has it; a client that is not told so
     *     makes another connection for each, which can be given away to what is behind
     */
    static ServerConnector tls(
            Server server,
            HttpConfiguration http,
            SslContextFactory.Server tls,
            Duration idle,
            boolean socketsInHttp2) {
        HttpConfiguration secure = new HttpConfiguration(http);
        secure.addCustomizer(new SecureRequestCustomizer(false));
        tls.setCipherComparator(HTTP2Cipher.COMPARATOR);
        HttpConnectionFactory http1 = new HttpConnectionFactory(secure);
        http1.setInputBufferSize(READ_AT_ONCE);
        HTTP2ServerConnectionFactory http2 = Http2.secure(secure, idle);
        http2.setConnectProtocolEnabled(socketsInHttp2);
        ALPNServerConnectionFactory choice = new ALPNServerConnectionFactory();
        choice.setDefaultProtocol(http1.getProtocol()); // of clients that know no ALPN
        ServerConnector connector = ClientEndPoint.connector(
                server, new SslConnectionFactory(tls, choice.getProtocol()), choice, http2, http1);
        connector.setIdleTimeout(idle.toMillis());
        return connector;
    }
}
