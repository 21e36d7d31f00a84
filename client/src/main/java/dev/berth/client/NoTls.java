package dev.berth.client;

import java.security.Provider;
import java.security.SecureRandom;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLContextSpi;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLServerSocketFactory;
import javax.net.ssl.SSLSessionContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;
import org.jspecify.annotations.Nullable;

/** For a client that only ever speaks plain HTTP: costs nothing, and refuses to do anything. */
final class NoTls extends SSLContextSpi {
    private NoTls() {}

    static SSLContext context() {
        return new Context();
    }

    private static final class Context extends SSLContext {
        Context() {
            super(new NoTls(), new NoProvider(), "none");
        }
    }

    private static final class NoProvider extends Provider {
        private static final long serialVersionUID = 1;

        NoProvider() {
            super("none", "1", "no TLS");
        }
    }

    private static UnsupportedOperationException refused() {
        return new UnsupportedOperationException("this client was made for a URL without TLS");
    }

    /** What the client asks for when it is made. */
    @Override
    protected SSLParameters engineGetDefaultSSLParameters() {
        return new SSLParameters();
    }

    @Override
    protected SSLParameters engineGetSupportedSSLParameters() {
        return new SSLParameters();
    }

    @Override
    protected void engineInit(
            KeyManager @Nullable [] keys, TrustManager @Nullable [] trusted, @Nullable SecureRandom random) {
        throw refused();
    }

    @Override
    protected SSLSocketFactory engineGetSocketFactory() {
        throw refused();
    }

    @Override
    protected SSLServerSocketFactory engineGetServerSocketFactory() {
        throw refused();
    }

    @Override
    protected SSLEngine engineCreateSSLEngine() {
        throw refused();
    }

    @Override
    protected SSLEngine engineCreateSSLEngine(String host, int port) {
        throw refused();
    }

    @Override
    protected SSLSessionContext engineGetServerSessionContext() {
        throw refused();
    }

    @Override
    protected SSLSessionContext engineGetClientSessionContext() {
        throw refused();
    }
}
