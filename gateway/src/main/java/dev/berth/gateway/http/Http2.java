package dev.berth.gateway.http;

import java.time.Duration;
import java.util.concurrent.TimeoutException;
import org.eclipse.jetty.http2.HTTP2Session;
import org.eclipse.jetty.http2.HTTP2Stream;
import org.eclipse.jetty.http2.api.Stream;
import org.eclipse.jetty.http2.api.server.ServerSessionListener;
import org.eclipse.jetty.http2.server.HTTP2CServerConnectionFactory;
import org.eclipse.jetty.http2.server.HTTP2ServerConnectionFactory;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.util.Promise;

/**
 * HTTP/2, with streams that are not idle while the server is the one to speak. Jetty 12.1 asks whether a request is being
 * answered only at the first timeout of its stream and resets it at the second, so that no call could take longer than two.
 */
final class Http2 {
    private Http2() {}

    /** In clear. */
    static HTTP2CServerConnectionFactory clear(HttpConfiguration http, Duration idle) {
        HTTP2CServerConnectionFactory factory = new HTTP2CServerConnectionFactory(http) {
            @Override
            protected ServerSessionListener newSessionListener(Connector connector, EndPoint endPoint) {
                return new HTTPServerSessionListener(endPoint) {
                    @Override
                    public void onIdleTimeout(Stream stream, TimeoutException timeout, Promise<Boolean> promise) {
                        if (awaitsTheServer(stream)) {
                            promise.succeeded(false);
                        } else {
                            super.onIdleTimeout(stream, timeout, promise);
                        }
                    }
                };
            }
        };
        factory.setStreamIdleTimeout(idle.toMillis());
        return factory;
    }

    /** In TLS. */
    static HTTP2ServerConnectionFactory secure(HttpConfiguration http, Duration idle) {
        HTTP2ServerConnectionFactory factory = new HTTP2ServerConnectionFactory(http) {
            @Override
            protected ServerSessionListener newSessionListener(Connector connector, EndPoint endPoint) {
                return new HTTPServerSessionListener(endPoint) {
                    @Override
                    public void onIdleTimeout(Stream stream, TimeoutException timeout, Promise<Boolean> promise) {
                        if (awaitsTheServer(stream)) {
                            promise.succeeded(false);
                        } else {
                            super.onIdleTimeout(stream, timeout, promise);
                        }
                    }
                };
            }
        };
        factory.setStreamIdleTimeout(idle.toMillis());
        return factory;
    }

    /** The request is here as a whole, and the client would take what it is answered. */
    private static boolean awaitsTheServer(Stream stream) {
        HTTP2Stream known = (HTTP2Stream) stream;
        return known.isRemotelyClosed()
                && known.updateSendWindow(0) > 0
                && ((HTTP2Session) stream.getSession()).updateSendWindow(0) > 0;
    }
}
