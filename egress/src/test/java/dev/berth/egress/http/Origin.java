package dev.berth.egress.http;

import java.io.Closeable;
import java.security.KeyStore;
import java.util.Optional;
import org.eclipse.jetty.alpn.server.ALPNServerConnectionFactory;
import org.eclipse.jetty.http2.server.HTTP2ServerConnectionFactory;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.SslConnectionFactory;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.component.LifeCycle;
import org.eclipse.jetty.util.ssl.SslContextFactory;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/** A server of the world outside. */
final class Origin implements Closeable {
    interface Page {
        void serve(Request request, Response response, Callback callback) throws Exception;
    }

    private final Server server;
    private final ServerConnector connector;

    /** @param keys in clear without */
    Origin(Optional<KeyStore> keys, boolean http2, Page page) throws Exception {
        QueuedThreadPool threads = new QueuedThreadPool(32, 1);
        threads.setDaemon(true);
        server = new Server(threads);
        HttpConfiguration http = new HttpConfiguration();
        HttpConnectionFactory http1 = new HttpConnectionFactory(http);
        if (keys.isEmpty()) {
            connector = new ServerConnector(server, 1, 1, http1);
        } else {
            SslContextFactory.Server tls = new SslContextFactory.Server();
            tls.setKeyStore(keys.get());
            tls.setKeyStorePassword(new String(TestAuthority.PASSWORD));
            ALPNServerConnectionFactory choice = http2
                    ? new ALPNServerConnectionFactory("h2", "http/1.1")
                    : new ALPNServerConnectionFactory("http/1.1");
            choice.setDefaultProtocol("http/1.1");
            connector = new ServerConnector(
                    server,
                    1,
                    1,
                    new SslConnectionFactory(tls, choice.getProtocol()),
                    choice,
                    http1,
                    new HTTP2ServerConnectionFactory(http));
        }
        connector.setHost("127.0.0.1");
        server.addConnector(connector);
        server.setHandler(new Handler.Abstract() {
            @Override
            public boolean handle(Request request, Response response, Callback callback) throws Exception {
                page.serve(request, response, callback);
                return true;
            }
        });
        server.start();
    }

    int port() {
        return connector.getLocalPort();
    }

    @Override
    public void close() {
        LifeCycle.stop(server);
    }
}
